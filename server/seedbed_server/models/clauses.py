"""A clause with one of those who act in it, and how its tree is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from spacy.tokens import Token

from .phrases import Node, Scene
from .predicates import PREDICATES
from .stance import Stance
from .trees import each_of


@dataclass(frozen=True)
class Clause:
    """A verb that claims something, and one of those who act in it. Not slotted: what is read of the tree is kept."""

    scene: Scene
    verb: Token
    lemma: str
    stance: Stance
    subject: Node

    @cached_property
    def base(self) -> str:
        """The predicate without its preposition: "work", "give up", "can play", "be promoted"."""
        words = [self.lemma, *(child.lower_ for child in self.verb.children if child.dep_ == "prt")]
        if self.passive:
            words[:1] = ["be", self.verb.lower_]
        return " ".join(["can", *words] if self.stance.ability else words)

    @cached_property
    def passive(self) -> bool:
        """Whether the subject is the one to whom it is done."""
        return is_passive(self.verb)

    def thing(self, token: Token) -> Node | None:
        """What a phrase of the clause names."""
        return self.scene.thing(token, self.subject)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a clause says: ``last`` is its last token, ``denied`` a "no" before it."""

    predicate: str
    node: Node
    last: Token
    denied: bool = False


def canonical(parsed: str) -> str:
    """The canonical form of a predicate as parsed."""
    return PREDICATES.get(parsed, parsed)


def is_passive(verb: Token) -> bool:
    """Whether a verb is in the passive."""
    return any(child.dep_ == "auxpass" for child in verb.children)


def is_none(noun: Token) -> bool:
    """Whether a noun denies its clause, as in "no siblings", "neither Tom" and "but not beer"."""
    if noun.dep_ == "conj" and noun.doc[max(noun.left_edge.i - 1, 0)].lower_ == "not":
        return True
    return any(
        child.i < noun.i and child.lower_ in {"no", "neither", "not"} and child.dep_ in {"det", "preconj", "cc", "neg"}
        for child in noun.children
    )


def objects_of(prep: Token) -> Iterator[Token]:
    """The nouns that a preposition leads to."""
    for child in prep.children:
        if child.dep_ == "pobj":
            yield from each_of(child)


def antecedent(noun: Token, verb: Token) -> Token:
    """The noun for which "who", "which" or "that" stands."""
    return verb.head if verb.dep_ == "relcl" and noun.tag_ in {"WP", "WDT"} else noun


def hanging(noun: Token) -> list[Token]:
    """The prepositions that hang on a noun, save the "of" that is part of its phrase."""
    return [child for child in noun.children if child.dep_ == "prep" and child.lower_ != "of"]
