"""Joins of names: what they come to, against the rule written out, and in how much time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from seedbed_server.log import Decision, Split
from seedbed_server.projections.aliases import Names
from seedbed_server.projections.identity import Identity
from seedbed_server.projections.joining import Alias, Joined
from seedbed_server.projections.names import entity_id
from seedbed_server.projections.rows import UNPLACED, ClaimRow, MentionRow
from tests.timing import seconds

NAME = st.sampled_from("abcdefgh")


def written_out(joins: Sequence[tuple[str, str]]) -> dict[str, Alias]:
    """Every alias is led on at every join: plain, and of quadratic cost."""
    found: dict[str, Alias] = {}
    for from_id, to in joins:
        into = found[to].into_id if to in found else to
        if from_id == into or from_id in found:
            continue
        found[from_id] = Alias(from_id, into, f"{from_id} to {to}")
        for i, alias in found.items():
            if alias.into_id == from_id:
                found[i] = alias._replace(into_id=into)
    return found


@given(st.lists(st.tuples(NAME, NAME), max_size=20))
def test_joins_are_what_the_rule_says(joins: list[tuple[str, str]]) -> None:
    """The same aliases, in the same order, with the same reasons."""
    joined = Joined()
    for from_id, to in joins:
        joined.join(from_id, to, f"{from_id} to {to}")
    assert list(joined.aliases().items()) == list(written_out(joins).items())


@given(st.lists(st.tuples(NAME, NAME), max_size=12), st.lists(st.tuples(NAME, NAME), max_size=4))
def test_what_is_kept_apart(joins: list[tuple[str, str]], apart: list[tuple[str, str]]) -> None:
    """No two names that a split parted are one, and every other evident join is made: against the rule written out."""
    aliases = written_out(joins)
    of = {name: name for name in "abcdefgh"}
    for alias in aliases.values():
        from_, into = of[alias.from_id], of[alias.into_id]
        parted = any({of[one], of[other]} == {from_, into} for one, other in apart)
        if from_ != into and from_ == alias.from_id and not parted:
            of = {name: into if root == from_ else root for name, root in of.items()}
    identity = Identity([_split(*pair) for pair in apart], aliases)
    assert {name: identity.of(name) for name in "abcdefgh"} == of
    for merged in identity.merges.values():
        assert merged in identity.merges_of(of[merged.from_id])
    assert sum(len(identity.merges_of(root)) for root in set(of.values())) == len(identity.merges)


def _split(one: str, other: str) -> Decision:
    return Decision(1, Split(f"{one}-{other}"), 1, 0, datetime(2024, 1, 1, tzinfo=UTC), None)


def chained(n: int) -> tuple[list[MentionRow], list[ClaimRow]]:
    """A name that changed so often: each message tells the next one."""
    forms = [f"quill {i}" for i in range(n + 1)]
    ids = [entity_id(form) for form in forms]
    speak = [MentionRow(1, i + 1, UNPLACED, 1, ids[i], forms[i], "person", forms[i], float(i)) for i in range(n)]
    tell = [
        ClaimRow(
            *(1, i + 1, 0, ids[i], forms[i], "person", "be called", ids[i + 1], forms[i + 1], "person"),
            *(0, "asserted", "", float(i), float(i)),
        )
        for i in range(n)
    ]
    return speak, tell


def test_the_time_for_names_grows_with_their_number_and_not_with_its_square() -> None:
    """A chain of names, told in the worst order, and namesakes that differ in the short form."""

    def took(n: int) -> float:
        mentions, claims = chained(n)

        def act() -> None:
            names = Names()
            names.add(mentions, claims)
            identity = Identity((), names.evident())
            assert len(identity.members(identity.of(mentions[0].entity_id))) == n + 1

        return seconds(act)

    assert took(4000) < 9 * max(took(1000), 0.002)


def test_the_time_for_namesakes_grows_with_their_number() -> None:
    """Thousands called Kate, and thousands called Katherine."""

    def took(n: int) -> float:
        forms = [f"{first} {rest}" for first in ("kate", "katherine") for rest in map(str, range(n))]
        rows = [MentionRow(1, 1, 0, 1, entity_id(form), form, "person", form, 1.0) for form in forms]

        def act() -> None:
            names = Names()
            names.add(rows, ())
            assert len(names.evident()) == n

        return seconds(act)

    assert took(2000) < 9 * max(took(500), 0.002)
