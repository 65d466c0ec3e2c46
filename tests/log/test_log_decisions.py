"""Decisions in the log: appended, read back as given, and gone with what they stand on."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed_server.errors import MemoryNotFoundError, MessageNotFoundError, RequestIdReusedError
from seedbed_server.log import Carried, Content, Log, Merge, Retraction, Split, Statement
from tests.log.saying import NEW

MARCH = datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)
GHENT = Statement("Kestrel", "live in", "Ghent", valid_from=MARCH)
RAIN = Statement("Zo\u00eb", "like", "rain \U0001f327", negated=True, valid_to=MARCH)


@pytest.fixture
async def log(tmp_path: Path):
    opened = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    await opened.append(
        "n", "m", "s", [Message("user", (f"{i}",), id=f"m{i}", time=MARCH) for i in range(3)], create=NEW
    )
    yield opened
    await opened.close()


async def contents(log: Log) -> list[object]:
    record = await log.get("n", "m")
    return [(decision.content, decision.source) for decision in await log.decisions(record.key)]


async def decide(log: Log, content: Content, *witnesses: tuple[int, ...]) -> bool:
    """Decide with everything seen."""
    return await log.decide("n", "m", [(content, witnesses)], seen=(await log.get("n", "m")).decided)


def holding(folder: Path, word: bytes) -> list[str]:
    """The files that hold a word."""
    return [file.name for file in folder.iterdir() if word in file.read_bytes()]


async def test_decisions_are_read_back_as_given(log: Log) -> None:
    """In order, with the newest message then and the time of the source; the record names the newest."""
    assert (await log.get("n", "m")).decided == 0
    await log.state("n", "m", [(GHENT, ["m1", "m0"]), (RAIN, ["m2"])])
    assert await decide(log, Merge("x", "e1", "e2"))
    assert await decide(log, Split("x"))
    assert await decide(log, Retraction(("t1", "t2")), (3, 1))
    expected = [(GHENT, 2), (GHENT, 1), (RAIN, 3), (Merge("x", "e1", "e2"), 0), (Split("x"), 0)]
    assert await contents(log) == [*expected, (Retraction(("t1", "t2")), 0)]
    record = await log.get("n", "m")
    decisions = await log.decisions(record.key)
    assert record.decided == decisions[-1].id
    assert [d.id for d in decisions] == sorted({d.id for d in decisions})
    assert {d.last_seq for d in decisions} == {3}
    assert [d.said_at for d in decisions] == [MARCH] * 3 + [None] * 3
    assert [d.witnesses for d in decisions] == [()] * 5 + [((3, 1),)]
    assert await log.decisions(record.key, decisions[3].id) == decisions[4:]
    assert await log.standing(record.key) == decisions[3:]
    times = [d.recorded_at for d in decisions]
    assert times == sorted(times)
    (message,) = (await log.by_seqs(record.key, [3])).values()
    assert message.recorded_at is not None
    assert message.recorded_at <= times[0]


async def test_statements_are_stored_once_and_whole(log: Log) -> None:
    """A repeated request stores nothing; another under its id, or one with an unknown source, is refused whole."""
    for _ in range(2):
        await log.state("n", "m", [(GHENT, ["m0"])], request_id="r")
    with pytest.raises(RequestIdReusedError):
        await log.state("n", "m", [(GHENT, ["m1"])], request_id="r")
    with pytest.raises(MessageNotFoundError):
        await log.state("n", "m", [(RAIN, ["m0"]), (RAIN, ["gone"])], request_id="s")
    with pytest.raises(MemoryNotFoundError):
        await log.state("n", "other", [(RAIN, ["m0"])])
    await log.append("n", "m", "s", [Message("user", ("w",))], request_id="w")
    with pytest.raises(RequestIdReusedError):
        await log.state("n", "m", [(RAIN, ["m0"])], request_id="w")
    assert await contents(log) == [(GHENT, 1)]


async def test_statements_go_with_their_messages(log: Log, tmp_path: Path) -> None:
    """One source less, then none, and no byte of it left; a whole clear takes merges too, as does a deletion."""
    await log.state("n", "m", [(GHENT, ["m0", "m1"]), (RAIN, ["m0"])])
    assert await decide(log, Merge("x", "e1", "e2"))
    await log.forget("n", "m", ["m0"])
    assert await contents(log) == [(GHENT, 2), (Merge("x", "e1", "e2"), 0)]
    await log.clear("n", "m", session="s")
    assert await contents(log) == [(Merge("x", "e1", "e2"), 0)]
    await log.append("n", "m", "s", [Message("user", ("again",), id="m0")])
    await log.state("n", "m", [(GHENT, ["m0"])])
    await log.clear("n", "m")
    assert await contents(log) == []
    assert log.scrubbed
    assert holding(tmp_path, b"Ghent") == holding(tmp_path, b"rain") == []
    await log.append("n", "m", "s", [Message("user", ("again",), id="m0")])
    await log.state("n", "m", [(GHENT, ["m0"])])
    key = (await log.get("n", "m")).key
    await log.delete("n", "m")
    assert await log.decisions(key) == []


async def test_of_two_decisions_at_once_one_is_stored(log: Log) -> None:
    """Who has not seen the other's has to look again; a statement in between is in nobody's way."""
    seen = (await log.get("n", "m")).decided
    await log.state("n", "m", [(GHENT, ["m0"])])
    merges = [Merge(one, "e1", "e2") for one in "xyz"]
    assert sorted([await log.decide("n", "m", [(merge, ())], seen=seen) for merge in merges]) == [False, False, True]
    assert await contents(log) == [(GHENT, 1), (merges[0], 0)]
    assert await decide(log, Split("x"))


async def test_a_decision_goes_with_its_last_witness(log: Log, tmp_path: Path) -> None:
    """Each name and each fact in it needs one; others may be called; the receipt counts what went."""
    assert await decide(log, Merge("x", "e1", "e2secret"), (1, 2), (3,))
    assert await decide(log, Retraction(("t1secret",)), (2,))
    assert await decide(log, Split("y"))
    key = (await log.get("n", "m")).key
    await log.state("n", "m", [(GHENT, ["m0", "m1"])])
    erasure = await log.forget("n", "m", ["m1"])
    assert erasure is not None
    assert (erasure.statements, erasure.decisions) == (1, 1)
    assert [d.witnesses for d in await log.standing(key)] == [((1,), (3,)), ()]
    with pytest.raises(MessageNotFoundError):
        await decide(log, Merge("z", "e3", "e4"), (1,), (2,))
    first, _ = await log.standing(key)
    await log.append("n", "m", "s", [Message("user", ("more",), id="m3")])
    await log.testify(key, {first.id: ((1,), (2, 4)), 9999: ((1,),)})  # 2 is gone, and no witness
    assert await log.forget("n", "m", ["m2"]) is not None
    assert [d.content for d in await log.standing(key)] == [Merge("x", "e1", "e2secret"), Split("y")]
    assert await log.forget("n", "m", ["m3"]) is not None
    assert [d.content for d in await log.standing(key)] == [Split("y")]
    assert holding(tmp_path, b"secret") == []


async def test_nobody_says_a_thing_after_it_is_recorded(log: Log) -> None:
    """A statement whose message comes from the future counts from when that was recorded."""
    await log.append("n", "m", "s", [Message("user", ("far",), id="far", time=datetime(2999, 1, 1, tzinfo=UTC))])
    (at,) = await log.state("n", "m", [(GHENT, ["far"])])
    record = await log.get("n", "m")
    (message,) = (await log.by_seqs(record.key, [4])).values()
    assert at == message.recorded_at == (await log.decisions(record.key))[0].said_at
    (both,) = await log.state("n", "m", [(RAIN, ["far", "m0"])], request_id="r")
    assert both == MARCH
    await log.forget("n", "m", ["far", "m0"])
    assert await log.state("n", "m", [(RAIN, ["far", "m0"])], request_id="r") == [None]


async def test_an_import_of_decisions_is_idempotent(log: Log) -> None:
    """By the ids that they are given: foreign ones, ones that come twice, and ones whose equals are not there."""
    stated = Carried("foreign", GHENT, "", "m0", ())
    again = [Carried(f"old-{n}", Retraction(("t1",)), after, "", (("m1",),)) for n, after in enumerate(("gone", "m2"))]
    given = [stated, stated, *again, Carried("other", GHENT, "", "m0", ())]
    for _ in range(3):
        await log.import_messages("n", "m", [], given)
    key = (await log.get("n", "m")).key
    assert [one.id for one in await log.carried(key)] == ["foreign", "old-1", "other"]
    await log.forget("n", "m", ["m2"])  # a witness less, and the message before it
    assert [one.id for one in await log.carried(key)] == ["foreign", "old-1", "other"]


async def test_a_copy_has_the_decisions_of_the_original_once(log: Log) -> None:
    """Under the same ids, whichever of equal ones have gone meanwhile."""
    for _ in range(2):
        await log.state("n", "m", [(GHENT, ["m0"])])
    key = (await log.get("n", "m")).key
    made = await log.carried(key)
    assert len({one.id for one in made}) == 2
    messages = await log.read(key, limit=10)
    for _ in range(2):
        await log.import_messages("n", "copy", messages, made[1:], create=NEW)
    await log.import_messages("n", "copy", [], made)
    copied = await log.carried((await log.get("n", "copy")).key)
    assert [one.id for one in copied] == [made[1].id, made[0].id]


async def test_decisions_of_an_older_release(log: Log, tmp_path: Path) -> None:
    """They have no ids of their own: exports go on giving them those that follow from what they say."""
    for _ in range(2):
        await log.state("n", "m", [(GHENT, ["m0"])])
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("UPDATE decision SET body = CAST(json_remove(CAST(body AS TEXT), '$.name') AS BLOB)")
    connection.close()
    key = (await log.get("n", "m")).key
    made = await log.carried(key)
    first, second = (one.id.rsplit("-", 1) for one in made)
    assert (first[0], first[1], second[1]) == (second[0], "1", "2")
    done = await log.import_messages("n", "m", [], made)
    assert (done.decisions_imported, done.decisions_skipped) == (0, 2)
