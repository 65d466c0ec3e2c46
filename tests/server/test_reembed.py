"""A change of the model on a real server, between tiny real encoders: by gRPC, in Chroma, through kills."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from seedbed import Client, Message
from seedbed.aio import AsyncClient
from seedbed.errors import ModelUnavailableError, ReembedRunningError
from seedbed.results import Recall
from seedbed.v1 import admin_service_pb2 as admin
from seedbed.v1.admin_service_pb2_grpc import AdminServiceStub
from seedbed_server.app.lifecycle import running
from seedbed_server.app.settings import Settings
from tests.encoders import make_encoders
from tests.serving import PATIENCE, until

pytestmark = pytest.mark.timeout(1800)

FIRST, SECOND, THIRD, ABSENT = "tiny-first", "tiny-second", "tiny-third", "all-mpnet-base-v2"
QUERIES = ("Who likes figs?", "the harbour in the evening", "message 7", "a boat with a red sail")
THINGS = ("figs", "boats", "the harbour", "a red sail", "letters", "the evening train", "bread", "Tiger the cat")
BIG, SMALL = "big", "small"
START = datetime(2026, 1, 1, tzinfo=UTC)
MUCH_PATIENCE = 3 * PATIENCE  # two encoders load, one after the other


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Path:
    """A folder of weights with tiny encoders only: without the tagger, which is not needed here."""
    return make_encoders(tmp_path_factory.mktemp("weights"), models_dir, {FIRST: 32, SECOND: 48, THIRD: 32})


def messages(start: int, count: int) -> list[Message]:
    """Messages whose words, times and ids follow from their numbers."""
    made = []
    for n in range(start, start + count):
        rare = random.Random(n)
        text = f"This is message {n}: {rare.choice(THINGS)} and {rare.choice(THINGS)}, said {rare.random():.3f} times."
        said = START + timedelta(minutes=n)
        made.append(Message("user", (text,), rare.choice(("Maya", "Tom")), id=f"m{n}", time=said))
    return made


def ranked(found: Recall) -> list[tuple[str, float]]:
    """Who was found, with scores; an answer without vectors is not one. Without a tagger there are no facts."""
    assert "dense" not in found.degraded_legs
    return [(hit.message.id, round(hit.score, 4)) for hit in found.hits]


# In this process.


@asynccontextmanager
async def opened(folder: Path, encoders: Path) -> AsyncIterator[tuple[AsyncClient, str]]:
    """A server that begins with the first encoder."""
    settings = Settings(listen="127.0.0.1:0", data_dir=folder, models_dir=encoders, encoder=FIRST, min_free_mb=1)
    async with running(settings) as server:
        address = f"127.0.0.1:{server.port}"
        async with AsyncClient(address, timeout=60.0) as client:
            yield client, address


async def applied(client: AsyncClient, memory: str) -> None:
    async with asyncio.timeout(MUCH_PATIENCE):
        while True:
            status = await client.status(memory)
            if all(
                p.applied_seq >= status.last_seq for p in status.projections if p.projection in ("vectors", "lexical")
            ):
                return
            await asyncio.sleep(0.2)


async def detail(client: AsyncClient) -> str:
    """How far the change is; empty when there is none."""
    return next((part.detail for part in (await client.status()).parts if part.part == "reembed"), "")


@pytest.mark.slow
async def test_answers_go_on_through_a_change(tmp_path: Path, encoders: Path) -> None:
    """Each is the old model's until one is the new one's, none is degraded; writes and erasures go on."""
    async with opened(tmp_path, encoders) as (client, address):
        for start in range(0, 1000, 500):
            await client.memory(BIG).write(messages(start, 500))
        await client.memory(SMALL).write(messages(0, 30))
        await asyncio.gather(applied(client, BIG), applied(client, SMALL))

        async def answers() -> list[list[tuple[str, float]]]:
            return [ranked(await client.memory(BIG).recall(query, k=20)) for query in QUERIES]

        before = await answers()
        with pytest.raises(ModelUnavailableError):
            await client.reembed(ABSENT)
        assert await client.reembed(FIRST) == 0
        assert await client.reembed(SECOND) == 1030
        assert await client.reembed(SECOND) == 1030
        for other in (THIRD, FIRST):
            with pytest.raises(ReembedRunningError):
                await client.reembed(other)

        seen, erased = [[each] for each in before], 0
        async with asyncio.timeout(MUCH_PATIENCE):
            while said := await detail(client):
                assert said.startswith(SECOND)
                if erased < 10 and "of 1030" in said and "waits" not in said:
                    receipt = await client.memory(SMALL).forget([f"m{erased}"])
                    rows = {store.store: store.erased for store in receipt.stores}
                    assert rows["log"] == 1
                    assert 1 <= rows["vectors"] <= 2
                    erased += 1
                    written = await client.memory(SMALL).write([Message.user(f"The code is zq{erased}x.")])
                    hits = (await client.memory(SMALL).recall(f"zq{erased}x", k=1)).hits
                    assert [hit.message.id for hit in hits] == list(written.ids)
                for rankings, now in zip(seen, await answers(), strict=True):
                    if now != rankings[-1]:
                        rankings.append(now)
        after = await answers()
        assert after != before
        for rankings, old, new in zip(seen, before, after, strict=True):
            assert rankings in ([old], [old, new])
        assert erased > 0

        assert [model.name for model in await client.models() if model.in_use] == [SECOND]
        status = await client.status()
        assert {part.part: part.detail for part in status.parts}["encoder"] == SECOND
        small = {hit.message.id for hit in (await client.memory(SMALL).recall("figs and boats message", k=100)).hits}
        assert not small & {f"m{n}" for n in range(erased)}
        async with grpc.aio.insecure_channel(address) as channel:  # the same as of vectors that are all made anew
            stub: Any = AdminServiceStub(channel)
            await stub.Rebuild(admin.RebuildRequest(projections=["vectors"]))
        await applied(client, BIG)
        assert await answers() == after
    folders = {path.name for path in (tmp_path / "derived").glob("chroma*") if path.is_dir()}
    assert len(folders) == 1


# In processes that are killed. What encodes there stands in for the encoders: they would take minutes to load.

_SERVER = """
import asyncio, sys
from pathlib import Path
from seedbed_server.app.lifecycle import running
from seedbed_server.app.settings import Settings
from seedbed_server.models import encoder, tagger
from seedbed_server.processes import Child
from seedbed_server.projections.verifying import Verification

