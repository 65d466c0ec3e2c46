"""Small words for the tests of the log."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Log, NewMemory
from seedbed_server.log.connection import Connection
from seedbed_server.log.done import Done

T = TypeVar("T")

NEW = NewMemory(Buffer(), "Be kind.")


def says(*texts: str) -> list[Message]:
    """Messages of a user."""
    return [Message.user(text) for text in texts]


def named(*ids: str, session: str = "s") -> list[Message]:
    """Messages with ids of the caller's own, whose text is the id."""
    return [Message("user", (i,), id=i, session=session) for i in ids]


@asynccontextmanager
async def held(log: Log) -> AsyncIterator[None]:
    """Hold the writer thread inside a transaction: what is submitted meanwhile becomes one group."""
    entered, release = threading.Event(), threading.Event()

    def hold(_: Connection) -> Done[None]:
        entered.set()
        release.wait(60)
        return Done(None, None)

    holding = asyncio.create_task(log._writer.submit(hold))
    assert await asyncio.to_thread(entered.wait, 60)
    try:
        yield
    finally:
        release.set()
        await holding


async def begun(*calls: Coroutine[Any, Any, T]) -> list[asyncio.Task[T]]:
    """Start calls and let each of them reach the writer's queue, in order."""
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0)
    return tasks
