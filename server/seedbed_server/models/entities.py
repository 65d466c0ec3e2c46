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

from .companies import EMPLOYED, companies
from .contract import Span
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

_DWELLING = {
    "move", "moved", "moving", "moves", "live", "lives", "lived", "living", "relocate", "relocated", "relocating",
    "born",
    "travel", "traveled", "travelled", "flew", "fly", "flying", "reside", "resides",
}  # fmt: skip
_LEADING = {"bus", "train", "flight", "ferry", "plane", "tram", "ticket", "tickets", "trip", "road", "drive", "move"}
"""What leads to a place: "the bus to Lyon"."""
_PLACES = {
    "address", "city", "town", "village", "country", "capital", "island", "region", "district", "suburb", "beach",
}  # fmt: skip
_ORDERING = {"order", "orders", "ordered", "ordering"}
_TRUSTING = {"believe", "believed", "believes", "trust", "trusts", "trusted", "confide", "confided", "interested"}
_STARTING = {"start", "starts", "started", "starting"}
_FEASTS = {"christmas", "easter", "ramadan", "diwali", "hanukkah", "eid", "thanksgiving", "halloween", "passover"}
_THINGS = {
    "drive", "drives", "drove", "driving", "bought", "buy", "buying", "sold", "sell", "selling", "own", "owns", "use",
    "uses", "using", "used", "ride", "rides", "riding", "ordered", "wear", "install", "installed",
}  # fmt: skip
_STUDIED = {
    "learn", "learns", "learning", "learnt", "learned", "do", "does", "doing", "practise", "practice", "play", "plays",
    "played", "playing", "code", "watch", "watching",
}  # fmt: skip
_TRUSTED = {"bank", "banks", "banking", "signed", "insured"}
_SUBSCRIBED = {"switch", "switched", "switching", "subscribe", "subscribed", "migrated", "upgraded", "logged"}
_ROLES = {"user", "assistant", "system", "tool", "function", "developer"}
_MARRYING = {"marry", "married", "marrying", "marries", "dating", "engaged"}
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
    candidates = [
        *((0, name) for name in _known(doc, text, known)),
        *((1, name) for name in _related(doc, related)),
        *((2, Name(*found)) for found in companies(doc)),
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
    return Names(doc, _agreed(doc, [_expected(doc, name) for name in chosen]))


def _expected(doc: Doc, name: Name) -> Name:
    """Corrects a type by what stands around it: one is in a place, works at a company, and marries a person."""
    head = doc[name.last]
    preposition = head.head.lower_ if head.dep_ == "pobj" else ""
    verb = head.head.head if preposition else head.head
    if name.type in {"person", "location"} and (thing := _thing(doc, name, verb)):
        return replace(name, type=thing)
    if name.type == "person":
        return replace(name, type=_no_person(doc, name, preposition, verb))
    if name.type not in {"location", "organisation"}:
        return name
    married = verb.lower_ in _MARRYING and (head.dep_ == "dobj" or preposition == "to")
    dwells = name.type == "location" and head.dep_ == "nsubj" and verb.lower_ in _DWELLING
    if married or dwells:
        return replace(name, type="person")
    works = any(token.lower_ in EMPLOYED for token in (verb, *verb.children))
    begins = verb.lower_ in _STARTING
    if (preposition == "at" and (works or begins or _is_in_town(head))) or (preposition == "for" and works):
        return replace(name, type="organisation")
    return name


def _thing(doc: Doc, name: Name, verb: Token) -> str:
    """What is neither somebody nor a place, if its sentence says so: "a Nokia", "learn Kubernetes"; else empty."""
    head = doc[name.last]
    if head.lower_ in _FEASTS and name.first == name.last:
        return "event"
    acted_on = head.dep_ == "dobj"
    if any(child.lower_ in {"a", "an"} and child.dep_ == "det" for child in head.lefts):
        return "product" if acted_on and verb.lower_ in _THINGS | {"have", "has", "got"} else ""
    return "product" if acted_on and verb.lower_ in _THINGS else "other" if acted_on and verb.lower_ in _STUDIED else ""


def _is_in_town(name: Token) -> bool:
    """Whether one is "at" a name that is itself in a place: "he's at Bosch in Stuttgart"; so it is a company."""
    governor = name.head.head
    calling = any(child.dep_ == "attr" and child.tag_ == "NN" for child in governor.children)
    if governor.lower_ == "been" or _is_calling(governor):
        return True
    if governor.lower_ not in {"is", "'s", "'m", "am", "are", "'re", "was", "been", "be"}:
        return False
    beside = (*name.children, *governor.children)
    return calling or any(prep.lower_ == "in" and prep.dep_ == "prep" and prep.i > name.i for prep in beside)


def _is_calling(noun: Token) -> bool:
    """Whether a noun says what somebody is: "I'm a NURSE at", "she's head of DATA at"."""
    if noun.dep_ == "pobj" and noun.head.lower_ == "of":
        noun = noun.head.head
    return noun.dep_ == "attr" and noun.tag_ == "NN"


def _no_person(doc: Doc, name: Name, preposition: str, governor: Token) -> str:
    """What somebody is who stands where only places or companies do: "the bus to Lyon", "a designer at Tidepost"."""
    head = doc[name.last]
    placed = preposition == "in" and governor.lower_ not in _TRUSTING
    leads = head.head.i > 0 and head.head.nbor(-1).lower_ in _LEADING  # whatever the parser ties "to" to
    moved = preposition == "to" and (leads or governor.lower_ in _DWELLING or _is_far_end(head))
    said_to_be = (
        {child.lower_ for child in head.head.children if child.dep_ == "attr"} if head.dep_ == "nsubj" else set()
    )
    if placed or moved or said_to_be & _PLACES:
        return "location"
    if preposition in {"from", "to"} and governor.lower_ in _SUBSCRIBED:
        return "product"
    is_owner = name.last + 1 < len(doc) and doc[name.last + 1].tag_ == "POS"
    works = governor.lower_ in EMPLOYED | _STARTING
    serves = preposition == "at" and (governor.dep_ == "attr" or works or _is_in_town(head)) and not is_owner
    sells = preposition == "from" and (governor.lower_ in _ORDERING or governor.head.lower_ in _ORDERING)
    banks = preposition == "with" and governor.lower_ in _TRUSTED
    return "organisation" if serves or sells or banks else "person"


def _is_far_end(name: Token) -> bool:
    """Whether a name is the end of a way that begins at a place: "from Delft to ROTTERDAM"."""
    to = name.head
    starts = [prep for prep in (to.head, *to.head.children) if prep.lower_ == "from" and prep.i < to.i]
    return any(child.ent_type_ == "GPE" for start in starts for child in start.children if child.dep_ == "pobj")


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