class StandIn(Child):
    def __init__(self, name, target, *rest, **options):
        super().__init__(name, "tests.stand_in_encoder:create", *rest, **options)

class Nobody(Child):
    async def start(self):
        pass

encoder.Child, tagger.Child = StandIn, Nobody
fault = Verification.fault

async def held(self):
    while Path(sys.argv[1], "hold").exists():
        await asyncio.sleep(0.05)
    return await fault(self)

Verification.fault = held

async def main(data, models, first):
    settings = Settings(listen="127.0.0.1:0", data_dir=Path(data), models_dir=Path(models), encoder=first, min_free_mb=1)
    async with running(settings) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""
ROOT = Path(__file__).parents[2]


@contextmanager
def life(folder: Path, encoders: Path, first: str = FIRST) -> Iterator[Client]:
    """A server on a folder, which is killed when the block ends. It verifies nothing while there is a file "hold"."""
    command = [sys.executable, "-c", _SERVER, str(folder), str(encoders), first]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            with Client(f"127.0.0.1:{int(server.stdout.readline())}", timeout=60.0) as client:
                yield client
        finally:
            server.kill()


def write(client: Client, start: int, count: int) -> int:
    """Write to both memories, and be told that it is stored; returns where the next ones start."""
    for first in range(start, start + count, 500):
        client.memory(BIG).write(messages(first, min(500, start + count - first)))
    client.memory(SMALL).write(messages(start, 5))
    return start + count


def embedded_all(client: Client, memory: str) -> bool:
    status = client.status(memory)
    (vectors,) = [each for each in status.projections if each.projection == "vectors"]
    return vectors.applied_seq >= status.last_seq


def how_far(client: Client) -> str:
    return next((part.detail for part in client.status().parts if part.part == "reembed"), "")


def embedded(said: str) -> int:
    """How many messages the state of a change says are embedded; -1 where it says nothing of that."""
    found = re.search(r"(\d+) of \d+ messages$", said)
    return int(found[1]) if found else -1


