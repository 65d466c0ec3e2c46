"""Many writes, one commit: what they share, and what they do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import event

from seedbed.local import LocalMemory
from seedbed.messages import Message
from seedbed.variants import Buffer, Hybrid
from seedbed_server.errors import (
    MemoryNotFoundError,
    MessageIdExistsError,
    OverloadedError,
    RequestIdReusedError,
    StorageFullError,
    StorageUnavailableError,
)
from seedbed_server.log import Appended, Log, NewMemory, changes
from seedbed_server.log.connection import Connection
from seedbed_server.log.done import Done
from tests.log.saying import NEW, begun, held, named, says


async def texts(log: Log, name: str = "m") -> list[str]:
    """The texts of a memory."""
    return [message.text for message in await log.read((await log.get("ns", name)).key, limit=10_000)]


def connection(log: Log) -> Connection:
    """The writer's connection."""
    found = log._writer._connection
    assert found is not None
    return found


def statements(log: Log) -> list[str]:
    """A list that grows with every statement the writer's SQLite runs from now on."""
    seen: list[str] = []
    driver: Any = connection(log)._driver
    driver.set_trace_callback(seen.append)
    return seen


async def test_writes_that_wait_share_a_commit(log: Log) -> None:
    """Sixteen writes that arrive during a commit take one more commit together, and few statements."""
    await log.create("ns", "m", NEW)
    seen = statements(log)
    async with held(log):
        tasks = await begun(*(log.append("ns", "m", "s", says(f"{i}", "x")) for i in range(16)))
    await asyncio.gather(*tasks)
    assert seen.count("COMMIT") == 2
    assert sum("INSERT INTO message" in statement for statement in seen) == 4
    assert [text for text in await texts(log) if text != "x"] == [f"{i}" for i in range(16)]


async def test_a_group_over_many_memories(log: Log) -> None:
    """Three hundred memories written at once, made and then met again, with requests: each has its own."""
    for round_ in (0, 1):
        async with held(log):
            tasks = await begun(
                *(log.append("ns", f"m{i}", "s", says(f"{i}"), request_id=f"r{round_}", create=NEW) for i in range(300))
            )
        stored = await asyncio.gather(*tasks)
        assert {one.first_seq for one in stored} == {round_ + 1}
        again = await asyncio.gather(
            *(log.append("ns", f"m{i}", "s", says(f"{i}"), request_id=f"r{round_}") for i in range(300))
        )
        assert again == stored
    assert [await texts(log, f"m{i}") for i in (0, 7, 299)] == [["0", "0"], ["7", "7"], ["299", "299"]]


async def test_batches_of_one_group_see_each_other(log: Log) -> None:
    """An id stored by one is taken for the next, a memory made by one is there for the next, a request is known."""
    async with held(log):
        tasks = await begun(
            log.append("ns", "m", "s", says("x")),
            log.append("ns", "m", "s", named("a"), request_id="r", create=NEW),
            log.append("ns", "m", "s", [*says("x"), *named("a")], create=NEW),
            log.append("ns", "m", "s", named("b")),
            log.append("ns", "m", "s", named("a"), request_id="r", create=NEW),
            log.append("ns", "m", "s", says("x"), request_id="r"),
        )
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(answers[0], MemoryNotFoundError)
    assert isinstance(answers[2], MessageIdExistsError)
    assert isinstance(answers[5], RequestIdReusedError)
    first, second = answers[1], answers[3]
    assert isinstance(first, Appended)
    assert isinstance(second, Appended)
    assert first == answers[4]
    assert (first.created, first.first_seq, second.created, second.first_seq) == (True, 1, False, 2)
    assert await texts(log) == ["a", "b"]


