"""What is known of a memory without reading is what reading would find."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed.variants import Buffer, Window
from seedbed_server.errors import MemoryNotFoundError
from seedbed_server.log import Log, NewMemory, known
from seedbed_server.log.known import KnownRecords

NEW = NewMemory(Buffer(), "")


async def test_every_change_is_seen_by_the_next_look(tmp_path: Path) -> None:
    """Writes, imports, settings, erasures and deletion: the record is never older than an answered call."""
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    try:
        for round_ in range(2):
            await log.append("n", "m", "s", [Message.user("one"), Message.user("two")], create=NEW)
            assert (await log.get("n", "m")).last_seq == 2
            await log.import_messages("n", "m", [Message("user", ("three",), id="i3", session="s")])
            record = await log.get("n", "m")
            assert (record.last_seq, record.message_count) == (3, 3)
            await log.update("n", "m", variant=Window(3))
            assert (await log.get("n", "m")).variant == Window(3)
            await log.forget("n", "m", ["i3"])
            assert (await log.get("n", "m")).message_count == 2
            await log.clear("n", "m")
            assert (await log.get("n", "m")).message_count == 0
            await log.delete("n", "m")
            with pytest.raises(MemoryNotFoundError):
                await log.get("n", "m")
            assert round_ < 2
    finally:
        await log.close()


async def test_looks_beside_writes_never_go_back(tmp_path: Path) -> None:
    """Readers of all kinds of timing see the seq of every write that was answered before they asked."""
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    answered = 0

    async def write() -> None:
        nonlocal answered
        for _ in range(150):
            answered = (await log.append("n", "m", "s", [Message.user("x")], create=NEW)).last_seq

    async def look(pause: float) -> None:
        while not writing.done():
            before = answered
            if before:
                assert (await log.get("n", "m")).last_seq >= before
            await asyncio.sleep(pause)

    try:
        writing = asyncio.create_task(write())
        await asyncio.gather(writing, *(look(pause) for pause in (0.0002, 0.0005, 0.001, 0.003)))
        assert (await log.get("n", "m")).last_seq == 150
    finally:
        await log.close()


async def test_a_record_read_during_a_change_is_not_kept_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two ways in which a record is not there any more."""
    monkeypatch.setattr(known, "MOST", 2)
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    records = [await log.create("n", name, NEW) for name in "abc"]
    await log.close()
    kept = KnownRecords()
    before = kept.changes
    kept.changed(99)
    kept.keep(records[0], before)
    assert kept.get("n", "a") is None
    for record in records[:2]:
        kept.keep(record, kept.changes)
    assert kept.get("n", "a") is records[0]
    kept.keep(records[2], kept.changes)
    assert [kept.get("n", name) for name in "abc"] == [records[0], None, records[2]]
    kept.changed(records[1].key)
    kept.changed(records[2].key)
    assert [kept.get("n", name) for name in "abc"] == [records[0], None, None]
