"""Loaded memories: kept current with the log, bounded, never half changed. With a stand-in encoder and index."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.projections.lexical import Lexical, TermRow
from seedbed_server.projections.recent import Recent
from seedbed_server.recall import memories, search
from seedbed_server.recall.hot import HotMemory
from seedbed_server.recall.memories import TAIL_CHARACTERS, TAIL_ENCODED
from seedbed_server.recall.postings import Postings
from seedbed_server.recall.times import EVER

from .rooms import Room, StandInEncoder, StandInIndex, scores, texts

PATIENCE = 30.0


@pytest.fixture
def encoder() -> StandInEncoder:
    """Overrides the real one."""
    return StandInEncoder()


@pytest.fixture
async def room(tmp_path: Path, encoder: StandInEncoder) -> AsyncIterator[Room]:
    """A server in small, whose projector stands still unless a test starts it."""
    room = Room(tmp_path, encoder, StandInIndex())
    await room.open()
    yield room
    await room.close()


def numbered(count: int, first: int = 0) -> list[str]:
    return [f"message number{n} about thing{n % 7}" for n in range(first, first + count)]


@pytest.mark.parametrize("projected", [0, 5, 11])
async def test_a_search_sees_what_was_written_before_it(room: Room, projected: int) -> None:
    """Whatever part the projections have applied, every message is found, with the very same scores."""
    if projected:
        await room.write("m", *numbered(projected))
        await room.project("m")
    await room.write("m", *numbered(12 - projected, first=projected))
    now = await room.search("m", "number11 thing4")
    assert texts(now)[0] == numbered(12)[11]
    assert (len(now.hits), now.applied_seq, now.degraded_legs) == (12, projected, ())
    await room.project("m")
    for fresh in (False, True):
        if fresh:
            room.forget_all_hot()
        later = scores(await room.search("m", "number11 thing4"))
        assert list(later) == list(scores(now))
        np.testing.assert_allclose(list(later.values()), list(scores(now).values()), atol=1e-5)


async def test_a_tail_too_long_to_encode_is_searched_by_its_words(room: Room, encoder: StandInEncoder) -> None:
    """Up to the limit a search encodes what is new; beyond, it says so, still finds all, and later all is whole."""
    await room.write("m", *numbered(TAIL_ENCODED))
    assert (await room.search("m", "number3")).degraded_legs == ()
    assert len(encoder.urgent) == TAIL_ENCODED
    await room.write("m", *numbered(TAIL_ENCODED + 1, first=TAIL_ENCODED))
    degraded = await room.search("m", f"number{2 * TAIL_ENCODED}")
    assert degraded.degraded_legs == ("dense",)
    assert len(degraded.hits) == 2 * TAIL_ENCODED + 1
    assert texts(degraded)[0] == numbered(1, first=2 * TAIL_ENCODED)[0]
    assert len(encoder.urgent) == TAIL_ENCODED
    await room.project("m")
    whole = await room.search("m", f"number{2 * TAIL_ENCODED}")
    assert whole.degraded_legs == ()
    assert all(leg.raw != 0 for hit in whole.hits for leg in hit.legs if leg.name == "dense")


async def test_one_long_new_message_makes_no_search_slow(room: Room, encoder: StandInEncoder) -> None:
    """More text than a search can encode in a second is left to the projection; its words are found at once."""
    await room.write("m", "pad " * (TAIL_CHARACTERS // 4) + "the code is 7319", "Hello there")
    ranking = await room.search("m", "code 7319")
    assert ranking.hits[0].message.seq == 1
    assert ranking.degraded_legs == ("dense",)
    assert encoder.urgent == []


async def test_what_was_erased_has_no_part_in_a_ranking(room: Room) -> None:
    """From the moment of the erasure, though no projection has carried it out: not a hit, not a neighbour."""
    done = await room.write("m", *numbered(9))
    await room.project("m")
    assert len((await room.search("m", "number4 thing4")).hits) == 9
    await room.log.forget("default", "m", [done.ids[4]])
    before = await room.search("m", "number4 thing4", k=8)
    assert sorted(hit.message.seq for hit in before.hits) == [1, 2, 3, 4, 6, 7, 8, 9]
    await room.projector.start()
    last = (await room.log.erasures(0, 100))[-1]
    assert await room.projector.wait_erased(last.id) is not None
    room.forget_all_hot()
    assert scores(await room.search("m", "number4 thing4")) == scores(before)


async def test_clearing_leaves_nothing_to_find(room: Room) -> None:
    """After Clear nothing is found, and what is written next is found alone."""
    await room.write("m", *numbered(5))
    await room.project("m")
    assert (await room.search("m", "number2")).hits
    await room.log.clear("default", "m")
    assert (await room.search("m", "number2")).hits == ()
    await room.write("m", "number2 again")
    assert texts(await room.search("m", "number2")) == ["number2 again"]


async def test_messages_without_words_have_no_row(room: Room) -> None:
    """Blank ones between others, and a memory of nothing else: no hit, no error."""
    await room.write("m", "one cat", " \u200b ", "two cats", "\n")
    assert sorted(texts(await room.search("m", "cat"))) == ["one cat", "two cats"]
    await room.write("blank", " ", "\t")
    assert (await room.search("blank", "cat")).hits == ()


async def test_the_least_recently_used_go_first(room: Room) -> None:
    """Within the limit all stay; beyond, the oldest go; the one in use stays even when it is too large alone."""
    for name in "abc":
        await room.write(name, *numbered(20))
    sizes = {}
    for name in "abc":
        async with room.hot.current(await room.record(name)) as (memory, _):
            sizes[name] = memory.nbytes
    keys = {(await room.record(name)).key: name for name in "abc"}
    kept = []
    for limit in (3, 2, 1, 0):
        room.forget_all_hot(limit_bytes=limit * max(sizes.values()))
        for name in "abcac":
            await room.search(name, "number3")
        kept.append([keys[key] for key in room.hot._entries])
    assert kept == [["b", "a", "c"], ["a", "c"], ["c"], ["c"]]


async def test_a_memory_being_searched_is_not_dropped(room: Room) -> None:
    """While one search holds a memory, another's does not throw it out."""
    room.forget_all_hot(limit_bytes=1)
    await room.write("a", *numbered(3))
    await room.write("b", *numbered(3))
    a = await room.record("a")
    async with room.hot.current(a) as (memory, _):
        await room.search("b", "number1")
        assert room.hot._entries[a.key].memory is memory


