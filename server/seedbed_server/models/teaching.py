"""Types that the claims of a text teach: what one lives in is a place, what one works at is an organisation.

A recogniser types a name by its looks; a predicate that takes only one kind of
thing knows better. A name of somebody who takes part stays a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .contract import Claim
from .entities import Name, Names

_OBJECTS = {
    "location": (
        "live in", "used to live in", "moved to", "moved from", "be born in", "grow up in",
    ),
    "organisation": ("work at", "used to work at", "join", "be fired from", "intern at", "study at"),
    "product": ("drive", "use", "install", "ride", "wear", "download", "sell", "charge"),
}  # fmt: skip
_WEAK = {"join", "drive", "use", "ride", "charge"}
"""What is done with people too: "I joined Anna for dinner". It teaches nothing of somebody."""
_TAUGHT = {predicate: kind for kind, predicates in _OBJECTS.items() for predicate in predicates}
_OF_PERSONS = {
    "work as", "work at", "used to work at", "marry", "be married to", "be engaged to", "be separated from", "date",
    "live with",
}  # fmt: skip
"""What only people do."""
_TEACHABLE = {
    "location": {"person", "organisation", "other", "product"},
    "organisation": {"person", "location", "other", "product"},
    "product": {"person", "location"},
}
"""Which types give way to which. A location where one studies or works is only a place that a company is named for."""


def taught(names: Names, claims: Sequence[Claim], persons: Iterable[str]) -> tuple[Names, list[Claim]]:
    """Names and claims of a text with the types that its claims teach."""
    persons = [*persons, *(claim.subject for claim in claims if claim.predicate in _OF_PERSONS)]
    lessons: dict[str, str] = {}
    sure = {name.casefold() for name in persons} | {claim.subject.casefold() for claim in claims if _acts(claim)}
    for claim in claims:
        if claim.predicate in _OF_PERSONS and claim.subject_type in {"location", "other"} and _is_name(claim.subject):
            lessons.setdefault(claim.subject, "person")
        kind = _TAUGHT.get(claim.predicate)
        if kind is None or not _is_name(claim.object) or claim.object.casefold() in sure:
            continue
        if claim.object_type == "person" and claim.predicate in _WEAK:
            continue
        if claim.object_type in _TEACHABLE[kind]:
            lessons.setdefault(claim.object, kind)
    if not lessons:
        return names, list(claims)
    renamed = [_retyped(name, lessons.get(name.text(names.doc))) for name in names.all]
    return Names(names.doc, renamed), [
        replace(
            claim,
            subject_type=lessons.get(claim.subject, claim.subject_type),
            object_type=lessons.get(claim.object, claim.object_type),
        )
        for claim in claims
    ]


def _is_name(end: str) -> bool:
    return end[:1].isupper() and "'s " not in end


def _retyped(name: Name, kind: str | None) -> Name:
    return name if kind is None else replace(name, type=kind)


def _acts(claim: Claim) -> bool:
    """Whether a claim's subject is somebody for what is said of them."""
    return claim.subject_type == "person" and claim.predicate in _TAUGHT
