"""What a text names: people, places, organisations, works, products, events, dates.

spaCy's recogniser was trained on newswire, the labeller on chat. Around them stands
what a memory server knows besides: who speaks to whom, and who is whose. Spans are
trimmed to the name itself, and what is no name (pronouns, greetings, "my sister")
is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc, Token
from spacy.tokens import Span as Stretch

from .companies import companies
from .contract import Span
from .kinds import is_disputed, kind_of
from .labeller import Found
from .lexicon import is_word
from .relations import Relation
from .titles import titled
from .trimming import is_believable, trim, trim_date
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

_ROLES = {"user", "assistant", "system", "tool", "function", "developer"}
_LIVING = {"person", "other"}
"""Types of those whom a message may call in lower case: persons, and by a relation also pets."""
_MANNER = {"with", "in", "of", "without", "by"}
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
        """The names as spans of a text in which the doc stands at ``start``.

        Certain are those of somebody, if they are written with a capital: one that
        a word has not for being the first of its sentence.
        """
        return [self._span(name, start) for name in self.all]

    def _span(self, name: Name, start: int) -> Span:
        first, last = self.doc[name.first], self.doc[name.last]
        certain = name.type in _LIVING and not (name.first == name.last and first.is_sent_start and is_word(first))
        return Span(name.text(self.doc), name.type, start + first.idx, start + last.idx + len(last.text), certain)


def find_names(
    doc: Doc, text: str, known: Sequence[str], related: Sequence[Relation], labelled: Sequence[Found]
) -> Names:
    """All names of a doc, which was made from ``text``.

    ``known`` are names of persons (the speakers), found as they are or in lower
    case; ``labelled`` is what the labeller found. Where candidates overlap, what is
    surest wins: a known name, then a name that a relation gives, then a labelled
    one or a title, then the recogniser's, the longer first.
    """
    persons = {last for first, last, kind in labelled if kind == "person" and not is_disputed(doc, first, last)}
    candidates = [
        *((0, name) for name in _known(doc, text, known)),
        *((1, name) for name in _related(doc, related)),
        *((2, Name(*found)) for found in companies(doc, persons)),
        *((2, name) for name in _labelled(doc, labelled)),
        *((2, Name(*found)) for found in titled(doc, text)),
        *((3, name) for name in _recognised(doc)),
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
    return Names(
        doc, _agreed(doc, [replace(name, type=kind_of(doc, name.first, name.last, name.type)) for name in chosen])
    )


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
        folded = name.casefold()
        if not _NAMELIKE.search(name) or folded in NOT_NAMES or folded in _ROLES:
            continue
        if len(name) < 2 and name.isascii():
            continue
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            span = doc.char_span(match.start(), match.end())
            if span is not None and (match[0] == name or _names_somebody(span)):
                yield Name(span.start, span.end - 1, "person")


def _names_somebody(span: Stretch) -> bool:
    """Whether words in lower case are a name: nouns, and no noun for how something is done ("with grace")."""
    manner = len(span) == 1 and is_word(span[0]) and span[0].dep_ == "pobj" and span[0].head.lower_ in _MANNER
    return not manner and all(token.tag_.startswith("N") for token in span)


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


def _labelled(doc: Doc, labelled: Sequence[Found]) -> Iterator[Name]:
    for first, last, kind in labelled:
        trimmed = trim(doc, first, last + 1)
        if trimmed is not None and is_believable(doc, *trimmed):
            yield Name(*trimmed, "location" if kind == "person" and _is_place(doc, *trimmed) else kind)


def _is_place(doc: Doc, first: int, last: int) -> bool:
    """Whether the recogniser, which knows the towns of the news, takes just these capitalised words for a place."""
    span = doc[first : last + 1]
    return span.text[:1].isupper() and any(
        (ent.start, ent.end, ent.label_) == (first, last + 1, "GPE") for ent in doc.ents
    )


def _recognised(doc: Doc) -> Iterator[Name]:
    for ent in doc.ents:
        kind = TYPES.get(ent.label_)
        if kind is None:
            continue
        trimmed = trim_date(doc, ent.start, ent.end) if kind == "date" else trim(doc, ent.start, ent.end)
        if trimmed is None:
            continue
        first, last = trimmed
        if kind == "date" or (is_believable(doc, first, last) and _is_likely(doc, first, last, ent.label_)):
            yield Name(first, last, kind)


def _is_likely(doc: Doc, first: int, last: int, label: str) -> bool:
    """Whether the recogniser is to be believed where the labeller saw nothing.

    In chat it seldom is, but of nationalities and faiths, which the labeller does not
    know, of events, and of where somebody is or works.
    """
    head = doc[last]
    if label == "EVENT" or (label == "NORP" and doc[first].text[:1].isupper()):
        return True
    placed = label in {"GPE", "LOC", "ORG"} and head.dep_ == "pobj" and head.tag_.startswith("NNP")
    return placed and doc[first].is_title and not doc[first].is_sent_start
