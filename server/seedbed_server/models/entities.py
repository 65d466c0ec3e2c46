"""What a text names: people, places, organisations, works, products, events, dates.

spaCy's recogniser was trained on newswire. Around it stands what a memory server
knows besides: who speaks to whom, and who is whose. Its spans are trimmed to the
name itself, and what is no name (pronouns, greetings, "my sister") is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc, Token

from .contract import Span
from .relations import Relation
from .vocabulary import NOT_NAMES, relation

TYPES = {
    "PERSON": "person",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "ORG": "organisation",
    "NORP": "organisation",
    "WORK_OF_ART": "work",
    "PRODUCT": "product",
    "EVENT": "event",
    "DATE": "date",
}
"""OntoNotes labels that are kept, and what they are called here."""

LONGEST = 8
"""Tokens of the longest name that is believed; works have the longest titles."""

# Tags of words that no name begins or ends with.
_EDGE_TAGS = {
    "DT", "PDT", "PRP", "PRP$", "WP", "WP$", "WDT", "WRB", "IN", "TO", "CC", "UH", "POS", "MD", "EX", "RP",
    ".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "SYM", "NFP", "_SP", "#", "$", "ADD",
}  # fmt: skip
_PRONOUN_TAGS = {"PRP", "PRP$", "WP", "WP$", "EX"}
_NO_NOUNS = {"VB", "UH", "RB", "JJ"}
_ARTICLES = {"the", "a", "an", "my", "your", "his", "her", "our", "their", "its", "this", "that", "these", "those"}
_DWELLING = {
    "move", "moved", "moving", "moves", "live", "lives", "lived", "living", "relocate", "relocated", "relocating",
    "born",
    "travel", "traveled", "travelled", "flew", "fly", "flying", "reside", "resides",
}  # fmt: skip
_MARRYING = {"marry", "married", "marrying", "marries", "dating", "engaged"}
_DRAWN_OUT = re.compile(r"([^\W\d_])\1\1")  # "Sooo"
_NAMELIKE = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a doc: tokens ``first`` to ``last``, inclusive."""

    first: int
    last: int
    type: str

    def text(self, doc: Doc) -> str:
        """The name as written."""
        return doc[self.first : self.last + 1].text


class Names:
    """The names of one doc, in order, none overlapping another."""

    def __init__(self, doc: Doc, names: Iterable[Name]) -> None:
        self.doc = doc
        self.all = sorted(names, key=lambda name: name.first)
        self._at = {i: name for name in self.all for i in range(name.first, name.last + 1)}

    def at(self, token: Token) -> Name | None:
        """The name that a token is part of."""
        return self._at.get(token.i)

    def spans(self, start: int) -> list[Span]:
        """The names as spans of a text in which the doc stands at ``start``."""
        return [self._span(name, start) for name in self.all]

    def _span(self, name: Name, start: int) -> Span:
        first, last = self.doc[name.first], self.doc[name.last]
        return Span(name.text(self.doc), name.type, start + first.idx, start + last.idx + len(last.text))


def find_names(doc: Doc, text: str, known: Sequence[str], related: Sequence[Relation]) -> Names:
    """All names of a doc, which was made from ``text``.

    ``known`` are names of persons to be found by exact match (the speakers).
    Where candidates overlap, what is surest wins: a known name, then a name that
    a relation gives, then the recogniser's, the longer first.
    """
    candidates = [
        *((0, name) for name in _known(doc, text, known)),
        *((1, name) for name in _related(doc, related)),
        *((2, name) for name in _recognised(doc)),
    ]
    candidates = _absorb(candidates)
    candidates.sort(key=lambda ranked: (ranked[0], ranked[1].first - ranked[1].last, ranked[1].first))
    taken: set[int] = set()
    chosen = []
    for _, name in candidates:
        tokens = range(name.first, name.last + 1)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            chosen.append(name)
    return Names(doc, _agreed(doc, [_expected(doc, name) for name in chosen]))


def _expected(doc: Doc, name: Name) -> Name:
    """Corrects a type by its verb: one moves to a place, and marries a person."""
    head = doc[name.last]
    verb = head.head.head if head.dep_ == "pobj" else head.head
    if name.type == "person" and head.dep_ == "pobj" and head.head.lower_ in {"to", "in"} and verb.lower_ in _DWELLING:
        return replace(name, type="location")
    if (
        name.type in {"location", "organisation"}
        and verb.lower_ in _MARRYING
        and (head.dep_ == "dobj" or (head.dep_ == "pobj" and head.head.lower_ == "to"))
    ):
        return replace(name, type="person")
    return name


