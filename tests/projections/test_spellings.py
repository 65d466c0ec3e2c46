"""Which names may be one name in two spellings."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed_server.projections.spellings import CROWD, SHORTEST, Spellings, likeness

LIKENESS = [
    ("elena", "elenna", 2),
    ("elena", "elnea", 2),
    ("tomás", "tomas", 2),
    ("katherine", "catherine", 2),
    ("philip", "filip", 2),
    ("maria lopez", "maria lopes", 2),
    ("jonathan", "jonathon", 1),
    ("katherine", "kathrine", 1),
    ("marina", "martina", 0),
    ("daniel", "daniela", 0),
    ("anna", "anne", 0),
    ("mia", "mya", 0),
    ("elena", "elena", 0),
    ("elena", "elena ray", 0),
    ("agent 12345", "agent 12346", 0),
]


@pytest.mark.parametrize(("one", "other", "alike"), LIKENESS)
def test_likeness(one: str, other: str, alike: int) -> None:
    """Sounding the same, a vowel apart, or another name; either way round."""
    assert likeness(one, other) == likeness(other, one) == alike


def test_a_name_of_many_letters_costs_nothing() -> None:
    """It would be kept under as many other words as it has letters."""
    spellings = Spellings()
    for n in range(10):
        spellings.add(f"e{n}", "ab" * 100 + "c" * n)
    assert spellings.pairs() == {}
    assert not spellings._near


NAME = st.text("aeln", min_size=SHORTEST, max_size=SHORTEST + 3)


@settings(max_examples=100, deadline=None)
@given(st.sets(NAME, max_size=6), st.data())
def test_pairs_are_those_that_are_alike(names: set[str], data: st.DataObject) -> None:
    """Found without comparing all, in any order."""
    spellings = Spellings()
    for name in data.draw(st.permutations(sorted(names))):
        spellings.add(name, name)
    pairs = combinations(sorted(names), 2)
    assert spellings.pairs() == {(a, b): alike for a, b in pairs if (alike := likeness(a, b))}


DRAWN_OUT = ["".join(c * n for c, n in zip("elena", times, strict=True)) for times in product((1, 2), repeat=5)]


@settings(deadline=None)
@given(st.lists(st.sampled_from(DRAWN_OUT), unique=True, max_size=CROWD + 4))
def test_a_crowd_is_no_slip(names: list[str]) -> None:
    """Where many names are a letter apart none is compared, whichever came first."""
    spellings = Spellings()
    for name in names:
        spellings.add(name, name)
    count = len(names)
    assert len(spellings.pairs()) == (count * (count - 1) // 2 if count <= CROWD else 0)
