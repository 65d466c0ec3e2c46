"""Decisions and erasures that were acknowledged outlive a kill in the middle of both, and nothing is half done."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.memories.decider import name
from tests.memories.deciding import Desk, desk, name_id, picture
from tests.memories.test_deciding import bytes_of

# Starts a process for each kill.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = 3
ACKNOWLEDGED = 40  # calls between two kills

Told = dict[str, dict[int, Any]]  # what was answered: the results, by number of the name


def decide_until_killed(folder: Path, first: int, told: Told) -> int:
    """Run a process until enough is acknowledged, and kill it; returns the first number that it never came to."""
    command = [sys.executable, "-m", "tests.memories.decider", str(folder), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout, 1):
            note(line, told)
            if count == ACKNOWLEDGED:
                process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    return max(told["state"]) + 3  # two at work: one may have begun the next


def note(line: bytes, told: Told) -> None:
    if line.endswith(b"\n"):
        what, n, result = json.loads(line)
        told[what][n] = result


async def test_decisions_and_erasures_hold_after_kills(tmp_path: Path) -> None:
    """Of each name, what was answered last is so, also after a rebuild; of those forgotten no byte is left."""
    told: Told = defaultdict(dict)
    first = 1
    for _ in range(KILLS):
        first = await asyncio.to_thread(decide_until_killed, tmp_path, first, told)
    async with desk(tmp_path) as room:
        record = await room.record()
        assert await room.projector.wait_applied(record.key, record.last_seq, timeout=30)
        before = picture(await room.graph())
        under_way = await checked(room, told)
        await room.projector.rebuild(record.key)
        assert await room.projector.wait_applied(record.key, record.last_seq, timeout=30)
        assert picture(await room.graph()) == before
        await room.forget(*(f"m{n}" for n in under_way))
    held = await asyncio.to_thread(bytes_of, tmp_path)
    for n in under_way | told["forget"].keys():
        for word in (name(n), name_id(name(n))):
            assert word.encode() not in held, n
    assert name(next(n for n in told["state"] if n not in under_way | told["forget"].keys())).encode() in held


async def checked(room: Desk, told: Told) -> set[int]:
    """Hold what was acknowledged against what is there; returns the numbers whose last call was not answered."""
    graph, record = await room.graph(), await room.record()
    alive = await room.log.alive_ids(record.key, [f"m{n}" for n in range(1, max(told["state"]) + 4)])
    owned = {fact.object: fact for fact in graph.facts.values() if fact.predicate == "owns"}
    under_way = set()
    for n in range(1, max(told["state"]) + 4):
        due = {"state", *{0: ["merge"], 1: ["merge", "split"], 2: ["retract"], 3: []}[n % 4]}
        due |= {"forget"} if n % 3 == 0 else set()
        entity, fact = graph.entity(name_id(name(n))), owned.get(f"kite {n}")
        if f"m{n}" not in alive:  # forgotten, or never there: then nothing stands on it
            assert entity is None
            assert fact is None
            assert told["merge"].get(n) not in graph.identity.merges
        if {what for what in due if n in told[what]} != due:
            under_way.add(n)
            continue
        assert (f"m{n}" in alive) is ("forget" not in due)
        if "forget" in due:
            continue
        assert entity is not None
        assert fact is not None
        assert (fact.retracted_at is not None) is ("retract" in due)
        assert (told["merge"].get(n) in graph.identity.merges) is ("merge" in due and "split" not in due)
        assert (entity.id == name_id("Anchor")) is (n % 4 == 0)
    assert len(under_way & told["state"].keys()) <= 2 * KILLS
    return under_way
