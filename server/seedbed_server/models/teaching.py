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
        "live in", "used to live in", "moved to", "moved from", "be born in", "grow up in", "be based in", "emigrate from",
    ),
    "organisation": ("work at", "used to work at", "join", "be fired from", "intern at", "study at"),
    "product": ("drive", "use", "install", "ride", "wear", "download", "sell", "charge"),
}  # fmt: skip
_TAUGHT = {predicate: kind for kind, predicates in _OBJECTS.items() for predicate in predicates}
_TEACHABLE = {
    "location": {"person", "organisation", "other", "product"},
    "organisation": {"person", "location", "other", "product"},
    "product": {"person", "location"},
}
"""Which types give way to which. A location where one studies or works is only a place that a company is named for."""


def taught(names: Names, claims: Sequence[Claim], persons: Iterable[str]) -> tuple[Names, list[Claim]]:
    """Names and claims of a text with the types that its claims teach."""
    lessons: dict[str, str] = {}
    sure = {name.casefold() for name in persons} | {claim.subject.casefold() for claim in claims if _acts(claim)}
    for claim in claims:
        kind = _TAUGHT.get(claim.predicate)
        if kind is None or not claim.object[:1].isupper() or claim.object.casefold() in sure:
            continue
        if claim.object_type in _TEACHABLE[kind] and "'s " not in claim.object:
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


def _retyped(name: Name, kind: str | None) -> Name:
    return name if kind is None else replace(name, type=kind)


def _acts(claim: Claim) -> bool:
    """Whether a claim's subject is somebody for what is said of them."""
    return claim.subject_type == "person" and claim.predicate in _TAUGHT
