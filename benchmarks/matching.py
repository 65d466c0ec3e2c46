"""When a claim that was extracted is the gold triple: the rules of tests/gold/README.md, as pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

PERSONAL = {
    *("i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves"),
    *("you", "your", "yours", "yourself", "yourselves"),
    *("he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself"),
    *("they", "them", "their", "theirs", "themselves", "themself"),
}
PRONOUNS = frozenset(PERSONAL | {"this", "that", "these", "those", "who", "whom", "whose", "which", "what"})
"""Nodes that nobody can look up: none of them may be a subject or an object."""

ARTICLE = re.compile(r"^(?:the|an?)\s+")
APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})


def normal(words: str) -> str:
    """Words as they are compared: case folded, one space between them, no article in front, no full stop at the end."""
    folded = " ".join(words.translate(APOSTROPHES).casefold().split()).rstrip(".!?,;:")
    return ARTICLE.sub("", folded)


def within(one: str, other: str) -> bool:
    """Whether the words of one text stand in the other in one piece, either way round; never for an empty text."""
    short, long = sorted((normal(one).split(), normal(other).split()), key=len)
    size = len(short)
    return size > 0 and any(long[at : at + size] == short for at in range(len(long) - size + 1))


@dataclass(frozen=True, slots=True)
class Statement:
    """A triple as it is compared. ``modality`` is one of `MODALITIES` of the contract, and no part of a match."""

    subject: str
    predicate: str
    object: str
    negated: bool = False
    modality: str = "asserted"

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """One triple of a gold file; an empty modality is "asserted". Raises KeyError when a field is missing."""
        modality = row.get("modality") or "asserted"
        return cls(row["subject"], row["predicate"], row["object"], row["negated"], modality)

    def normal(self) -> Self:
        """The same, with its words as they are compared."""
        words = (normal(self.subject), normal(self.predicate), normal(self.object))
        return type(self)(*words, self.negated, self.modality)

    def pronouns(self) -> int:
        """How many of its two nodes are nothing but a pronoun: 0 to 2."""
        return sum(normal(node) in PRONOUNS for node in (self.subject, self.object))


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold triple: any of its ``ways`` of being said will do; an optional one is neither asked for nor wrong."""

    ways: tuple[Statement, ...]
    optional: bool = False

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """One of the "triples" of a gold message. Raises KeyError when a field is missing."""
        return cls(tuple(Statement.read(way) for way in (row, *row.get("or", ()))), row.get("optional", False))


Rule = Callable[[Statement, Statement], bool]


def strict(claim: Statement, way: Statement) -> bool:
    """The same subject, predicate, object and negation."""
    return _but_object(claim) == _but_object(way) and normal(claim.object) == normal(way.object)


def lenient(claim: Statement, way: Statement) -> bool:
    """As `strict`, but either object may have more words than the other, before or after."""
    return _but_object(claim) == _but_object(way) and within(claim.object, way.object)


def _but_object(said: Statement) -> tuple[str, str, bool]:
    return normal(said.subject), normal(said.predicate), said.negated


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one message, or of many added up.

    ``right`` claims say a gold triple that is asked for, ``wrong`` ones none at
    all; a claim that says an optional one is in neither. ``found`` of ``asked``
    gold triples are said by a claim. ``agreeing`` of the right claims have a
    modality that the gold allows too.
    """

    asked: int = 0
    found: int = 0
    right: int = 0
    wrong: int = 0
    agreeing: int = 0

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.asked + other.asked,
            self.found + other.found,
            self.right + other.right,
            self.wrong + other.wrong,
            self.agreeing + other.agreeing,
        )

    @property
    def precision(self) -> float | None:
        """Share of the claims that are right, 0 to 1; None when there are none."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        """Share of the gold triples that were found, 0 to 1; None when none are asked for."""
        return self.found / self.asked if self.asked else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both, 0 to 1; None when either is."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with what it rests on: gold triples not found, and claims that are wrong."""

    verdict: Verdict
    missed: tuple[Gold, ...]
    wrong: tuple[Statement, ...]


def judge(claims: Iterable[Statement], gold: Sequence[Gold], rule: Rule = strict) -> Judged:
    """Hold the claims of one message against its gold; a claim said twice counts once."""
    said = list({claim.normal(): claim for claim in claims}.values())
    asked = [triple for triple in gold if not triple.optional]
    missed = tuple(triple for triple in asked if not any(_says(claim, triple, rule) for claim in said))
    right = [claim for claim in said if any(_says(claim, triple, rule) for triple in asked)]
    wrong = tuple(claim for claim in said if not any(_says(claim, triple, rule) for triple in gold))
    agreeing = sum(_in_modality(claim, asked, rule) for claim in right)
    return Judged(Verdict(len(asked), len(asked) - len(missed), len(right), len(wrong), agreeing), missed, wrong)


def _says(claim: Statement, triple: Gold, rule: Rule) -> bool:
    return any(rule(claim, way) for way in triple.ways)


def _in_modality(claim: Statement, asked: Sequence[Gold], rule: Rule) -> bool:
    return any(rule(claim, way) and claim.modality == way.modality for triple in asked for way in triple.ways)