async def test_searches_while_the_memory_grows(room: Room) -> None:
    """Writers and searchers at once, the projections behind them: each finds what was there; nothing is torn."""
    await room.projector.start()
    await room.write("m", "begin")

    async def talk(n: int) -> None:
        for turn in range(5):
            await room.write("m", f"word{n}x{turn} is said", session=f"s{n % 2}")
            assert texts(await room.search("m", f"word{n}x{turn}", k=1)) == [f"word{n}x{turn} is said"]

    await asyncio.gather(*map(talk, range(8)))
    grown = scores(await room.search("m", "word3x3 is said"))
    assert len(grown) == 41
    room.forget_all_hot()
    fresh = scores(await room.search("m", "word3x3 is said"))
    np.testing.assert_allclose([grown[i] for i in fresh], list(fresh.values()), atol=1e-5)


async def test_a_cancelled_search_leaves_the_memory_whole(room: Room) -> None:
    """Cancelled at every step of loading, growing and scoring: the next search is as good as the first."""
    await room.write("m", *numbered(20))
    await room.project("m")
    await room.write("m", *numbered(10, first=20))
    expected = scores(await room.search("m", "number25 thing3"))
    for steps in range(0, 60, 2):
        room.forget_all_hot()
        record = await room.record("m")
        async with asyncio.TaskGroup() as group:
            search = group.create_task(room.search("m", "number25 thing3"))
            for _ in range(steps):
                await asyncio.sleep(0)
            search.cancel()
            other = group.create_task(room.search("m", "number25 thing3"))
        assert scores(await other) == expected
        async with room.hot.current(record) as (memory, complete):
            assert (memory.seqs.tolist(), complete) == (list(range(1, 31)), True)