def _agreed(doc: Doc, names: list[Name]) -> list[Name]:
    """One type for one name: the one most often given to it, the first of equals."""
    votes: dict[str, Counter[str]] = {}
    for name in names:
        votes.setdefault(name.text(doc), Counter())[name.type] += 1
    return [replace(name, type=votes[name.text(doc)].most_common(1)[0][0]) for name in names]


def _absorb(candidates: list[tuple[int, Name]]) -> list[tuple[int, Name]]:
    """A longer person's name takes the rank of a known or related one that it holds: "Maya Lopez"."""
    sure = [(rank, name) for rank, name in candidates if rank < 2]
    out = []
    for rank, name in candidates:
        inside = [r for r, other in sure if name.first <= other.first and other.last <= name.last]
        out.append((min(inside) if inside and name.type == "person" else rank, name))
    return out


def _known(doc: Doc, text: str, known: Sequence[str]) -> Iterator[Name]:
    for name in known:
        if name not in text or not _NAMELIKE.search(name) or name.casefold() in NOT_NAMES:
            continue
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            span = doc.char_span(match.start(), match.end())
            if span is not None:
                yield Name(span.start, span.end - 1, "person")


def _related(doc: Doc, related: Sequence[Relation]) -> Iterator[Name]:
    for found in related:
        first = last = found.name.i
        while first > 0 and _continues(doc[first - 1], found.name):
            first -= 1
        while last + 1 < len(doc) and _continues(doc[last + 1], found.name):
            last += 1
        yield Name(first, last, found.type)


def _continues(token: Token, name: Token) -> bool:
    """Whether a token beside a name is part of it: "Elena Maria" and no more."""
    if not token.tag_.startswith("NNP") or not token.text[:1].isupper() or relation(token.text):
        return False
    return token.head == name or (name.head == token and name.dep_ == "compound")


def _recognised(doc: Doc) -> Iterator[Name]:
    for ent in doc.ents:
        kind = TYPES.get(ent.label_)
        if kind is None:
            continue
        trimmed = _trim_date(doc, ent.start, ent.end) if kind == "date" else _trim(doc, ent.start, ent.end)
        if trimmed is None:
            continue
        first, last = trimmed
        if kind == "date" or _is_name(doc, first, last, kind):
            yield Name(first, last, kind)


def _trim_date(doc: Doc, start: int, end: int) -> tuple[int, int] | None:
    while start < end and not any(map(str.isalnum, doc[start].text)):
        start += 1
    while start < end and not any(map(str.isalnum, doc[end - 1].text)):
        end -= 1
    return (start, end - 1) if start < end else None


def _trim(doc: Doc, start: int, end: int) -> tuple[int, int] | None:
    """The tokens of a span that are the name: no greeting, article, possessive, symbol at its ends."""
    for i in range(start, end):
        if doc[i].tag_ == "_SP" or doc[i].text in {",", ";", "!", "?", '"', "\n"}:
            # Two things in one span: the first that has a letter is the name.
            if i > start and any(_NAMELIKE.search(doc[j].text) for j in range(start, i)):
                end = i
                break
            start = i + 1
    while start < end and _is_edge(doc[start]):
        start += 1
    while start < end and (_is_edge(doc[end - 1]) or doc[end - 1].lower_ in {"'s", "\u2019s", "s'"}):
        end -= 1
    return (start, end - 1) if start < end else None


def _is_edge(token: Token) -> bool:
    word = token.lower_
    if word in _ARTICLES or word in NOT_NAMES or not any(map(str.isalnum, word)):
        return True
    return token.tag_ in _EDGE_TAGS and not token.text[:1].isupper()


def _is_name(doc: Doc, first: int, last: int, kind: str) -> bool:
    """Whether trimmed tokens are a name, and no greeting, pronoun, relative or common word."""
    tokens = doc[first : last + 1]
    text = tokens.text
    folded = text.casefold().strip("'\u2019")
    if last - first >= LONGEST or len(text) < 2 or not _NAMELIKE.search(text) or _DRAWN_OUT.search(folded):
        return False
    if folded in NOT_NAMES or relation(folded) is not None or all(token.tag_ in _PRONOUN_TAGS for token in tokens):
        return False
    if text.islower():
        # The recogniser on lower case is a guess: a place or a person it has seen, or noise.
        return kind in {"person", "location"} and all(token.tag_.startswith("NNP") for token in tokens)
    begins = tokens[0]
    if begins.is_sent_start and (begins.tag_ == "VBG" or (first == last and begins.tag_[:2] in _NO_NOUNS)):
        return False  # "Love your hair": a capital because a sentence begins
    return any(token.tag_.startswith("N") or token.text[:1].isupper() for token in tokens)
