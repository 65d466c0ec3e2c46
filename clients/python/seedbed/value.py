"""The order in which recalled messages are packed: by what each is worth for the tokens that it takes."""

from __future__ import annotations

from collections.abc import Sequence

from seedbed.frame import quote
from seedbed.seeds import Item
from seedbed.tokens import count

# The hit at rank r, from 0, is worth 1 / (r + 10): the first ten are likely to help nearly alike. Below 60 tokens
# shorter is not better: what is that short rarely says all of an answer. Measured: docs/recall.md.
_FLAT = 10
_SHORT = 60


def by_value(items: Sequence[Item]) -> tuple[Item, ...]:
    """Order recalled items, which come best first, by value per token, most valuable first.

    Where all fit, this changes nothing: the packer puts them in the order of
    time. Where they do not, several short ones come before one that is long.
    """
    values = [1 / (rank + _FLAT) / max(count(quote(item)), _SHORT) for rank, item in enumerate(items)]
    return tuple(items[at] for at in sorted(range(len(items)), key=lambda at: -values[at]))