async def test_the_next_search_waits_for_what_a_cancelled_one_began(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled while a thread is adding its rows: nobody has the memory before these are all there."""
    await room.write("m", *numbered(20))
    expected = scores(await room.search("m", "number7 thing3"))
    room.forget_all_hot()
    entered, release = threading.Event(), threading.Event()
    add = Postings.add

    def held(self: Postings, terms: Sequence[str]) -> None:
        add(self, terms)
        entered.set()
        assert release.wait(60)

    monkeypatch.setattr(Postings, "add", held)
    cancelled = asyncio.create_task(room.search("m", "number7 thing3"))
    await asyncio.to_thread(entered.wait)
    cancelled.cancel()
    following = asyncio.create_task(room.search("m", "number7 thing3"))
    for _ in range(50):
        await asyncio.sleep(0)
    release.set()
    assert scores(await following) == expected
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_a_cancelled_search_keeps_the_memory_until_its_thread_is_done(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled while it scores: nobody else may change the arrays that the thread still reads."""
    await room.write("m", *numbered(5))
    record = await room.record("m")
    scoring, go_on, score = threading.Event(), threading.Event(), search._score

    def held(*given: Any) -> Any:
        scoring.set()
        go_on.wait(PATIENCE)
        return score(*given)

    monkeypatch.setattr(search, "_score", held)
    cancelled = asyncio.create_task(room.search("m", "number3"))
    assert await asyncio.to_thread(scoring.wait, PATIENCE)
    cancelled.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert room.hot._entries[record.key].lock.locked()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await room.write("m", *numbered(5, first=5))
    assert len((await room.search("m", "number7")).hits) == 10


class Unreadable(Lexical):
    """Its file cannot be read."""

    async def load(self, key: int, after_seq: int = 0) -> list[TermRow]:
        raise PartUnavailableError("derived")


async def test_words_are_read_from_the_log_when_the_index_cannot_be(room: Room) -> None:
    """An unreadable derived file costs time, not hits."""
    await room.write("m", *numbered(9))
    await room.project("m")
    expected = scores(await room.search("m", "number4"))
    _, recall = room.served_by(room.encoder, Unreadable(room.derived))
    room.recall = recall
    assert scores(await room.search("m", "number4")) == expected


async def test_an_index_begun_anew_is_not_taken_for_complete(room: Room) -> None:
    """Vectors lost while the server runs: searches say so until they are stored again, and then are whole."""
    await room.write("m", *numbered(TAIL_ENCODED + 8))
    await room.project("m")
    assert isinstance(room.index, StandInIndex)
    room.index.begin_anew()
    room.forget_all_hot()
    lost = await room.search("m", "number4")
    assert (len(lost.hits), lost.degraded_legs) == (TAIL_ENCODED + 8, ("dense",))
    await room.write("m", "one more")  # storing it, the projector notices
    await room.project("m")
    again = await room.search("m", "number4")
    assert (len(again.hits), again.degraded_legs) == (TAIL_ENCODED + 9, ())
    assert all(leg.raw != 0 for hit in again.hits for leg in hit.legs if leg.name == "dense")


async def test_there_are_no_more_hits_than_an_answer_can_hold(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of them, in the same order; and what is new is loaded a bounded page at a time."""
    await room.write("m", *(f"{one} {'pad ' * 500}" for one in numbered(12)))
    every = texts(await room.search("m", "number3 thing3"))
    monkeypatch.setattr(search, "MOST_BYTES", 10_000)
    monkeypatch.setattr(memories, "_PAGE_BYTES", 5_000)
    room.forget_all_hot()
    assert texts(await room.search("m", "number3 thing3")) == every[:4]
    assert len(every) == 12


@pytest.mark.parametrize("when", EVER)
async def test_messages_from_the_ends_of_the_calendar_are_found(room: Room, when: datetime) -> None:
    """Whatever times the query speaks of; as a float the last moment of all is beyond the calendar."""
    message = Message.user("The wedding is over.")
    await room.write("m", "I live in Oslo", replace(message, time=when))
    for query in (
        "wedding",
        "Where did I live last week before the wedding?",
        "after the wedding",
        "in May 2023 wedding",
    ):
        assert "The wedding is over." in texts(await room.search("m", query))


async def test_sessions_and_times_bound_a_search(room: Room) -> None:
    """A search in one session finds only its messages; one into the past only those up to there."""
    await room.write("m", "cat one", Message("assistant", ("cat two",)), session="a")
    await room.write("m", "cat three", "cat four", session="b")
    assert sorted(texts(await room.search("m", "cat", session="b"))) == ["cat four", "cat three"]
    assert sorted(texts(await room.search("m", "cat", upto_seq=2))) == ["cat one", "cat two"]
    assert texts(await room.search("m", "cat", session="b", upto_seq=2)) == []
    assert texts(await room.search("m", "?!")) == []


async def test_vectors_that_do_not_come_are_waited_for_once(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search looks at a memory twice, and has one patience."""
    await room.write("m", *numbered(3))
    await room.project("m")
    _, room.recall = room.served_by(room.encoder, room.lexical)
    monkeypatch.setattr(room.vectors, "_recent", Recent())
    monkeypatch.setattr(room.index, "fetch", lambda *_: asyncio.Event().wait())
    monkeypatch.setattr(memories, "PATIENCE", 0.01)
    waited: list[float] = []
    catch_up = memories.HotMemories._catch_up_vectors

    async def noted(hot: memories.HotMemories, memory: HotMemory, patience: float) -> bool:
        waited.append(patience)
        return await catch_up(hot, memory, patience)

    monkeypatch.setattr(memories.HotMemories, "_catch_up_vectors", noted)
    assert (await room.search("m", "number1")).degraded_legs == ("dense",)
    assert waited == [0.01, 0.0]


async def test_vectors_of_a_large_memory_are_loaded_in_portions(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search has loaded before its patience ends is kept: the next one goes on from there, and then all is."""
    monkeypatch.setattr(memories, "PORTION", 4)
    await room.write("m", *numbered(11))
    await room.project("m")
    expected = scores(await room.search("m", "number4"))
    given: list[str] = []
    fetch, most = room.index.fetch, 8

    async def fetch_so_far(key: int, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        if len(given) + len(ids) > most:
            raise PartUnavailableError("vectors")
        given.extend(ids)
        return await fetch(key, ids)

    monkeypatch.setattr(room.index, "fetch", fetch_so_far)
    monkeypatch.setattr(room.vectors, "_recent", Recent())  # as after a start: nothing was stored lately
    _, room.recall = room.served_by(room.encoder, room.lexical)
    assert (await room.search("m", "number4")).degraded_legs == ("dense",)
    most = 11
    whole = await room.search("m", "number4")
    assert whole.degraded_legs == ()
    assert scores(whole) == expected
    assert len(given) == len(set(given)) == 11