def answers(client: Client) -> list[list[tuple[str, float]]]:
    """The rankings of all queries, once all is embedded."""
    until(lambda: embedded_all(client, BIG), MUCH_PATIENCE)
    memory = client.memory(BIG)
    until(lambda: "dense" not in memory.recall(QUERIES[0]).degraded_legs, MUCH_PATIENCE)
    return [ranked(memory.recall(query, k=20)) for query in QUERIES]


# Moments of a change, in their order, by what its state says.
MOMENTS: dict[str, Callable[[str], bool]] = {
    "decided": lambda said: said != "",
    "begun": lambda said: embedded(said) > 0,
    "half made": lambda said: embedded(said) > 1000,
    "verifying": lambda said: "verifying" in said,
    "removing": lambda said: "removing" in said or said == "",
}


@pytest.mark.slow
def test_kills_at_any_moment_leave_no_trace(tmp_path: Path, encoders: Path) -> None:
    """Killed at each moment of a change, it ends by itself: all is there once, and answers are a fresh index's."""
    folder, rare = tmp_path / "killed", random.Random(7)
    with life(folder, encoders) as client:
        written = write(client, 0, 1000)
        before = answers(client)
        (folder / "hold").touch()
        assert client.reembed(SECOND) == 1005
    for moment, reached in MOMENTS.items():
        if moment == "removing":
            (folder / "hold").unlink()
        with life(folder, encoders) as client:
            written = write(client, written, 200)
            if moment == "decided":
                assert [ids[0] for ids in answers(client) if ids] != []
            until(lambda: reached(how_far(client)), MUCH_PATIENCE)  # noqa: B023 - within the round
            time.sleep(rare.random() / 5)
    with life(folder, encoders) as client:
        until(lambda: not how_far(client), MUCH_PATIENCE)
        assert [model.name for model in client.models() if model.in_use] == [SECOND]
        after = answers(client)
        until(lambda: embedded_all(client, SMALL), MUCH_PATIENCE)
        stored = [(m.seq, m.id) for m in client.memory(BIG).messages()]
        assert stored == [(n + 1, f"m{n}") for n in range(written)]
    assert after != before
    assert vectors_of(folder) == {BIG: written, SMALL: 5 * (1 + len(MOMENTS))}
    with life(tmp_path / "fresh", encoders, SECOND) as client:
        write(client, 0, written)
        assert answers(client) == after


def vectors_of(folder: Path) -> dict[str, int]:
    """How many vectors lie in the one index that a stopped server has left, by memory; each message here has one."""
    (index,) = [path for path in (folder / "derived").glob("chroma*") if path.is_dir()]
    with closing(sqlite3.connect(folder / "log.db")) as db:
        names = {key: name.decode() for key, name in db.execute("SELECT key, name FROM memory")}
    with closing(sqlite3.connect(index / "chroma.sqlite3")) as db:
        ids = [found.split(":") for (found,) in db.execute("SELECT embedding_id FROM embeddings")]
    with closing(sqlite3.connect(folder / "derived" / "derived.db")) as db:
        noted = db.execute("SELECT key, seq FROM vectors WHERE stored = 1 AND chunks = 1").fetchall()
        assert len(db.execute("SELECT DISTINCT space FROM vectors").fetchall()) == 1
    assert sorted((int(key), int(seq)) for key, seq, _ in ids) == sorted(noted)
    return dict(Counter(names[key] for key, _ in noted))


@pytest.mark.slow
def test_without_the_new_model_the_old_one_goes_on(tmp_path: Path, encoders: Path) -> None:
    """Also after a restart, and status says why; once its files are back the change ends by itself."""
    with life(tmp_path / "data", encoders) as client:
        write(client, 0, 100)
        before = answers(client)
        client.reembed(SECOND)
    weights = encoders / SECOND / "model.safetensors"
    aside = weights.rename(encoders / "aside.safetensors")
    with life(tmp_path / "data", encoders) as client:
        until(lambda: "could not start: WeightsError" in how_far(client), MUCH_PATIENCE)
        assert answers(client) == before
        assert {model.name: model.available for model in client.models()}[SECOND] is False
        aside.rename(weights)
        until(lambda: not how_far(client), MUCH_PATIENCE)
        assert answers(client) != before
