"""Companies by where they stand and how they are written: "hired by Stripe", "a job at Adyen", "Crumb & Co".

Where one works is told by the sentence, whether or not a recogniser has heard of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from spacy.tokens import Doc, Token

from .labeller import Found
from .vocabulary import NOT_NAMES, TIME_NOUNS, relation

HIRING = {"hire", "hired", "hires", "hiring", "employs", "employed", "recruited", "poached", "headhunted"}
"""What a company does to somebody, and now and then a person."""

EMPLOYED = {
    "work", "works", "worked", "working", "job", "intern", "interned", "interning", "internship", "interview",
    "interviews", "interviewed", "interviewing", "engineer", "hired", "employed", "role", "position", "offer", "career",
}  # fmt: skip
"""Words that "at" joins to a company."""

_FORMS = {
    "corp", "corp.", "inc", "inc.", "ltd", "ltd.", "gmbh", "llc", "plc", "ag", "bv", "b.v.", "co.", "s.a.", "oy", "ab",
    "aps", "limited",
}  # fmt: skip
"""Legal forms, with which only the name of a company ends."""

_SAINTS = {"st", "st.", "saint"}
_KIN_OF_FIRMS = {"co", "co.", "sons", "daughters", "company", "partners", "bros", "associates"}


def companies(doc: Doc, persons: Collection[int]) -> Iterator[Found]:
    """First and last token, and type, of what stands or is written as a company only is.

    ``persons`` are the last tokens of names of persons: those may hire, too.
    """
    for token in doc:
        if token.text == "&":
            yield from _joined(token)
        elif not token.text[:1].isupper():
            continue
        elif token.lower_ in _FORMS and token.i > 0 and _is_capital(doc[token.i - 1]):
            yield _first(token), token.i, "organisation"
        elif token.lower_ in _SAINTS:
            yield from _named_after_saint(token)
        elif _employs(token) and not (token.i in persons and _hires(token)):
            for each in (token, *(other for other in token.conjuncts if _may_name(other))):
                yield _first(each), each.i, "organisation"


def _joined(sign: Token) -> Iterator[Found]:
    """As in "Crumb & Co": one name, unless two people are joined so."""
    doc, left, right = sign.doc, sign.i - 1, sign.i + 1
    if left < 0 or right >= len(doc) or not all(_is_proper(doc[i]) for i in (left, right)):
        return
    first, last = _first(doc[left]), right
    while last + 1 < len(doc) and _is_proper(doc[last + 1]):
        last += 1
    acts = doc[left].dep_ == "nsubj" and doc[left].head.tag_ != "VBZ"  # "Tom & Ana moved"
    whole = not acts and any((ent.start, ent.end, ent.label_) == (first, last + 1, "ORG") for ent in doc.ents)
    kind = doc[left].head  # "my bakery, Crumb & Co", and not "my son Tom & Ben"
    described = doc[left].dep_ in {"appos", "conj"} and kind.tag_ == "NN" and relation(kind.text) is None
    if doc[last].lower_ in _KIN_OF_FIRMS or whole or described:
        yield first, last, "organisation"


def _named_after_saint(saint: Token) -> Iterator[Found]:
    """As in "goes to St Mary's": a school, church or hospital, if nothing is Mary's."""
    doc, at = saint.doc, saint.i + 1
    if at + 1 < len(doc) and _is_proper(doc[at]) and doc[at + 1].tag_ == "POS" and doc[at].dep_ != "poss":
        yield saint.i, at + 1, "organisation"


def _employs(token: Token) -> bool:
    """Whether a word stands where only a company does."""
    if not _may_name(token):
        return False
    if token.dep_ == "nsubj":
        objects = {child.lower_ for child in token.head.children if child.dep_ == "dobj"}
        return bool(objects) if token.head.lower_ in HIRING else token.head.lower_ == "offered" and "job" in objects
    if token.dep_ != "pobj" or token.head.lower_ not in {"at", "by"} or token.tag_ not in {"NNP", "NNPS"}:
        return False
    governor = token.head.head
    if token.head.lower_ == "by":
        return governor.lower_ in HIRING
    if governor.lower_ == "day" and any(child.lower_ in {"first", "last"} for child in governor.lefts):
        return True
    return bool(EMPLOYED & {governor.lower_, governor.head.lower_ if governor.dep_ == "prep" else ""})


def _hires(token: Token) -> bool:
    """Whether hiring is what tells a company: "STRIPE hired me", "hired by STRIPE"."""
    verb = token.head if token.dep_ == "nsubj" else token.head.head
    return verb.lower_ in HIRING and (token.dep_ == "nsubj" or token.head.lower_ == "by")


def _may_name(token: Token) -> bool:
    """Whether a noun without an article or owner may be a name."""
    if not token.tag_.startswith("NN") or not _is_capital(token) or token.lower_ in NOT_NAMES | TIME_NOUNS:
        return False
    if relation(token.text) is not None or (token.i + 1 < len(token.doc) and token.nbor().tag_ == "POS"):
        return False
    return not any(child.dep_ in {"det", "poss", "nummod"} for child in token.lefts)


def _is_capital(token: Token) -> bool:
    return token.text[:1].isupper() and token.tag_.startswith(("NN", "JJ", "VB"))


def _is_proper(token: Token) -> bool:
    return token.tag_.startswith("NNP") and token.text[:1].isupper()


def _first(last: Token) -> int:
    """The first token of the run of proper nouns that ends with a token."""
    first = last.i
    while first > 0 and _is_proper(last.doc[first - 1]):
        first -= 1
    return first
