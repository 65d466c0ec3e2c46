"""Laws of the projector's scheduling.

The projection here is a plain in-test one, so that failures can be placed
exactly: it keeps (key, seq, text) rows in the real derived store.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed.messages import Media, Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.projections import worker
from seedbed_server.projections.contract import Backoff, Batch, Prepared, Projection, StoreLostError
from seedbed_server.projections.derived import ASIDE, FILE, Derived
from seedbed_server.projections.projector import Projector

from .source import ListLog

Rows = list[tuple[int, int, str]]
QUICK = Backoff(0.001, 0.01)


class Notes(Projection[Rows]):
    names = ("notes",)
    schema = "CREATE TABLE IF NOT EXISTS notes (key INTEGER, seq INTEGER, text TEXT, PRIMARY KEY (key, seq));"
    batch_messages = 16
    fingerprint = "notes-1"

    def __init__(self, derived: Derived, on_prepare: Callable[[Sequence[Batch]], None] = lambda _: None) -> None:
        self.derived = derived
        self.on_prepare = on_prepare
        self.calls: list[list[tuple[int, int]]] = []
        self.delay = 0.0
        self.ahead: list[int] = []
        self.opened: list[Exception] = []

    async def open(self) -> None:
        if self.opened:
            raise self.opened.pop()

    async def prepare(self, batches: Sequence[Batch]) -> Prepared[Rows]:
        self.on_prepare(batches)
        self.calls.append([(b.key, m.seq) for b in batches for m in b.messages])
        await asyncio.sleep(self.delay)
        return Prepared([(b.key, m.seq, m.text) for b in batches for m in b.messages])

    async def store(self, prepared: Prepared[Rows]) -> None:
        self.ahead.append(len(self.calls))

    def commit(self, db: sqlite3.Connection, prepared: Prepared[Rows]) -> None:
        db.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", prepared.rows)

    async def forget(self, key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        rows = [(key, seq) for seq in seqs]
        delete = "DELETE FROM notes WHERE key = ? AND seq = ?"
        return {"notes": await self.derived.write(lambda db: db.executemany(delete, rows).rowcount)}

    async def drop(self, key: int) -> Mapping[str, int]:
        return {
            "notes": await self.derived.write(lambda db: db.execute("DELETE FROM notes WHERE key=?", (key,)).rowcount)
        }

    async def rows(self) -> list[tuple[int, int, str]]:
        return await self.derived.read(lambda db: db.execute("SELECT * FROM notes ORDER BY key, seq").fetchall())


@pytest.fixture(autouse=True)
def looks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has nothing to do looks at its store when the test says so."""
    monkeypatch.setattr(worker, "LOOK_AGAIN", 1000.0)


class Room:
    """A log, a derived store and a projector, which can be stopped and opened again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ListLog()
        self.derived: Derived
        self.notes: Notes
        self.projector: Projector
        self.running = False

    async def open(self, on_prepare: Callable[[Sequence[Batch]], None] = lambda _: None) -> None:
        self.derived = await Derived.open(self.folder, [Notes.schema])
        self.notes = Notes(self.derived, on_prepare)
        self.projector = Projector(
            self.log, self.derived, [self.notes], is_echo=lambda m: m.text.startswith("echo"), backoff=QUICK
        )
        self.log.on_change = [self.projector.changed]
        self.running = True
        await self.projector.start()

    async def close(self) -> None:
        if not self.running:
            return
        self.running = False
        self.log.on_change = []
        await self.projector.stop()
        await self.derived.close()

    async def settled(self) -> None:
        for head in await self.log.heads():
            assert await self.projector.wait_applied(head.key, head.last_seq, timeout=60)
        if self.log.erased:
            assert await self.projector.wait_erased(self.log.erased[-1].id, 60) is not None

    def expected(self) -> list[tuple[int, int, str]]:
        alive = ((k, m) for k, kept in sorted(self.log.memories.items()) for m in kept if m is not None)
        return [(k, m.seq, m.text) for k, m in alive if m.text.strip() and not m.text.startswith("echo")]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.001)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    await room.open()
    yield room
    await room.close()


async def test_every_message_is_applied_once_and_blanks_are_passed(room: Room) -> None:
    """Rows are the messages with text; media, tool calls, blanks and echoes move the cursor only."""
    image = Message("user", (Media("image/png", "https://example.com/a.png"),))
    room.log.append(1, "one", "\u200b ", "echo of one", image, "two")
    await room.settled()
    assert await room.notes.rows() == [(1, 1, "one"), (1, 5, "two")]
    assert room.projector.applied(1) == {"notes": 5}
    assert room.projector.skipped(1) == {"notes": 0}
    assert [seq for call in room.notes.calls for _, seq in call] == [1, 5]


async def test_a_write_while_messages_are_read_is_not_forgotten(room: Room) -> None:
    """What is written after the memory's end was looked up, and before its messages are taken, is applied as well."""
    room.log.append(1, "one")
    await room.settled()

    def write() -> None:
        room.log.reading = lambda: None
        room.log.append(1, *[f"more {i}" for i in range(40)])

    room.log.reading = write
    room.log.append(1, "two")
    await until(lambda: len(room.log.memories[1]) == 42)
    await room.settled()
    assert await room.notes.rows() == room.expected()


