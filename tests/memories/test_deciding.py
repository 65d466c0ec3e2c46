"""Decisions about a graph, many at a time, and after what they stand on is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed_server.errors import (
    EntityNotFoundError,
    InvalidFieldError,
    MergeNotFoundError,
    NotFoundError,
    PartUnavailableError,
    TripleNotFoundError,
)
from seedbed_server.log import Carried, Merge, Retraction, Split, Statement
from seedbed_server.projections.identity import DECIDED
from tests.memories.deciding import AT, START, Desk, desk, name_id, picture

NAMES = ("Kestrel", "Windhover", "Merlin", "Hobby")


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk(tmp_path) as opened:
        yield opened


async def test_of_merges_of_one_pair_one_is_done(room: Desk) -> None:
    """In either direction, all at once: one has an id, the others are told that the two are one; its split ends it."""
    await room.say("Kestrel | likes | rain; Windhover | likes | wind")
    before = picture(await room.graph())
    pairs = [NAMES[:2], NAMES[1::-1]] * 4
    answers = await asyncio.gather(*(room.merge(*pair) for pair in pairs), return_exceptions=True)
    (merge_id,) = [answer for answer in answers if isinstance(answer, str)]
    assert sum(isinstance(answer, InvalidFieldError) for answer in answers) == len(pairs) - 1
    splits = await asyncio.gather(*(room.split(merge_id) for _ in range(4)), return_exceptions=True)
    assert sorted(map(str, map(type, splits))) == sorted(map(str, [*[MergeNotFoundError] * 3, type(None)]))
    assert picture(await room.graph()) == before


async def test_a_split_of_ones_own_leaves_no_evidence_behind(room: Desk) -> None:
    """Merged by hand, then evident too: the split is of both. What was split is not joined by way of a third."""
    await room.say("Mo | likes | rain; Mona Lee | likes | wind; Mo | has sister | Mona Lee")
    merge_id = await room.merge("Mona Lee", "Mo")
    await room.say("Mo | be called | Mona Lee")
    assert (await room.graph()).identity.of(name_id("Mo")) == name_id("Mona Lee")
    await room.split(merge_id)
    graph = await room.graph()
    assert graph.identity.merges == {}
    assert graph.identity.of(name_id("Mo")) == name_id("Mo")
    await room.say("Mo | be called | Mia Fox; Mona Lee | be called | Mia Fox")
    assert (await room.graph()).identity.of(name_id("Mo")) != (await room.graph()).identity.of(name_id("Mona Lee"))
    merge_id = await room.merge("Mona Lee", "Mo")
    await room.split(merge_id)
    assert (await room.graph()).identity.of(name_id("Mo")) != (await room.graph()).identity.of(name_id("Mona Lee"))


STEP = st.tuples(st.sampled_from(["merge", "split", "state"]), st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rounds=st.lists(st.lists(STEP, min_size=1, max_size=5), min_size=1, max_size=4))
async def test_merges_and_splits_in_any_order_are_undone_exactly(
    rounds: list[list[tuple[str, int, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rounds of calls that run at once. Every merge that was answered is in effect until its split is answered, and
    after a split of each nothing of them is left: the graph is that of the messages, statements and retractions."""
    async with desk(tmp_path_factory.mktemp("desk")) as room, desk(tmp_path_factory.mktemp("plain")) as plain:
        texts = [f"{name} | likes | rain; {name} | lives in | Town{at}" for at, name in enumerate(NAMES)]
        for each in (room, plain):
            await each.say(*texts)
        sources = [message.id for message in await room.log.read((await room.record()).key, limit=9)]
        same = [message.id for message in await plain.log.read((await plain.record()).key, limit=9)]
        acknowledged: set[str] = set()
        for steps in rounds:
            standing = sorted(acknowledged)

            async def carry_out(step: tuple[str, int, int], standing: list[str] = standing) -> None:
                kind, one, other = step
                words = f"{NAMES[one]} | visits | Place{other}"
                if kind == "merge":
                    acknowledged.add(await room.merge(NAMES[one], NAMES[other]))
                elif kind == "split" and standing:
                    await room.split(standing[one % len(standing)])
                    acknowledged.discard(standing[one % len(standing)])
                elif kind == "state":
                    await room.state(sources[other], words)
                    await plain.state(same[other], words)

            answers = await asyncio.gather(*map(carry_out, steps), return_exceptions=True)
            assert {type(a) for a in answers} <= {type(None), InvalidFieldError, MergeNotFoundError}
            graph = await room.graph()
            decided = {i for i, merged in graph.identity.merges.items() if merged.reason == DECIDED}
            assert decided == acknowledged
            assert len({graph.identity.of(name_id(name)) for name in NAMES}) == len(NAMES) - len(acknowledged)
        for merge_id in acknowledged:
            await room.split(merge_id)
        assert picture(await room.graph()) == picture(await plain.graph())


