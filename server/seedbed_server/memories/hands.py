"""Threads for the code of others, which may block for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class NoHandsError(Exception):
    """Every thread is taken."""


class Hands:
    """At most ``most`` threads at a time, a new one for each piece of work.

    They are daemons, and not those of the event loop: work that never comes back
    costs its own thread, and holds up neither other work nor the server's end.
    """

    def __init__(self, most: int = 16) -> None:
        self._free = most

    async def do(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread and return what it does; its exceptions pass through.

        Raises NoHandsError at once when every thread is taken. When the wait is
        cancelled the work goes on, and nobody hears of it.
        """
        if not self._free:
            raise NoHandsError
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            self._free += 1
            if not done.done():
                done.set_result((result, error))

        def run() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001 - handed to the caller
                error = raised
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:  # the loop has ended before the work
                return

        threading.Thread(target=run, name="custom", daemon=True).start()
        self._free -= 1
        result, error = await done
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]
