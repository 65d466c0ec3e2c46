"""An entry goes with any message that it showed: with its query, from the file and from the queue."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing

import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.recall_log import recall_log
from seedbed_server.recall_log.file import RecallFile
from seedbed_server.recall_log.recall_log import FILE

from .conftest import PLACE, Desk

SECRET = "quillwort"


async def forget(desk: Desk, *ids: str) -> int | None:
    """Forget messages, and let the recall log follow; returns how many entries went."""
    erasure = await desk.log.forget(*PLACE, ids)
    return await desk.recalls.follow(erasure.id if erasure else None)


async def test_every_entry_that_showed_an_erased_message_goes(desk: Desk) -> None:
    """And no byte of its query is left in any file; the others stay."""
    desk.note("m1", "m2", query=f"about {SECRET}")
    stays = desk.note("m2", "m3")
    await desk.queries()
    desk.note("m1", query=f"{SECRET} again")
    bare = desk.note()
    assert desk.files_with(SECRET)
    assert await forget(desk, "m1", "m9") == 2  # one of them from the queue
    assert desk.files_with(SECRET) == []
    assert await desk.queries() == [bare, stays]


async def test_an_answer_still_under_way_leaves_no_entry(desk: Desk) -> None:
    """It read the message before it was erased, and is noted after the receipt."""
    assert await forget(desk, "m1") == 0
    desk.note("m1", "m2", query=SECRET)
    assert await desk.queries() == []
    assert desk.files_with(SECRET) == []


async def test_an_entry_that_made_room_leaves_no_byte_either(desk: Desk) -> None:
    """It is not there any more when its message is erased, but its bytes might be."""
    desk.note("m1", query=SECRET)
    await desk.queries()
    for _ in range(desk.kept):
        desk.note("m2")
    assert await forget(desk, "m1") == 0
    assert desk.files_with(SECRET) == []


@pytest.mark.parametrize("session", ["", "a"])
async def test_clear_takes_what_is_about_the_session_whatever_it_showed(desk: Desk, session: str) -> None:
    """Also what showed its messages to another session."""
    await desk.write("a1", session="a")
    other = await desk.write("x", name="other", session="a")
    noted = {name: desk.note(session=name) for name in ("a", "b")}
    shown = desk.note("a1", "m2", session="b")
    foreign = desk.note("x", key=other, session="a")
    await desk.log.clear(*PLACE, session=session)
    assert await desk.recalls.clear(desk.key, session=session) == (1 if session else 2)
    assert await desk.queries() == ([noted["b"]] if session else [])
    assert await desk.queries(other) == [foreign]
    assert desk.files_with(shown) == desk.files_with(noted["a"]) == []


async def test_a_deleted_memory_takes_all_of_its_entries(desk: Desk) -> None:
    """The queued ones too, and those that are noted when it is gone; one of the same name is another memory."""
    for ids in (("m1",), ()):
        desk.note(*ids, query=SECRET)
        await desk.queries()
        desk.note(*ids, query=SECRET)
    await desk.log.delete(*PLACE)
    await desk.recalls.follow()
    desk.note(query=SECRET)
    assert await desk.queries() == []
    assert desk.files_with(SECRET) == []
    again = await desk.write("m1")
    assert again != desk.key
    assert await desk.queries(again) == []


async def test_what_is_erased_while_it_is_down_goes_at_the_start(desk: Desk) -> None:
    """A crash between the log's commit and this file."""
    desk.note("m1", query=SECRET)
    stays = desk.note("m2")
    await desk.recalls.close()
    await desk.log.forget(*PLACE, ["m1"])
    await desk.log.close()
    assert desk.files_with(SECRET)
    await desk.open()
    assert desk.files_with(SECRET) == []
    assert await desk.queries() == [stays]


async def test_a_file_that_nothing_can_be_erased_from_is_removed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: the promise to erase goes before the entries of others."""
    desk.note("m1", query=SECRET)
    desk.note("m2")
    await desk.queries()

    def failing(*_: object) -> None:
        raise sqlite3.OperationalError

    with monkeypatch.context() as full:
        full.setattr("seedbed_server.recall_log.file._erase", failing)
        assert await forget(desk, "m1") == 2
    assert desk.files_with(SECRET) == []
    assert desk.recalls.restarts == 1
    noted = desk.note("m3")
    assert await desk.queries() == [noted]
    assert await forget(desk, "m3") == 1


async def test_a_file_that_somebody_reads_is_removed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was erased stays in it as long as another process reads the state before."""
    monkeypatch.setattr("seedbed_server.recall_log.file.BUSY", 0.1)
    await desk.close()
    await desk.open()
    desk.note("m1", query=SECRET)
    noted = await desk.queries()
    assert noted == [SECRET]
    with closing(sqlite3.connect(desk.folder / FILE, isolation_level=None)) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM entry").fetchone() == (1,)
        await forget(desk, "m1")
        assert desk.files_with(SECRET) == []
        assert desk.recalls.restarts == 1


async def test_a_file_that_cannot_even_be_removed_makes_the_erasure_fail(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is carried out as soon as it can be."""
    desk.note("m1", query=SECRET)
    await desk.queries()

    def failing(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr("seedbed_server.recall_log.file._erase", failing)
        broken.setattr(RecallFile, "remove", failing)
        with pytest.raises(PartUnavailableError) as caught:
            await forget(desk, "m1")
        assert caught.value.after_storing
        with pytest.raises(PartUnavailableError):
            await desk.recalls.clear(desk.key)
        assert desk.recalls.state == "down"
        assert await desk.queries() == []  # left out, since the log says that it is gone
    await desk.recalls.follow()
    assert desk.files_with(SECRET) == []


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_at_once_nothing_erased_is_listed(desk: Desk, seed: int) -> None:
    """Notes, erasures, listings and restarts in random order, compared with a list that is always right."""
    rng = random.Random(seed)
    alive = [f"m{n}" for n in range(10)]
    model: list[tuple[str, frozenset[str]]] = []
    for step in range(120):
        match rng.choices(["note", "forget", "list", "sleep", "restart", "write"], [40, 6, 10, 10, 1, 8])[0]:
            case "note":
                shown = frozenset(rng.sample(alive, min(len(alive), rng.randrange(4))))
                model.append((desk.note(*shown), shown))
            case "forget":
                gone = set(rng.sample(alive, min(len(alive), 2)))
                alive = [known for known in alive if known not in gone]
                model = [one for one in model if not one[1] & gone]
                await forget(desk, *gone)
            case "list":
                assert await desk.queries() == [query for query, _ in model[::-1]][: desk.kept]
            case "sleep":
                await asyncio.sleep(0.002)
            case "restart":
                await desk.close()
                await desk.open()
            case "write":
                alive.append(f"new{step}")
                await desk.write(alive[-1])
    assert await desk.queries() == [query for query, _ in model[::-1]][: desk.kept]
    held = sqlite3.connect(desk.folder / recall_log.FILE)
    assert held.execute("SELECT count(*) FROM entry").fetchone() == (min(len(model), desk.kept),)
    held.close()