async def test_an_id_of_a_fact_holds_through_merges_and_splits(room: Desk) -> None:
    """Whenever it was given, it names the fact that now says these words."""
    await room.say("Kestrel | likes | rain", "Windhover | likes | rain", "Windhover | likes | wind")
    alone = {fact.seqs: fact.id for fact in (await room.graph()).facts.values()}
    merge_id = await room.merge("Windhover", "Kestrel")
    graph = await room.graph()
    (rain,) = [fact for fact in graph.facts.values() if fact.seqs == (1, 2)]
    assert graph.ids.said(rain.id) == (alone[1,], alone[2,])
    for given_before in alone.values():
        assert graph.fact(given_before) is not None
    given_while_merged = graph.ids.said(rain.id)[0]
    assert await room.retract(alone[3,], given_while_merged) == 2
    assert await room.retract(alone[1,], alone[2,]) == 0
    await room.split(merge_id)
    graph = await room.graph()
    assert {i for i, fact in graph.facts.items() if fact.retracted_at is not None} == set(alone.values())
    assert await room.retract(given_while_merged) == 0
    with pytest.raises(TripleNotFoundError):
        await room.retract("t0")


async def test_a_statement_is_answered_in_the_spell_that_was_stated(room: Desk) -> None:
    """Not in the last one that the fact has."""
    (source,) = await room.say("hm")
    homes = [("Ghent", 1), ("Bruges", 50), ("Ghent", 90)]
    for home, day in homes:
        await room.state(source, f"Kestrel | live in | {home}", valid_from=START + timedelta(days=day))
    told = [Statement("Kestrel", "live in", home, valid_from=START + timedelta(days=day)) for home, day in homes]
    _, _, found = await room.corrections.state(*AT, [(one, [source]) for one in told], "")
    days = [round((one[1].valid_from - START.timestamp()) / 86400) for one in found if one is not None]
    assert days == [1, 50, 90]


async def test_forgotten_names_leave_no_digest_in_decisions(room: Desk, tmp_path: Path) -> None:
    """Merges, splits and retractions go with the last message that says their names, and are in the receipt."""
    first, second, third = await room.say(
        "Kestrel | likes | rain", "Windhover | likes | rain", "Merlin | likes | wind; Hobby | likes | wind"
    )
    merge_id = await room.merge("Windhover", "Kestrel")
    (rain, *_) = [fact for fact in (await room.graph()).facts.values() if fact.object == "rain"]
    await room.retract(rain.id)
    await room.merge("Merlin", "Hobby")
    await room.state(first, "Kestrel | owns | kite")
    (again,) = await room.say("Windhover | likes | snow")
    receipt = await room.forget(second)  # said again since: another witness is called
    assert merge_id in (await room.graph()).identity.merges
    assert {one.store: one.rows for one in receipt.stores}["decisions"] == 0
    receipt = await room.forget(again, first)
    counts = {one.store: one.rows for one in receipt.stores}
    assert (counts["log"], counts["statements"], counts["decisions"]) == (2, 1, 2)
    assert len((await room.graph()).identity.merges) == 1
    held = await asyncio.to_thread(bytes_of, tmp_path)
    gone = {name_id(name) for name in NAMES[:2]} | {rain.id}
    assert [one for one in gone if one.encode() in held] == []
    await room.forget(third)
    assert await room.log.decisions((await room.record()).key) == []


