"""Who is whose: "my sister Elena", "Elena is my sister", "a dog named Biscuit".

A relation names people (and pets) that a tagger overlooks, and it is a claim of
its own; so it is read before both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from .vocabulary import NOT_NAMES, PETS, relation

_NAMING = {"named", "called"}
_HAVING = {"have", "has", "had", "got", "get", "adopted", "bought", "'ve"}


@dataclass(frozen=True, slots=True)
class Relation:
    """``name`` (a proper noun) is the ``predicate`` of ``holder``.

    ``holder`` is the possessor's token ("my", "Elena"), or the subject of the
    having; ``clause`` is the head of the words it was read from.
    """

    holder: Token
    predicate: str
    name: Token
    clause: Token
    type: str
    negated: bool = False


def relations(doc: Doc) -> list[Relation]:
    """All relations of a text, in order; each name once per holder and predicate."""
    found: dict[tuple[int, str, int], Relation] = {}
    for token in doc:
        predicate = relation(token.text) if token.tag_.startswith("NN") else None
        if predicate is None:
            continue
        for holder, name, clause, negated in _readings(token):
            kind = "other" if token.lower_ in PETS else "person"
            found.setdefault(
                (holder.i, predicate, name.i), Relation(holder, predicate, name, clause, kind, negated)
            )
    return list(found.values())


def _readings(noun: Token) -> Iterator[tuple[Token, Token, Token, bool]]:
    """(holder, name, clause, negated) of every way in which a noun joins a name."""
    head = noun.head
    holder = holder_of(noun)
    if noun.dep_ == "compound" and is_name(head) and head.i > noun.i and (holder := holder_of(head)):
        yield holder, head, head, False  # "my sister Elena", parsed as one name
        return
    for name in _named_after(noun):
        owner = holder or _haver(noun)
        if owner is not None:
            yield owner, name, noun, False
    if holder is None:
        return
    for child in noun.children:
        if child.dep_ == "appos" and is_name(child):
            yield holder, child, noun, False
            yield from ((holder, more, noun, False) for more in child.conjuncts if is_name(more) and more.i > child.i)
    yield from _equated(noun, holder)


def _equated(noun: Token, holder: Token) -> Iterator[tuple[Token, Token, Token, bool]]:
    """ "Elena is my sister", "my sister is Elena", "my sister's name is Elena"."""
    subject = noun
    if noun.dep_ == "poss" and noun.head.lower_ == "name":
        subject = noun.head
    verb = subject.head
    if verb.lower_ not in {"is", "'s", "’s", "was", "be", "are", "were", "called"}:
        return
    negated = any(child.dep_ == "neg" for child in verb.children)
    if subject.dep_ in {"nsubj", "nsubjpass"}:
        others = [child for child in verb.children if child.dep_ in {"attr", "oprd"} and child.i > subject.i]
    elif subject.dep_ == "attr" and subject is noun:
        others = [child for child in verb.children if child.dep_ == "nsubj"]
    else:
        return
    for other in others:
        if is_name(other) and not _asked(verb):
            yield holder, other, verb, negated


def _named_after(noun: Token) -> Iterator[Token]:
    """ "a dog named Biscuit" and "dogs called Max and Rex": the names."""
    for child in noun.children:
        if child.lower_ in _NAMING and child.dep_ in {"acl", "relcl"}:
            for name in child.children:
                if name.dep_ in {"oprd", "dobj", "attr"} and is_name(name):
                    yield name
                    yield from (more for more in name.conjuncts if is_name(more) and more.i > name.i)


def _haver(noun: Token) -> Token | None:
    """The subject of "have a NOUN"."""
    verb = noun.head
    if noun.dep_ != "dobj" or verb.lower_ not in _HAVING or _asked(verb):
        return None
    return next((child for child in verb.children if child.dep_ == "nsubj"), None)


def _asked(verb: Token) -> bool:
    return verb.sent[-1].text == "?"


def holder_of(noun: Token) -> Token | None:
    """The possessor of a noun: the token of "my" or of "Elena" in "Elena's"."""
    return next((child for child in noun.children if child.dep_ == "poss"), None)


def is_name(token: Token) -> bool:
    """A proper noun that is written as a name and is no interjection."""
    return (
        token.tag_ in {"NNP", "NNPS"}
        and token.text[:1].isupper()
        and token.lower_ not in NOT_NAMES
        and relation(token.text) is None
    )
