"""What is noted is listed; it is bounded, and it costs nobody anything but itself."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.recall_log import recall_log
from seedbed_server.recall_log.file import RecallFile

from .conftest import Desk


async def test_what_is_noted_is_listed_by_the_next_call_newest_first(desk: Desk) -> None:
    noted = [desk.note(f"m{n}", "m0") for n in range(5)]
    assert await desk.queries() == noted[::-1]
    (newest, *_) = await desk.recalls.page(desk.key, limit=1)
    assert [piece.ids for piece in newest.entry.pieces] == [("m4",), ("m0",)]
    assert newest.seqs == [1, 5]


async def test_pages_and_sessions(desk: Desk) -> None:
    """A page begins below a number; numbers count within a memory and tell nothing of others."""
    other = await desk.write("x", name="other")
    noted = []
    for n in range(20):
        noted.append(desk.note("m1", session="ab"[n % 2]))
        desk.note("x", key=other)
    found = []
    before = None
    while page := await desk.recalls.page(desk.key, before=before, limit=7):
        found += page
        before = page[-1].number
    assert [one.entry.query for one in found] == noted[::-1]
    assert [one.number for one in found] == list(range(20, 0, -1))
    assert await desk.queries(session="a") == noted[::2][::-1]
    assert await desk.queries(session="no such") == []


async def test_it_is_written_within_a_second_without_being_asked(desk: Desk) -> None:
    desk.note("m1", query="quillwort")
    async with asyncio.timeout(60):
        while not desk.files_with("quillwort"):
            await asyncio.sleep(0.02)
    assert desk.files_with("text of m1") == ["log.db-wal"]
    assert [name for name in desk.files_with("m1") if name.startswith(recall_log.FILE)] == []


async def test_only_the_newest_are_kept_of_each_memory(tmp_path: Path) -> None:
    desk = await Desk(tmp_path, kept=3).open()
    desk.key = await desk.write("m")
    other = await desk.write("x", name="other")
    noted = [desk.note("m") for _ in range(10)]
    single = desk.note("x", key=other)
    assert await desk.queries() == noted[:-4:-1]
    noted.append(desk.note("m"))
    assert await desk.queries() == noted[:-4:-1]
    assert await desk.queries(other) == [single]
    await desk.close()
    desk.kept = 2
    await desk.open()
    assert await desk.queries() == noted[:-3:-1]
    await desk.close()


async def test_the_oldest_of_all_memories_go_when_the_file_is_full(tmp_path: Path) -> None:
    desk = await Desk(tmp_path, kept=100_000, most_bytes=2**20).open()
    keys = [await desk.write("m", name=f"memory {n}") for n in range(10)]
    noted = []
    for n in range(3000):
        noted.append(desk.note("m", key=keys[n % 10], query=f"{n} " + "q" * 1000))
        if n % 500 == 499:
            await desk.recalls.follow()
    left = [query for key in keys for query in await desk.queries(key)]
    assert 300 < len(left) < 1000
    assert set(left) == set(noted[-len(left) :])
    assert (tmp_path / recall_log.FILE).stat().st_size < 2 * 2**20
    await desk.close()


async def test_a_full_queue_drops_and_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_log, "MOST_WAITING", 5)
    noted = [desk.note("m1") for _ in range(9)]
    assert desk.recalls.dropped == 4
    assert await desk.queries() == noted[4::-1]
    assert desk.recalls.detail == "5 entries, 4 dropped"
    monkeypatch.setattr(recall_log, "MOST_WAITING_BYTES", 100_000)
    for _ in range(3):
        desk.note("m1", query="q" * 10_000)
    assert desk.recalls.dropped == 5


async def test_noting_is_quick(desk: Desk) -> None:
    """A microsecond or so: nothing is looked up, encoded or written in the caller's time."""
    took = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(200):
            desk.note("m1", "m2", "m3")
        took.append(time.perf_counter() - started)
    assert min(took) < 1
    assert len(await desk.queries()) == 100


async def test_off_keeps_nothing_and_removes_what_was_kept(desk: Desk) -> None:
    desk.note("m1", query="quillwort")
    await desk.queries()
    await desk.close()
    desk.kept = 0
    await desk.open()
    assert desk.files_with("quillwort") == []
    desk.note("m1", query="quillwort")
    assert await desk.queries() == []
    assert await desk.recalls.follow() is None
    assert await desk.recalls.clear(desk.key) is None
    assert not [name for name in desk.files_with("") if name.startswith(recall_log.FILE)]


async def test_it_outlives_a_restart(desk: Desk) -> None:
    noted = [desk.note("m1") for _ in range(3)]
    await desk.close()  # what waits is written
    await desk.open()
    assert await desk.queries() == noted[::-1]


VICTIM = """
import asyncio, sys
from pathlib import Path
from tests.recall_log.conftest import Desk

async def main() -> None:
    desk = await Desk(Path(sys.argv[1])).open()
    desk.key = await desk.write("m")
    desk.note("m", query="early")
    async with asyncio.timeout(60):
        while not [name for name in desk.files_with("early") if name.startswith("recall_log")]:
            await asyncio.sleep(0.02)
    desk.note("m", query="late")
    print("ready", flush=True)
    await asyncio.sleep(100)

asyncio.run(main())
"""