async def test_what_an_import_brings_does_not_stop_a_forget(room: Desk) -> None:
    """Decisions with no witnesses, or with too few of them: they get their own, and go with the last."""
    first, second = await room.say("Kestrel | likes | rain", "Windhover | likes | wind")
    pair = (name_id("Windhover"), name_id("Kestrel"))
    given = [
        Carried("a", Merge("x", *pair), "", "", ()),
        Carried("b", Split("-".join(pair)), "", "", ((first,),)),
        Carried("c", Statement("the", "like", "rain"), "", first, ()),
        Carried("d", Merge("y", *pair), "", "", (("unknown",), (first,))),
        Carried("e", Retraction(("t1",)), "", "", ()),
    ]
    done = await room.log.import_messages(*AT, [], given)
    assert (done.decisions_imported, done.decisions_skipped) == (3, 2)
    assert "x" in (await room.graph()).identity.merges
    assert len((await room.graph()).entities.by_id) == 4  # what no longer names anything is nobody
    await room.forget(*await room.say("Merlin | likes | snow"))
    assert len(await room.log.standing((await room.record()).key)) == 2
    await room.forget(second)
    assert await room.log.standing((await room.record()).key) == []


async def test_a_merge_of_who_is_being_forgotten_is_refused(room: Desk) -> None:
    """Whatever comes first: no decision stands on nothing."""
    (first, *_) = await room.say("Kestrel | likes | rain", "Windhover | likes | rain")
    answers = await asyncio.gather(
        room.forget(first), *(room.merge("Windhover", "Kestrel") for _ in range(3)), return_exceptions=True
    )
    refused = (EntityNotFoundError, InvalidFieldError)
    assert all(isinstance(answer, (*refused, str)) for answer in answers[1:])
    assert await room.log.decisions((await room.record()).key) == []


async def test_nothing_is_missing_while_it_is_read_again(room: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around rebuilds, whatever is asked is found, or said to be unavailable; what is nowhere is still not found."""
    monkeypatch.setattr("seedbed_server.memories.finding.PATIENCE", 60)  # a slow machine makes nothing unavailable
    await room.say(*(f"Kestrel | likes | thing{n}" for n in range(40)))
    await room.merge("Kestrel", "thing7")
    before = picture(await room.graph())
    key, done = (await room.record()).key, asyncio.Event()

    async def rebuild() -> None:
        for _ in range(5):
            await room.projector.rebuild(key)
            await asyncio.sleep(0.01)
        done.set()

    async def ask() -> None:
        while not done.is_set():
            assert picture(await room.graph()) == before
            with pytest.raises(NotFoundError):
                await room.merge("Kestrel", "nobody")
            await asyncio.sleep(0.001)  # not 0: a loop that never rests may keep the storing thread from the GIL

    await asyncio.gather(rebuild(), ask())
    assert await room.projector.wait_applied(key, 40, timeout=60)
    assert picture(await room.graph()) == before


async def test_what_is_not_read_yet_is_not_called_missing(room: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the tagger down and the rows gone, it is the part that is not there."""
    await room.say("Kestrel | likes | rain; Windhover | likes | rain")
    fresh = room.graphs.__class__(room.graphs._knowledge, room.log, room.graphs._applied)
    monkeypatch.setattr(room.finding.graphs, "_kept", fresh._kept)

    async def down(turns: object) -> object:
        raise PartUnavailableError("tagger")

    monkeypatch.setattr(room.graphs._knowledge._tagger, "extract", down)
    monkeypatch.setattr("seedbed_server.memories.finding.PATIENCE", 0.1)
    await room.projector.rebuild((await room.record()).key)
    while (await room.graph()).facts:
        await asyncio.sleep(0.01)
        room.graphs._kept.clear()
    with pytest.raises(PartUnavailableError):
        await room.merge("Kestrel", "Windhover")
