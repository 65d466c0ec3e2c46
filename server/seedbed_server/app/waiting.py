"""Waiting, from outside, until the derived stores have caught up with a memory."""

from __future__ import annotations

import time

from seedbed import Client

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5


def wait_applied(client: Client, memory: str, patience: float = 3600.0) -> None:
    """Return once every derived store has applied the memory's newest message.

    Raises TimeoutError after ``patience`` seconds.
    """
    give_up = time.monotonic() + patience
    pause = _FIRST_PAUSE
    while True:
        status = client.status(memory)
        if all(projection.applied_seq >= status.last_seq for projection in status.projections):
            return
        if time.monotonic() > give_up:
            raise TimeoutError
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