async def test_a_crash_loses_the_last_second_at_most(tmp_path: Path) -> None:
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", VICTIM, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert victim.stdout is not None
    assert await victim.stdout.readline() == b"ready\n"
    victim.send_signal(signal.SIGKILL)
    await victim.wait()
    desk = await Desk(tmp_path).open()
    desk.key = (await desk.log.get("default", "maya")).key
    assert set(await desk.queries()) - {"late"} == {"early"}
    assert (await desk.log.get("default", "maya")).last_seq == 1
    await desk.close()


def _full(monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """Let SQLite find no room for more pages: SQLITE_FULL, as on a full disk."""
    opened = RecallFile._opened

    def limited(self: RecallFile) -> sqlite3.Connection:
        db = opened(self)
        db.execute(f"PRAGMA max_page_count={pages}").fetchone()
        return db

    monkeypatch.setattr(RecallFile, "_opened", limited)


async def test_a_full_disk_costs_the_recall_log_only(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted and shown; it goes on when there is room."""
    first = desk.note("m1")
    assert await desk.queries() == [first]
    with monkeypatch.context() as full:
        _full(full, 1)
        desk.recalls._file.close()
        for _ in range(50):
            desk.note("m1", query="q" * 2000)
        assert await desk.queries() == [first]
        assert (desk.recalls.state, desk.recalls.dropped) == ("down", 50)
        assert await desk.log.read(desk.key, limit=1)
    desk.recalls._file.close()
    last = desk.note("m1")
    assert await desk.queries() == [last, first]
    assert desk.recalls.state == "ready"


async def test_a_file_that_cannot_be_opened_costs_the_recall_log_only(tmp_path: Path) -> None:
    """Here a folder stands in its place; when it is away, it works, and squares with the log first."""
    (tmp_path / recall_log.FILE).mkdir()
    desk = await Desk(tmp_path).open()
    desk.key = await desk.write("m0", "m1")
    desk.note("m1")
    with pytest.raises(PartUnavailableError):
        await desk.queries()
    assert (desk.recalls.state, desk.recalls.dropped) == ("down", 1)
    with pytest.raises(PartUnavailableError) as caught:
        await desk.recalls.follow()
    assert caught.value.after_storing
    (tmp_path / recall_log.FILE).rmdir()
    noted = desk.note("m1")
    assert await desk.queries() == [noted]
    assert desk.recalls.state == "ready"
    await desk.close()


@pytest.mark.parametrize("damage", ["garbage", "version"])
async def test_a_file_that_is_damaged_or_of_another_version_is_begun_anew(desk: Desk, damage: str) -> None:
    desk.note("m1")
    await desk.close()
    file = desk.folder / recall_log.FILE
    if damage == "garbage":
        file.write_bytes(b"x" * 10_000)
    else:
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA user_version = 2")
        db.close()
    await desk.open()
    assert desk.recalls.restarts == 1
    assert await desk.queries() == []
    noted = desk.note("m1")
    assert await desk.queries() == [noted]


async def test_damage_that_is_met_later_costs_what_was_there(desk: Desk) -> None:
    for _ in range(50):
        desk.note("m1", query="q" * 2000)
    await desk.queries()
    await desk.close()
    await desk.open()
    data = bytearray((desk.folder / recall_log.FILE).read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (desk.folder / recall_log.FILE).write_bytes(data)
    desk.recalls._file.close()
    for _ in range(3):
        desk.note("m1")
        try:
            await desk.queries()
        except PartUnavailableError:
            continue
    noted = desk.note("m1")
    assert noted in await desk.queries()
    assert desk.recalls.restarts == 1


async def test_a_log_that_was_set_back_leaves_no_entry_about_other_messages(tmp_path: Path) -> None:
    """An older copy of the log is put in its place: its seqs will be given to other messages."""
    (tmp_path / "a").mkdir()
    desk = await Desk(tmp_path / "a").open()
    desk.key = await desk.write("m0", "m1")
    old = desk.note("m1")
    await desk.close()
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    await desk.open()
    await desk.write("m2")
    desk.note("m2")
    await desk.close()
    shutil.copy(tmp_path / "copy" / "log.db", tmp_path / "a" / "log.db")
    await desk.open()
    await desk.write("other")
    assert await desk.queries() == []
    noted = desk.note("other")
    assert await desk.queries() == [noted]
    await desk.close()
    # The same where the newer log had erased: what it says was followed is not what this one says.
    again = await Desk(tmp_path / "copy").open()
    again.key = desk.key
    assert await again.queries() == [old]
    await again.log.forget("default", "maya", ["m0"])
    await again.recalls.follow()
    assert await again.queries() == [old]
    await again.close()
    shutil.copy(tmp_path / "copy" / recall_log.FILE, tmp_path / "a" / recall_log.FILE)
    await desk.open()
    assert await desk.queries() == []
    await desk.close()


async def test_a_caller_that_gives_up_loses_no_entry(desk: Desk) -> None:
    noted = [desk.note("m1") for _ in range(20)]
    for pause in range(8):
        task = asyncio.create_task(desk.recalls.follow())
        for _ in range(pause):
            await asyncio.sleep(0)
        task.cancel()
        noted.append(desk.note("m1"))
    assert await desk.queries() == noted[::-1]