async def test_a_fault_among_batches_of_one_group(log: Log) -> None:
    """A batch whose new memory cannot be stored fails alone, although it was to be written with the others."""
    await log.create("ns", "m", NEW)
    impossible = NewMemory(Hybrid(LocalMemory(Buffer())), "")
    async with held(log):
        tasks = await begun(
            log.append("ns", "m", "s", says("one")),
            log.append("ns", "n", "s", says("lost"), create=impossible),
            log.append("ns", "m", "s", says("two")),
        )
    _, fault, _ = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(fault, TypeError)
    assert await texts(log) == ["one", "two"]
    assert [record.name for record in await log.list("ns", "", 10)] == ["m"]


async def test_one_writer_gets_a_commit_for_each_write(log: Log) -> None:
    """Nobody waits for company: a write alone is committed at once."""
    await log.create("ns", "m", NEW)
    seen = statements(log)
    for _ in range(5):
        await log.append("ns", "m", "s", says("x"))
    assert seen.count("COMMIT") == 5


async def test_commits_are_synced(log: Log) -> None:
    """The writer's connection has the settings that make a commit durable and an erasure thorough."""
    values = {
        name: connection(log).command(f"PRAGMA {name}")[0][0]
        for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
    }
    full, on = 2, 1
    assert values == {"journal_mode": "wal", "synchronous": full, "secure_delete": on, "foreign_keys": on}


async def test_a_job_that_is_refused_fails_alone(log: Log) -> None:
    """Its neighbours in the transaction are stored, without a gap where it was."""
    await log.append("ns", "m", "s", named("a"), create=NEW)
    async with held(log):
        tasks = await begun(
            log.append("ns", "m", "s", says("one")),
            log.append("ns", "m", "s", [*says("lost"), *named("a")]),
            log.append("ns", "none", "s", says("lost")),
            log.append("ns", "m", "s", says("two")),
        )
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(answer) for answer in answers[1:3]] == [MessageIdExistsError, MemoryNotFoundError]
    assert await texts(log) == ["a", "one", "two"]
    assert (await log.get("ns", "m")).last_seq == 3


async def test_a_job_that_breaks_after_writing_fails_alone(log: Log) -> None:
    """What it had written is undone, its fault reaches only its caller, and no listener hears of it."""
    await log.create("ns", "m", NEW)
    told: list[int] = []
    log.on_change.append(told.append)

    def breaks(c: Connection) -> Done[None]:
        changes.create(c, "ns", "half", NEW)
        changes.clear(c, "ns", "m", "")
        raise ZeroDivisionError

    async with held(log):
        before = await begun(log.append("ns", "m", "s", says("one")))
        broken = asyncio.create_task(log._writer.submit(breaks))
        await asyncio.sleep(0)
        after = await begun(log.append("ns", "m", "s", says("two")))
    with pytest.raises(ZeroDivisionError):
        await broken
    await asyncio.gather(*before, *after)
    assert await texts(log) == ["one", "two"]
    assert [record.name for record in await log.list("ns", "", 10)] == ["m"]
    assert told == [(await log.get("ns", "m")).key]


async def test_a_commit_that_fails_fails_all(log: Log) -> None:
    """Nobody of the group is told that it is stored, nothing is, and the next write works."""
    stored = await log.append("ns", "m", "s", says("before"), create=NEW)
    told: list[int] = []
    log.on_change.append(told.append)

    def spoils_the_commit(c: Connection) -> Done[None]:
        c.command("PRAGMA defer_foreign_keys=ON")
        c.command("INSERT INTO head VALUES (999, 0, 0, 0)")  # of no memory: found out at COMMIT
        return Done(None, None)

    async with held(log):
        tasks = await begun(*(log.append("ns", "m", "s", says("lost"), request_id=f"{i}") for i in range(3)))
        spoiler = asyncio.create_task(log._writer.submit(spoils_the_commit))
        await asyncio.sleep(0)
    answers = await asyncio.gather(*tasks, spoiler, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StorageUnavailableError] * 4
    assert told == []
    assert await texts(log) == ["before"]
    again = await log.append("ns", "m", "s", says("after"), request_id="0")
    assert again.first_seq == stored.last_seq + 1


