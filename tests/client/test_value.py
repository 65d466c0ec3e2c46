"""The order in which recalled messages are packed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed.packing import pack, shown_from_seed
from seedbed.seeds import Item, Seed, Shown
from seedbed.value import by_value


def recalled(*sizes: int) -> list[Item]:
    """Items of so many words, best first."""
    return [
        Item(
            "vector",
            "recalled",
            f"n{at} " + "word " * size,
            role="user",
            score=1 / (at + 1),
            source_ids=(f"m{at}",),
            seq=at + 1,
        )
        for at, size in enumerate(sizes)
    ]


def packed(items: list[Item], budget: int) -> Seed:
    return pack("", [Shown("vector", by_value(items))], budget)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 300), max_size=20))
def test_nothing_is_lost_and_of_equal_length_the_better_comes_first(sizes: list[int]) -> None:
    """The same items; one is before a better one only where it is shorter."""
    items = recalled(*sizes)
    ordered = by_value(items)
    assert sorted(ordered, key=items.index) == items
    for place, item in enumerate(ordered):
        for later in ordered[place + 1 :]:
            if items.index(later) < items.index(item):
                assert len(later.text) > len(item.text)


def test_short_ones_are_equal() -> None:
    """Below a line or two, being shorter is worth nothing: the better is first."""
    items = recalled(30, 1, 20, 0)
    assert list(by_value(items)) == items


def test_several_short_hits_come_before_one_that_fills_the_budget() -> None:
    """A long best hit gives way where it would cost many good ones, and stays where there is room for all."""
    items = recalled(400, *[40] * 9)
    assert packed(items, 500).source_ids == tuple(f"m{at}" for at in range(1, 9 + 1))
    assert packed(items, 5000).source_ids == tuple(f"m{at}" for at in range(10))


def test_a_seed_from_elsewhere_is_packed_by_value_again() -> None:
    """What another memory recalled competes under a smaller budget as it did there."""
    seed = packed(recalled(400, *[40] * 9), 5000)
    again = pack("", [shown_from_seed(seed, "far")], 500)
    assert set(again.source_ids) == {f"m{at}" for at in range(1, 10)}
