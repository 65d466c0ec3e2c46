"""What is remembered of the living: never more than the log says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from seedbed import Message, Window
from seedbed_server.log import Log, NewMemory
from seedbed_server.memories import living as room
from seedbed_server.memories.living import Living

NEW = NewMemory(Window(5), "")


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    yield log
    await log.close()


async def filled(log: Log, name: str, count: int) -> list[str]:
    stored = await log.append("ns", name, "s", [Message.user(f"word {n}") for n in range(count)], create=NEW)
    return list(stored.ids)


async def test_what_was_asked_for_is_not_read_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the seqs that are new are looked up; an unknown one is not there."""
    ids = await filled(log, "m", 6)
    living, record = Living(log), await log.get("ns", "m")
    read: list[list[int]] = []
    real = log.alive

    async def alive(key: int, seqs: list[int]) -> dict[int, str]:
        read.append(list(seqs))
        return await real(key, seqs)

    monkeypatch.setattr(log, "alive", alive)
    assert await living.ids(record, [3, 1, 3]) == {1: ids[0], 3: ids[2]}
    assert await living.ids(record, (1, 2, 3)) == {1: ids[0], 2: ids[1], 3: ids[2]}
    assert read == [[1, 3], [2]]


async def test_an_erasure_is_seen_by_the_next_call(log: Log) -> None:
    """What was erased is not remembered, and what was written since is found."""
    ids = await filled(log, "m", 4)
    living = Living(log)
    assert len(await living.ids(await log.get("ns", "m"), range(1, 5))) == 4
    await log.forget("ns", "m", [ids[1]])
    more = await filled(log, "m", 1)
    found = await living.ids(await log.get("ns", "m"), range(1, 6))
    assert found == {1: ids[0], 3: ids[2], 4: ids[3], 5: more[0]}


async def test_what_is_remembered_is_bounded(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memories that were asked about least recently go first; the one in use stays, however large."""
    monkeypatch.setattr(room, "MOST", 10)
    living = Living(log)
    for name in ("a", "b", "c"):
        await filled(log, name, 6)
        await living.ids(await log.get("ns", name), range(1, 7))
    await filled(log, "d", 30)
    assert len(await living.ids(await log.get("ns", "d"), range(1, 31))) == 30
    assert len(living._memories) == 1
    assert len(await living.ids(await log.get("ns", "a"), range(1, 7))) == 6


async def test_memories_without_anything_are_bounded_too(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks about many memories leaves nothing behind for each."""
    monkeypatch.setattr(room, "MEMORIES", 2)
    living = Living(log)
    for name in "abcd":
        await living.ids(await log.create("ns", name, NEW), [])
    assert len(living._memories) == 2
