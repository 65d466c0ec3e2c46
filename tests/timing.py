"""How time grows, instead of how long it takes: a slow or busy machine fails no test."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(act: Callable[[], object], tries: int = 3) -> float:
    """The least processor time that this thread took for it."""
    took = []
    for _ in range(tries):
        begun = time.thread_time()
        act()
        took.append(time.thread_time() - begun)
    return min(took)


def is_linear(act: Callable[[str], object], text: str) -> bool:
    """Whether a text takes nowhere near sixteen times as long as its first quarter.

    A quarter that takes less than 2 ms counts as 2 ms: below that, what is fixed outweighs what grows.
    """
    quarter = text[: len(text) // 4]
    return seconds(lambda: act(text)) < 9 * max(seconds(lambda: act(quarter)), 0.002)
