"""What kind of thing a name is, by the words around it: people live in places, work at companies and drive products.

A recogniser types a name by its looks; the sentence that it stands in often says more.
"""

from __future__ import annotations

from spacy.tokens import Doc, Token

from .companies import EMPLOYED

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
_TRADED = {"bought", "buy", "buying", "sold", "sell", "selling", "ordered", "wear", "install", "installed"}
_HANDLED = {
    "drive", "drives", "drove", "driving", "own", "owns", "use", "uses", "using", "used", "ride", "rides", "riding",
}  # fmt: skip
"""What is done with things, and also with people: "I drove Anna to the airport", "I use Maria as my accountant"."""
_HELD = {"have", "has", "got"}
_GROUPS = {"class", "team", "family", "group", "school", "office", "course", "band", "choir", "club", "year"}
_STUDIED = {
    "learn", "learns", "learning", "learnt", "learned", "do", "does", "doing", "practise", "practice", "code",
}  # fmt: skip
_WATCHED = {"play", "plays", "played", "playing", "watch", "watching"}
"""A game or a film, and also an opponent: "I played Daniel at chess"."""
_JOINING = {"join", "joins", "joined", "joining"}
_TRUSTED = {"bank", "banks", "banking", "signed", "insured"}
_SUBSCRIBED = {"switch", "switched", "switching", "subscribe", "subscribed", "migrated", "upgraded", "logged"}
_MARRYING = {"marry", "married", "marrying", "marries", "dating", "engaged"}


def kind_of(doc: Doc, first: int, last: int, kind: str) -> str:
    """The type of a name of tokens ``first`` to ``last``: ``kind``, corrected by what stands around it.

    One is in a place, works at a company, marries a person, and drives a product.
    """
    head = doc[last]
    preposition = head.head.lower_ if head.dep_ == "pobj" else ""
    verb = head.head.head if preposition else head.head
    somebody = kind == "person" and not is_disputed(doc, first, last)
    if kind in {"person", "location"} and (thing := _thing(doc, first, head, verb, somebody=somebody)):
        return thing
    if kind == "person":
        return _no_person(head, preposition, verb, somebody=somebody)
    if kind not in {"location", "organisation"}:
        return kind
    married = verb.lower_ in _MARRYING and (head.dep_ == "dobj" or preposition == "to")
    dwells = kind == "location" and head.dep_ == "nsubj" and verb.lower_ in _DWELLING
    if married or dwells:
        return "person"
    works = any(token.lower_ in EMPLOYED for token in (verb, *verb.children))
    begins = verb.lower_ in _STARTING
    if (preposition == "at" and (works or begins or _is_in_town(head))) or (preposition == "for" and works):
        return "organisation"
    return kind


def is_disputed(doc: Doc, first: int, last: int) -> bool:
    """Whether the recogniser takes the tokens ``first`` to ``last``, just these, for something else than a person."""
    return any((ent.start, ent.end) == (first, last + 1) and ent.label_ != "PERSON" for ent in doc.ents)


def _thing(doc: Doc, first: int, head: Token, verb: Token, *, somebody: bool) -> str:
    """What is neither somebody nor a place, if its sentence says so: "a Nokia", "learn Kubernetes"; else empty.

    What is also done with people tells nothing of ``somebody``, but with an article or an owner: "a Skoda".
    """
    if head.lower_ in _FEASTS and head.i == first:
        return "event"
    if head.dep_ != "dobj":
        return ""
    if any(child.lower_ in {"a", "an"} and child.dep_ == "det" for child in head.lefts):
        held = verb.lower_ in _HELD and not _is_in_group(head, verb)
        return "product" if held or verb.lower_ in _TRADED | _HANDLED else ""
    if verb.lower_ in _TRADED or (verb.lower_ in _HANDLED and (not somebody or _is_determined(doc, first, head))):
        return "product"
    return "other" if verb.lower_ in _STUDIED or (verb.lower_ in _WATCHED and not somebody) else ""


def _is_determined(doc: Doc, first: int, head: Token) -> bool:
    """Whether an article or an owner stands before a name, and no noun between: "my old SKODA", not "my son TOM"."""
    before = (child for child in head.lefts if child.dep_ in {"det", "poss"} and child.i < first)
    return any(all(word.tag_.startswith("JJ") for word in doc[child.i + 1 : first]) for child in before)


def _is_in_group(name: Token, verb: Token) -> bool:
    """Whether a name is one of several people: "we have a MAX in our class"."""
    preps = [child for child in (*name.children, *verb.children) if child.dep_ == "prep" and child.i > name.i]
    return any(noun.lower_ in _GROUPS for prep in preps for noun in prep.children if noun.dep_ == "pobj")


def _takes_post(verb: Token) -> bool:
    """Whether one joins "as an engineer": people are joined in no such way."""
    return any(child.dep_ == "prep" and child.lower_ == "as" for child in verb.children)


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


def _no_person(head: Token, preposition: str, governor: Token, *, somebody: bool) -> str:
    """What somebody is who stands where only places or companies do: "the bus to Lyon", "a designer at Tidepost"."""
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
    is_owner = head.i + 1 < len(head.doc) and head.nbor().tag_ == "POS"
    works = governor.lower_ in EMPLOYED | _STARTING
    serves = preposition == "at" and (governor.dep_ == "attr" or works or _is_in_town(head)) and not is_owner
    sells = preposition == "from" and (governor.lower_ in _ORDERING or governor.head.lower_ in _ORDERING)
    banks = preposition == "with" and governor.lower_ in _TRUSTED
    joined = head.dep_ == "dobj" and governor.lower_ in _JOINING and (not somebody or _takes_post(governor))
    return "organisation" if serves or sells or banks or joined else "person"


def _is_far_end(name: Token) -> bool:
    """Whether a name is the end of a way that begins at a place: "from Delft to ROTTERDAM"."""
    to = name.head
    starts = [prep for prep in (to.head, *to.head.children) if prep.lower_ == "from" and prep.i < to.i]
    return any(child.ent_type_ == "GPE" for start in starts for child in start.children if child.dep_ == "pobj")
