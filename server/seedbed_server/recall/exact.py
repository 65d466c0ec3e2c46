"""What a query names exactly: identifiers and names, which must be found where they stand.

Words that mean much the same may stand in for each other, and a message may
answer through its neighbours. An order number may not: "ORD-48213-K" is only
where it is written. So a message that itself holds an identifier of the query
gets a leg of its own, and neither such a message nor one that holds a rare name
is ever taken for unrelated (see ``floor``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seedbed_server.projections import analysis
from seedbed_server.recall.layout import Floats, Mask
from seedbed_server.recall.postings import Postings
from seedbed_server.recall.stopwords import STOPPED

# What is named exactly in more than one message in twenty, or in four of a small memory, is no longer rare.
_SHARE = 20
_FEW = 3
# "ord-48213-k", "v2.1", "0x80070057", "7319", "1234-5678"; not what counts or dates: "18th", "9:30", "12-week".
_IDENTIFIER = re.compile(r"(?=.*\d)(?:[^\W\d_](?=.{2}).*|\d+[^\W\d_].*\d.*|\d{4,}|(?:[-.]?\d){7,})")
_BEFORE_SENTENCE = re.compile(r"[.!?:;\"“]\s*$|^\s*$")
# At most so many of each are looked for: a query may be a whole page.
_MOST = 32
_PLAIN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Exact:
    """Terms that name something exactly.

    ``identifiers`` are terms; a name is the terms of words that stand together
    ("Grand Canyon"), function words among them, if they are written as a name.
    """

    identifiers: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @property
    def spoken(self) -> tuple[str, ...]:
        """The terms of all names: some are function words, such as "Will", and are in no other part of a query."""
        return tuple(term for name in self.names for term in name)

    def share(self, postings: Postings, alive: Mask) -> Floats:
        """Which share of the identifiers each message itself holds, those that are not rare left out; shape (n,)."""
        held = [rows for term in self.identifiers if (rows := _rare(postings.holding(term) & alive, alive)) is not None]
        return np.mean(held, axis=0) if held else np.zeros(len(alive))

    def named(self, postings: Postings, alive: Mask) -> Mask:
        """Which messages hold a whole name that few hold; shape (n,)."""
        found = np.zeros(len(alive), dtype=np.bool_)
        for name in self.names:
            if STOPPED.issuperset(name):
                continue
            holding = alive.copy()
            for term in name:
                holding &= postings.holding(term)
            if int(holding.sum()) <= _FEW:
                found |= holding
        return found


def _rare(holding: Mask, alive: Mask) -> Mask | None:
    return holding if int(holding.sum()) <= max(_FEW, int(alive.sum()) // _SHARE) else None


def exact_terms(query: str) -> Exact:
    """Return what the query names exactly.

    An identifier has a digit and does not merely count or date; a name has a capital
    letter inside, or begins with one where no sentence begins. A query of one
    or two words may begin with a name too; one in capitals throughout has none.
    """
    words = [*_words(query)]
    loud = not any(word.islower() for _, word, _ in words) and len(words) > 2
    identifiers: list[str] = []
    names: list[tuple[str, ...]] = []
    end = -1
    for start, word, begins in words:
        bare = word.removesuffix("'s")
        own = analysis.terms(bare)
        if any(map(str.isdigit, bare)):
            identifiers += [term for term in own if _IDENTIFIER.fullmatch(term)]
        elif own and not loud and _is_name(bare, begins=begins and len(words) > 2 and bare == word):
            parts = tuple(term for term in own if _PLAIN.fullmatch(term))
            joined = names and query[end:start].isspace()
            names[-1:] = [names[-1] + parts] if joined else [*names[-1:], parts]
            end = start + len(word)
    return Exact(tuple(dict.fromkeys(identifiers))[:_MOST], tuple(name for name in names if name)[:_MOST])


def _words(query: str) -> Iterator[tuple[int, str, bool]]:
    """The query's words as they are written, where each starts, and whether a sentence may begin with it."""
    for match in analysis.TOKEN.finditer(query):
        if match["words"]:
            word = unicodedata.normalize("NFKC", match["words"]).replace("\u2019", "'")
            yield (
                match.start(),
                word,
                _BEFORE_SENTENCE.search(query[max(match.start() - 8, 0) : match.start()]) is not None,
            )


def _is_name(word: str, *, begins: bool) -> bool:
    if word == "I" or word.startswith("I'"):
        return False
    return any(map(str.isupper, word[1:])) or (word[0].isupper() and not begins)
