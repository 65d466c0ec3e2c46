"""Work in a thread that nobody leaves alone with what it reads or changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def undivided(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread, to its end also when the caller is cancelled.

    So nothing is left half changed, nor read by a thread that nobody waits for.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()
