"""When two names are evidently one person, and when that cannot be told."""

from __future__ import annotations

import pytest

from seedbed_server.projections.aliases import Names
from seedbed_server.projections.identity import Identity, alias_id
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow


def named(text: str, kind: str = "person", speaks: bool = False) -> MentionRow:
    form = canonical(text)
    return MentionRow(1, 1, UNPLACED if speaks else 0, 1, entity_id(form), form, kind, text, 1.0)


def tied(subject: str, object_: str) -> ClaimRow:
    ends = [(entity_id(canonical(end)), end, "person") for end in (subject, object_)]
    return ClaimRow(1, 1, 0, *ends[0], "sister", *ends[1], 0, "asserted", "", 1.0, 1.0)


def joined(names: Names) -> set[tuple[str, str]]:
    forms = {entity_id(form): form for form in ("sam", "samantha", "samantha lee", "samuel ortiz", "ann", "ann bo")}
    return {(forms[alias.from_id], forms[alias.into_id]) for alias in names.evident().values()}


CASES = [
    ([named("Sam"), named("Samantha Lee")], {("sam", "samantha lee")}, "a short form"),
    ([named("Ann"), named("Ann Bo")], {("ann", "ann bo")}, "a first name"),
    ([named("Sam"), named("Samantha Lee"), named("Samuel Ortiz")], set(), "two that it may be"),
    (
        [named("Sam"), named("Samantha"), named("Samantha Lee")],
        {("sam", "samantha lee"), ("samantha", "samantha lee")},
        "by way of the first name",
    ),
    ([named("Sam", speaks=True), named("Samantha Lee")], set(), "who speaks has a name of their own"),
    ([named("Sam"), named("Samantha Lee", speaks=True)], {("sam", "samantha lee")}, "the longer name may speak"),
    ([named("Sam", "organisation"), named("Samantha Lee")], set(), "no person"),
    ([named("Ann"), named("Ann Bo", "work")], set(), "a book"),
    ([named("Ann Bo"), named("Samantha Lee")], set(), "nobody's short name"),
]


@pytest.mark.parametrize(("mentions", "expected", "what"), CASES, ids=[what for *_, what in CASES])
def test_which_names_are_one(mentions: list[MentionRow], expected: set[tuple[str, str]], what: str) -> None:
    """Only where nobody else could be meant; in whatever portions the rows come."""
    at_once, by_one = Names(), Names()
    at_once.add(mentions, ())
    for mention in mentions:
        by_one.add([mention], ())
        by_one.evident()
    assert joined(at_once) == joined(by_one) == expected, what


def called(subject: str, name: str, negated: int = 0) -> ClaimRow:
    return tied(subject, name)._replace(predicate="be called", negated=negated)


def test_a_name_that_was_said() -> None:
    """The later name stays; a nickname leads to the name; what is denied joins nothing."""
    people = [named("Ann"), named("Ann Bo"), named("Samantha Lee"), named("Sam")]

    def after(*claims: ClaimRow) -> set[tuple[str, str]]:
        names = Names()
        names.add(people, ())
        names.evident()
        names.add((), claims)
        return joined(names) - joined_before

    names = Names()
    names.add(people, ())
    joined_before = joined(names)
    assert after(called("Ann Bo", "Samantha Lee")) == {("ann bo", "samantha lee"), ("ann", "samantha lee")}
    assert after(called("Samantha Lee", "Ann")) >= {("ann", "samantha lee")}
    assert after(called("Ann Bo", "Samantha Lee", negated=1)) == set()


def test_names_in_a_chain_and_in_a_circle() -> None:
    """Renamed twice is one person under the last name; each called the other is one person too."""
    people = [named("Ann Bo", speaks=True), named("Samantha Lee", speaks=True), named("Samuel Ortiz", speaks=True)]
    names = Names()
    names.add(people, [called("Ann Bo", "Samantha Lee"), called("Samantha Lee", "Samuel Ortiz")])
    assert joined(names) == {("ann bo", "samuel ortiz"), ("samantha lee", "samuel ortiz")}
    names.add((), [called("Samuel Ortiz", "Ann Bo")])
    assert joined(names) == {("ann bo", "samuel ortiz"), ("samantha lee", "samuel ortiz")}


def test_who_has_a_claim_on_another_is_another() -> None:
    """Ann's sister is Ann Bo: two people."""
    names = Names()
    names.add([named("Ann"), named("Ann Bo")], ())
    assert joined(names) == {("ann", "ann bo")}
    names.add((), [tied("Ann", "Ann Bo")])
    assert joined(names) == set()


def test_an_alias_has_a_reason_and_an_id() -> None:
    """What the user is shown, and can split by."""
    names = Names()
    names.add([named("Sam"), named("Samantha Lee")], ())
    (alias,) = names.evident().values()
    identity = Identity((), names.evident())
    merged = identity.merges[alias_id(alias)]
    assert (merged.reason, merged.since) == ("short form of the name of the only person called so: sam", None)
    assert identity.of(entity_id("sam")) == entity_id("samantha lee")
    assert identity.members(entity_id("samantha lee")) == (entity_id("samantha lee"), entity_id("sam"))