async def test_a_full_disk(log: Log) -> None:
    """The write that does not fit says that the disk is full; its neighbours are stored; then there is room again."""
    large = [Message.user("x" * 200_000)]
    await log.append("ns", "m", "s", says("before"), create=NEW)
    ((pages,),) = connection(log).command("PRAGMA page_count")
    limit = f"PRAGMA max_page_count={pages + 4}"
    connection(log).command(limit)

    def limited(driver: Any, _: object) -> None:
        driver.execute(limit)

    engine = log._writer._database.engine
    event.listen(engine, "connect", limited)
    async with held(log):
        tasks = await begun(
            log.append("ns", "m", "s", says("one")),
            log.append("ns", "m", "s", large, request_id="r"),
            log.append("ns", "m", "s", says("two")),
        )
    one, full, two = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(full, StorageFullError)
    assert not isinstance(one, BaseException)
    assert not isinstance(two, BaseException)
    assert (one.first_seq, two.first_seq) == (2, 3)
    assert await texts(log) == ["before", "one", "two"]
    with pytest.raises(StorageFullError):
        await log.append("ns", "m", "s", large, request_id="r")
    event.remove(engine, "connect", limited)
    assert (await log.append("ns", "m", "s", large, request_id="r")).first_seq == 4


async def test_a_write_given_up_before_it_begins(log: Log) -> None:
    """A cancelled caller's write is not carried out; one that had begun is."""
    await log.create("ns", "m", NEW)
    async with held(log):
        first, second, third = await begun(*(log.append("ns", "m", "s", says(f"{i}")) for i in range(3)))
        second.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(first, third)
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await texts(log) == ["0", "2"]


async def test_a_write_given_up_after_it_began(log: Log) -> None:
    """It is stored whole, and listeners hear of it although nobody waits."""
    await log.create("ns", "m", NEW)
    key = (await log.get("ns", "m")).key
    told: list[int] = []
    log.on_change.append(told.append)
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def announces(c: Connection) -> Done[object]:
        done = changes.clear(c, "ns", "m", "")
        loop.call_soon_threadsafe(entered.set)
        return Done(done.answer, key)

    task = asyncio.create_task(log._writer.submit(announces))
    await entered.wait()
    task.cancel()
    await log.append("ns", "m", "s", says("x"))
    assert told[0] == key


async def test_too_many_waiting(url: str) -> None:
    """Over the bound a write is refused at once, and those that wait are carried out."""
    log = await Log.open(url, max_waiting=2)
    await log.create("ns", "m", NEW)
    async with held(log):
        tasks = await begun(*(log.append("ns", "m", "s", says(f"{i}")) for i in range(2)))
        with pytest.raises(OverloadedError):
            await log.append("ns", "m", "s", says("refused"))
    await asyncio.gather(*tasks)
    assert await texts(log) == ["0", "1"]
    await log.close()


async def test_a_read_that_fails_spoils_no_other(log: Log) -> None:
    """After a read that the database refuses, in any of the threads, reads work."""
    await log.append("ns", "m", "s", says("x"), create=NEW)

    def refused(c: Connection) -> None:
        c.command("SELECT * FROM missing")

    for _ in range(8):
        with pytest.raises(StorageUnavailableError):
            await log._readers.run(refused)
    found = await asyncio.gather(*(texts(log) for _ in range(8)))
    assert found == [["x"]] * 8


async def test_the_event_loop_runs_while_the_log_works(log: Log) -> None:
    """A writer that is stuck on its disk delays neither the loop nor a read."""
    await log.append("ns", "m", "s", says("x"), create=NEW)
    async with held(log):
        waiting = await begun(log.append("ns", "m", "s", says("y")))
        assert await asyncio.wait_for(texts(log), 40) == ["x"]
        assert not waiting[0].done()
    await asyncio.gather(*waiting)
