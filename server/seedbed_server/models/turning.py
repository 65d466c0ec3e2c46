"""Clauses that are about somebody else than the one who acts in them.

"We named her Bruna" is about her, "Tom and Ana got married" about each of the
two, and "my wife likes opera but I don't" says of me what its first half says of
her.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spacy.tokens import Token

from .clauses import Clause, Said, objects_of
from .lemmas import Lemmas
from .phrases import Node
from .predicates import MUTUAL, MUTUAL_STATES
from .relations import holder_of
from .vocabulary import KIN, PETS, relation, singular

_NAMING = {"call", "name", "nickname", "rename"}
_EMPLOYING = {
    "hire": "work at", "employ": "work at", "recruit": "work at", "poach": "work at", "headhunt": "work at",
    "fire": "be fired from", "sack": "be fired from", "lay off": "be fired from",
}  # fmt: skip
"""What a company does to somebody, and what it says of them."""
_ANYONE = {"everyone", "everybody", "people", "friends", "they", "all", "most"}
_COMPLEMENTS = {"dobj", "attr", "acomp", "xcomp", "ccomp", "oprd", "prep", "prt"}
_ECHOING = {"do", "be", "have", "can"}


def about_object(clause: Clause) -> Iterator[tuple[Node, Said]]:
    """What a clause says of its object: its name, its employer, or that somebody died."""
    objects = [child for child in clause.verb.children if child.dep_ == "dobj"]
    if clause.lemma in _NAMING:
        yield from _namings(clause, objects)
    if clause.lemma == "change" and any(each.lower_ == "name" for each in objects):
        names = [name for prep in clause.verb.subtree if prep.lower_ == "to" for name in objects_of(prep)]
        for name in names:
            if (said := clause.thing(name)) is not None:
                yield clause.subject, Said("be called", said, name)
    if clause.base in _EMPLOYING and not clause.passive and clause.subject.type != "person":
        company = Node(clause.subject.text, "organisation")
        for each in objects:
            yield from ((node, Said(_EMPLOYING[clause.base], company, each)) for node in clause.scene.agents(each))
    if clause.lemma in {"lose", "bury"}:
        for each in objects:
            if relation(each.text) and (each.lower_ in KIN or each.lower_ in PETS):
                yield from ((node, Said("be", Node("dead", "other"), each)) for node in clause.scene.agents(each))


def _namings(clause: Clause, objects: Sequence[Token]) -> Iterator[tuple[Node, Said]]:
    for name in (child for child in clause.verb.children if child.dep_ == "oprd"):
        said = clause.thing(name)
        for each in objects if said is not None and said.text[:1].isupper() else ():
            nodes = clause.scene.agents(each) or [node for node in [clause.thing(each)] if node is not None]
            yield from ((node, Said("be called", said, name)) for node in nodes if said is not None)


def called_by_all(verb: Token, lemmas: Lemmas) -> Iterator[tuple[Node, Token]]:
    """Nobody in particular who names somebody, as in "everyone calls me Bo"."""
    for child in verb.children:
        if child.dep_ == "nsubj" and child.lower_ in _ANYONE and lemmas.of(verb) in _NAMING:
            yield Node(child.text, "other"), child


def mutual(clause: Clause, others: Sequence[Node]) -> Said | None:
    """What two subjects are to each other: the partner is the object; None where the clause says no such thing."""
    if len(others) != 1 or any(child.dep_ in {"dobj", "agent"} for child in clause.verb.children):
        return None
    state = clause.verb.lower_ if clause.passive else clause.base
    if state not in {"be", "get"} and state not in MUTUAL_STATES:
        return None
    if any(child.dep_ == "prep" and child.lower_ in {"to", "from", "with"} for child in clause.verb.subtree):
        return None
    if clause.lemma in {"be", "get"}:
        for child in clause.verb.children:
            if child.dep_ == "attr" and child.lower_ in MUTUAL and holder_of(child) is None:
                return Said(singular(relation(child.text) or child.lower_), others[0], child)
            if child.dep_ in {"attr", "acomp"}:
                state = child.lower_
    predicate = MUTUAL_STATES.get(state)
    return None if predicate is None else Said(predicate, others[0], clause.verb)


def echoed(verb: Token, lemmas: Lemmas) -> tuple[Token, bool] | None:
    """The verb that one without a complement repeats, and whether it is denied: "... but I don't", "so is Ana"."""
    words = {child.lower_ for child in verb.children}
    denied = any(child.dep_ == "neg" for child in verb.children) or bool(words & {"neither", "nor"})
    if lemmas.of(verb) not in _ECHOING or not (denied or words & {"so", "too"}):
        return None
    if any(child.dep_ in _COMPLEMENTS for child in verb.children):
        return None
    if verb.dep_ == "conj" and verb.head.tag_.startswith("VB"):
        return verb.head, denied
    start = verb.sent.start
    if verb.dep_ == "ROOT" and start > 0 and words & {"but", "and", "so", "neither", "nor"}:
        before = verb.doc[start - 1].sent.root
        return (before, denied) if before.tag_.startswith("VB") else None
    return None


def respectively(verb: Token, subjects: Sequence[tuple[Node, Token]]) -> dict[int, Node] | None:
    """Whose each of the objects is, by its token, where a clause says "respectively"; else None."""
    if len(subjects) < 2 or not any(word.lower_ == "respectively" for word in verb.sent[-3:]):
        return None
    for child in verb.children:
        heads = list(objects_of(child)) if child.dep_ == "prep" else [child] if child.dep_ in {"dobj", "attr"} else []
        for head in heads[:1]:
            each = [head, *head.conjuncts]
            if len(each) == len(subjects):
                return {token.i: node for token, (node, _) in zip(each, subjects, strict=True)}
    return None