async def test_many_small_memories_share_a_call(room: Room) -> None:
    """A hundred memories of one message each take no more calls than their messages fill."""
    await until(lambda: room.projector.status()[0].state == "idle")
    for key in range(1, 101):
        room.log.append(key, f"only message of {key}")
    await room.settled()
    assert len(room.notes.calls) <= 8
    assert await room.notes.rows() == room.expected()


async def test_a_flood_does_not_starve_others(room: Room) -> None:
    """A message written to another memory during a flood is applied within two batches."""
    room.notes.delay = 0.01
    room.log.append(1, *[f"flood {i}" for i in range(2000)])
    assert await room.projector.wait_applied(1, 40)
    at = len(room.notes.calls)
    room.log.append(2, "hello")
    assert await room.projector.wait_applied(2, 1)
    assert len(room.notes.calls) - at <= 3
    assert room.projector.applied(1)["notes"] < 300


async def test_storing_overlaps_preparing(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a batch is stored, the next one is being prepared: here no store ends before."""
    store = room.notes.store

    async def held(prepared: Prepared[Rows]) -> None:
        last = min(len(room.notes.ahead) + 2, 16)
        await until(lambda: len(room.notes.calls) == last)
        await store(prepared)

    monkeypatch.setattr(room.notes, "store", held)
    room.log.append(1, *[f"m {i}" for i in range(16 * 16)])
    await room.settled()
    assert room.notes.ahead == [*range(2, 17), 16]


@pytest.mark.parametrize("where", ["prepare", "store", "commit"])
async def test_a_poison_message_is_passed_and_counted(room: Room, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message that always fails is skipped, wherever it fails; all others are applied."""

    def poison(texts: Iterable[str]) -> None:
        if "poison" in texts:
            raise ValueError("poison")

    if where == "prepare":
        room.notes.on_prepare = lambda batches: poison(m.text for b in batches for m in b.messages)
    elif where == "store":

        async def store(prepared: Prepared[Rows]) -> None:
            poison(text for _, _, text in prepared.rows)

        monkeypatch.setattr(room.notes, "store", store)
    else:
        commit = room.notes.commit

        def fail(db: sqlite3.Connection, prepared: Prepared[Rows]) -> None:
            commit(db, prepared)
            poison(text for _, _, text in prepared.rows)

        monkeypatch.setattr(room.notes, "commit", fail)
    room.log.append(1, *["poison" if i == 20 else f"m {i}" for i in range(50)])
    room.log.append(2, *[f"other {i}" for i in range(5)])
    await room.settled()
    assert await room.notes.rows() == [row for row in room.expected() if row[2] != "poison"]
    assert room.projector.skipped(1) == {"notes": 1}
    assert room.projector.status()[0].skipped == 1


async def test_a_message_that_kills_its_part_is_passed(room: Room) -> None:
    """A part that goes down over one message alone loses that message only."""

    def killed(batches: Sequence[Batch]) -> None:
        if any(m.text == "killer" for b in batches for m in b.messages):
            raise PartUnavailableError("tagger")

    room.notes.on_prepare = killed
    room.log.append(1, "a", "b", "killer", "c")
    await room.settled()
    assert [text for _, _, text in await room.notes.rows()] == ["a", "b", "c"]
    assert room.projector.skipped(1) == {"notes": 1}


async def test_a_part_that_is_down_is_waited_for(room: Room) -> None:
    """While a part is down nothing is lost or skipped, and the state says so."""
    down, tries = True, 0

    def check(_: Sequence[Batch]) -> None:
        nonlocal tries
        tries += 1
        if down:
            raise PartUnavailableError("encoder")

    room.notes.on_prepare = check
    room.log.append(1, *[f"m {i}" for i in range(40)])
    await until(lambda: tries > 20)
    assert room.projector.applied(1) == {"notes": 0}
    state = room.projector.status()[0]
    assert (state.state, state.waiting_for) == ("waiting", "encoder")
    down = False
    await room.settled()
    assert await room.notes.rows() == room.expected()
    assert room.projector.skipped(1) == {"notes": 0}


async def test_a_lost_store_is_filled_again(room: Room) -> None:
    """When the store outside is found to be another one, everything is applied anew, without what was there."""
    room.log.append(1, *[f"m {i}" for i in range(40)])
    await room.settled()
    room.notes.opened = [StoreLostError()]
    await room.derived.write(lambda db: db.execute("INSERT INTO notes VALUES (1, 99, 'left over')"))

    def lost(_: Sequence[Batch]) -> None:
        room.notes.on_prepare = lambda _: None
        raise StoreLostError

    room.notes.on_prepare = lost
    room.log.append(1, "one more")
    await room.settled()
    assert await room.notes.rows() == room.expected()
    assert len([1 for call in room.notes.calls for seq in call if seq == (1, 1)]) == 2


async def test_a_store_that_is_lost_while_nothing_is_done(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is filled again, though nobody writes."""
    room.log.append(1, "one", "two")
    await room.settled()
    monkeypatch.setattr(worker, "LOOK_AGAIN", 0.02)
    room.log.append(2, "wakes it once, so that it looks sooner")
    await room.settled()
    calls = len(room.notes.calls)
    room.notes.opened = [StoreLostError()]
    async with asyncio.timeout(60):
        while len(room.notes.calls) == calls:
            await asyncio.sleep(0.01)
    await room.settled()
    assert await room.notes.rows() == room.expected()


async def test_a_lost_store_that_cannot_be_set_back_yet(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the cursors of a lost store cannot be written either, the projection goes on as soon as they can."""
    room.log.append(1, "one")
    await room.settled()
    write, refused = room.derived.write, asyncio.Event()

    async def refuse(_: object) -> None:
        refused.set()
        raise PartUnavailableError("derived")

    def lost(_: Sequence[Batch]) -> None:
        room.notes.on_prepare = lambda _: None
        monkeypatch.setattr(room.derived, "write", refuse)
        raise StoreLostError

    room.notes.on_prepare = lost
    room.log.append(1, "two")
    await asyncio.wait_for(refused.wait(), 60)
    monkeypatch.setattr(room.derived, "write", write)
    await room.settled()
    assert [call for call in room.notes.calls if (1, 1) in call][1:]
    assert await room.notes.rows() == room.expected()


async def test_rebuild_of_one_memory(room: Room) -> None:
    """Its rows are made anew, those of others are left alone."""
    room.log.append(1, "a", "b")
    room.log.append(2, "c")
    await room.settled()
    room.notes.calls.clear()
    await room.projector.rebuild(1, ["notes"])
    await room.settled()
    assert sorted(seq for call in room.notes.calls for seq in call) == [(1, 1), (1, 2)]
    await room.projector.rebuild()
    await room.settled()
    assert await room.notes.rows() == room.expected()


async def test_a_rebuild_does_not_wait_for_a_part(room: Room) -> None:
    """It is committed while the store cannot be opened, and carried out when it can."""
    room.log.append(1, "a", "b")
    await room.settled()
    room.notes.opened = [PartUnavailableError("shelf") for _ in range(10_000)]
    room.notes.on_prepare = _unavailable
    room.log.append(1, "c")
    async with asyncio.timeout(60):
        await room.projector.rebuild(1)
    assert room.projector.applied(1) == {"notes": 0}
    assert room.notes.opened
    room.notes.opened.clear()
    room.notes.on_prepare = lambda _: None
    await room.settled()
    assert await room.notes.rows() == room.expected()


def _unavailable(_: Sequence[Batch]) -> None:
    raise PartUnavailableError("shelf")


async def test_deleted_memory_leaves_nothing(room: Room) -> None:
    """Its rows and its cursor go, and the receipt counts them."""
    room.log.append(1, "a", "b")
    room.log.append(2, "c")
    await room.settled()
    assert await room.projector.wait_erased(room.log.delete(1)) == {"notes": 2}
    assert await room.notes.rows() == [(2, 1, "c")]
    assert room.projector.applied(1) == {"notes": 0}


@pytest.mark.parametrize("damage", ["cut", "noise", "flipped", "other tables"])
async def test_a_damaged_file_is_set_aside_and_made_again(room: Room, damage: str) -> None:
    """Whatever happened to the file while closed, it opens and is complete again, and erasures remove what was kept."""
    room.log.append(1, *[f"message number {i} of many" for i in range(300)])
    await room.settled()
    await room.close()
    file = room.folder / FILE
    content = bytearray(file.read_bytes())
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "noise":
        file.write_bytes(b"not a database" * 100)
    elif damage == "flipped":
        content[4096:] = bytes(b ^ 0x55 for b in content[4096:])
        file.write_bytes(content)
    else:
        sqlite3.connect(file, isolation_level=None).execute("UPDATE meta SET value = 'older' WHERE name = 'schema'")
    await room.open()
    await room.settled()
    assert await room.notes.rows() == room.expected()
    assert (room.folder / (FILE + ASIDE)).exists()
    await room.projector.wait_erased(room.log.forget(1, 5))
    assert not (room.folder / (FILE + ASIDE)).exists()


async def test_a_file_damaged_while_open_is_made_again(room: Room) -> None:
    """Damage that shows only in use is noticed there, and repaired without a restart."""
    room.log.append(1, *[f"message number {i} of many, with some more words" for i in range(2000)])
    await room.settled()
    await room.derived.scrub()
    generation = room.derived.generation
    begun_anew, entered, release = asyncio.Event(), threading.Event(), threading.Event()
    room.derived.on_reset.append(begun_anew.set)

    def hold(_: sqlite3.Connection) -> None:
        entered.set()
        release.wait(60)

    # So held, it cannot begin anew before both reads have met the damage.
    writing = asyncio.create_task(room.derived.write(hold))
    await asyncio.to_thread(entered.wait, 60)
    size = (room.folder / FILE).stat().st_size
    with (room.folder / FILE).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xaa" * (size - 4096))
    for _ in range(2):
        with pytest.raises(PartUnavailableError):
            await room.notes.rows()
    release.set()
    await writing
    async with asyncio.timeout(60):
        await begun_anew.wait()
    assert room.derived.generation != generation
    await room.settled()
    assert await room.notes.rows() == room.expected()


@pytest.mark.parametrize("obstacle", ["a file for the folder", "a folder for the file"])
async def test_a_store_that_cannot_be_opened_is_tried_again(
    room: Room, obstacle: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It opens all the same, answers that it is unavailable, and is complete soon after it can be used."""
    room.log.append(1, "one", "two")
    await room.settled()
    await room.close()
    away = room.folder.with_name(f"{room.folder.name} away")
    room.folder.rename(away)
    if obstacle == "a file for the folder":
        room.folder.touch()
    else:
        (room.folder / FILE).mkdir(parents=True)
    await room.open()
    for _ in range(2):
        with pytest.raises(PartUnavailableError):
            await room.notes.rows()
        with pytest.raises(PartUnavailableError):
            await room.derived.write(lambda db: db.execute("SELECT 1"))
    room.log.append(1, "three")
    await until(lambda: room.projector.status()[0].waiting_for == "derived")
    assert room.projector.status()[0].state == "waiting"
    assert not await room.projector.wait_applied(1, 1, timeout=0.1)
    assert sum("cannot be used" in record.message for record in caplog.records) == 1

    def clear_the_way() -> None:
        room.folder.rename(room.folder.with_name(f"{room.folder.name} obstacle"))
        away.rename(room.folder)

    # In the thread that tries to open it again and again: between the two it would make a folder of its own.
    await room.derived._in(room.derived._writer, clear_the_way)
    await room.settled()
    assert await room.notes.rows() == room.expected()
    assert [seq for call in room.notes.calls for _, seq in call] == [3]


async def test_what_is_erased_is_not_erased_again(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither after a rebuild, nor one by one in a store that is new: each memory is dropped there once."""
    room.log.append(1, *[f"m {i}" for i in range(40)])
    for seq in range(1, 31):
        room.log.forget(1, seq)
    await room.settled()
    calls: list[int] = []
    forget = room.notes.forget

    async def forgetting(key: int, seqs: Sequence[int]) -> Mapping[str, int]:
        calls.append(key)
        return await forget(key, seqs)

    monkeypatch.setattr(room.notes, "forget", forgetting)
    await room.projector.rebuild()
    await room.settled()
    assert calls == []

    def lost(_: Sequence[Batch]) -> None:
        room.notes.on_prepare = lambda _: None
        raise StoreLostError

    room.notes.on_prepare = lost
    room.log.append(1, "one more")
    await room.settled()
    assert await room.projector.wait_erased(30, 60) is not None
    assert calls == [1]
    assert await room.notes.rows() == room.expected()


STEP = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3), st.integers(1, 9)),
    st.tuples(st.just("forget"), st.integers(1, 3), st.integers(0, 10**6)),
    st.tuples(st.just("delete"), st.integers(1, 3), st.just(0)),
    st.tuples(st.just("rebuild"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
    st.tuples(st.just("fail"), st.just(0), st.integers(1, 3)),
    st.tuples(st.just("pause"), st.just(0), st.just(0)),
)


async def step(room: Room, what: str, key: int, n: int) -> None:
    """One thing that happens to a room; ``key`` and ``n`` choose among what is there."""
    keys = sorted(room.log.memories)
    target = keys[key % len(keys)] if keys else 0
    if what == "append":
        used = [*keys, *(erasure.key for erasure in room.log.erased), 0]
        room.log.append(target if keys and n < 9 else max(used) + 1, *"abcdefghi"[:n])
    elif what == "forget" and keys:
        alive = [m.seq for m in room.log.memories[target] if m is not None]
        room.log.forget(target, *alive[n % len(alive) :][:2] if alive else [])
    elif what == "delete" and keys:
        room.log.delete(target)
    elif what == "rebuild":
        await room.projector.rebuild(target or None)
    else:
        await asyncio.sleep(0.003)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEP, max_size=25))
async def test_rows_are_a_function_of_the_log(
    steps: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is written, erased, rebuilt, failed or cut short: in the end the rows are the log's messages alive."""
    room = Room(tmp_path_factory.mktemp("room"))
    failures = [0]

    def maybe(_: Sequence[Batch]) -> None:
        if failures[0]:
            failures[0] -= 1
            raise PartUnavailableError("encoder")

    await room.open(maybe)
    for what, key, n in steps:
        if what == "restart":
            await room.close()
            await room.open(maybe)
        elif what == "fail":
            failures[0] = n
        else:
            await step(room, what, key, n)
    await room.settled()
    assert await room.notes.rows() == room.expected()
    await room.close()
