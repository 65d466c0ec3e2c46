"""What was acknowledged outlives the server, its derived stores and its children, and answers do not change for it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from seedbed import Buffer, Client, Entity, Hybrid, KnowledgeGraph, Message, Vector, Window
from seedbed.errors import SeedbedError
from seedbed.results import Recall
from seedbed_server.app.demo import LAST_SESSION, conversation
from tests.serving import PARTS, PATIENCE, Serving, said, serving, undegraded, until

# Each starts a server, or several, and waits for its models.
pytestmark = pytest.mark.timeout(600)

MEMORY = "survives"
QUERIES = (
    "Where does Maya live now?",
    "What did Maya say about Elena?",
    "What is the order number for the backpack?",
    "When is the wedding?",
    "Who looked after Biscuit?",
    "hazelnuts",
    "ORD-48213-K",
    "the book that Tomás gave her",
)
EVERY = Hybrid(Window(1), Vector(k=2), Entity(recent=0), KnowledgeGraph(recent=0))
KILLS = 4
# Between two kills, as many batches are acknowledged.
ACKNOWLEDGED = 12


class Batch(NamedTuple):
    """One write; its request id makes it the same write in every life of the server."""

    request_id: str
    session: str
    messages: list[Message]


def batches() -> list[Batch]:
    """The bundled conversation, two messages at a time, within its sessions; ids are left to the client."""
    said_all = [replace(message, id="") for message in conversation()]
    cut: list[list[Message]] = []
    for message in said_all:
        if cut and len(cut[-1]) < 2 and cut[-1][0].session == message.session:
            cut[-1].append(message)
        else:
            cut.append([message])
    return [Batch(f"write-{n}", group[0].session, group) for n, group in enumerate(cut)]


def write(client: Client, batch: Batch) -> tuple[str, ...]:
    memory = client.memory(MEMORY, Buffer(), session=batch.session)
    return memory.write(batch.messages, request_id=batch.request_id).ids


def rankings(client: Client) -> list[Recall]:
    memory = client.memory(MEMORY)
    return [undegraded(partial(memory.recall, query, k=20, explain=True)) for query in QUERIES]


def assert_equal(found: list[Recall], expected: list[Recall]) -> None:
    """The same messages in the same order, with the same scores in every leg."""
    for query, one, other in zip(QUERIES, found, expected, strict=True):
        assert [hit.message.id for hit in one.hits] == [hit.message.id for hit in other.hits], query
        for mine, theirs in zip(one.hits, other.hits, strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-5)
            assert [leg.raw for leg in mine.legs] == pytest.approx([leg.raw for leg in theirs.legs], abs=1e-5)


@pytest.fixture(scope="module")
def uninterrupted(ready: Serving) -> list[Recall]:
    """The rankings of a server that nothing happened to."""
    for batch in batches():
        write(ready.client, batch)
    ready.applied(MEMORY)
    return rankings(ready.client)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Path:
    """A server's folder after KILLS kills during ingest; nothing runs on it."""
    folder = tmp_path_factory.mktemp("killed")
    acknowledged: dict[str, tuple[str, ...]] = {}
    for life in range(KILLS):
        with serving(folder, models_dir) as server:
            if life == 0:
                server.ready()  # at least once the kill hits projections at work
            until_killed(server, acknowledged, ACKNOWLEDGED * (life + 1))
            with suppress(SeedbedError):  # it is dead: what is still under way is not answered
                server.client.status()
    ids = [known for batch in batches() for known in acknowledged.get(batch.request_id, ())]
    (folder / "acknowledged").write_text("\n".join(ids))
    return folder


def until_killed(server: Serving, acknowledged: dict[str, tuple[str, ...]], enough: int) -> None:
    """Write from the first unacknowledged batch on, and kill the server as soon as ``enough`` are acknowledged.

    The writer does not wait for the kill: the next write is under way when it comes.
    """
    reached = threading.Event()

    def ingest() -> None:
        for batch in batches():
            if batch.request_id in acknowledged:
                continue
            try:
                acknowledged[batch.request_id] = write(client, batch)
            except SeedbedError as error:
                assert error.stored == "unknown"
                return
            if len(acknowledged) >= enough:
                reached.set()

    with Client(server.address, timeout=PATIENCE) as client:
        thread = threading.Thread(target=ingest)
        thread.start()
        assert reached.wait(PATIENCE)
        server.kill()
        thread.join()


@pytest.fixture(scope="module")
def survivor(folder: Path, models_dir: Path) -> Iterator[Serving]:
    """The server after its kills, with the ingest completed by the same requests, all of them sent again."""
    with serving(folder, models_dir) as server:
        for batch in batches():
            write(server.client, batch)
        yield server


def test_nothing_acknowledged_is_lost_or_doubled(folder: Path, survivor: Serving) -> None:
    """Counts are exact, seq has no gap, order is that of writing, and every acknowledged id is there."""
    expected = [message for batch in batches() for message in batch.messages]
    stored = survivor.client.memory(MEMORY).read()
    assert [m.text for m in stored] == [m.text for m in expected]
    assert [m.seq for m in stored] == list(range(1, len(expected) + 1))
    acknowledged = (folder / "acknowledged").read_text().split("\n")
    assert acknowledged == [m.id for m in stored[: len(acknowledged)]]
    assert len(acknowledged) >= ACKNOWLEDGED * KILLS
    info = survivor.client.get_memory(MEMORY)
    assert (info.message_count, info.last_seq) == (len(expected), len(expected))


def test_a_write_is_found_at_once_while_models_load(survivor: Serving) -> None:
    """Read your writes, right after a restart: 200 rare words, each looked for right after it was written."""
    assert found_at_once(survivor, "restarted", 200) == 200


def test_a_write_is_found_at_once(ready: Serving) -> None:
    """Read your writes, with all models at work: 100 more."""
    assert found_at_once(ready, "running", 100) == 100


def found_at_once(server: Serving, name: str, count: int) -> int:
    """How many of ``count`` messages are the best hit for their own rare word, asked for at once."""
    memory = server.client.memory(name, Buffer())
    found = 0
    for n in range(count):
        (written,) = memory.write([said(f"My locker at the {n}th station opens with zq{n:03}x.", "Maya")]).ids
        found += memory.recall(f"zq{n:03}x", k=1).hits[0].message.id == written
    return found


def test_recall_is_that_of_an_uninterrupted_run(survivor: Serving, uninterrupted: list[Recall]) -> None:
    """Crashes in the middle of every store leave no trace in an answer."""
    survivor.ready()
    survivor.applied(MEMORY)
    assert_equal(rankings(survivor.client), uninterrupted)


def test_a_dead_child_degrades_recall_and_nothing_else(survivor: Serving) -> None:
    """One after the other killed: writes and recency seeds go on at once, recall is by words, and says so."""
    survivor.ready()
    memory = survivor.client.memory("bereaved", Window(2))
    held = []
    try:
        for number, part in enumerate(PARTS, start=1):
            held.append(replacement_held(survivor, part))
            memory.write([said(f"After the {part} died, I ate figs.", "Maya")])
            assert memory.seed().entries[-1].text == f"After the {part} died, I ate figs."
            found = memory.recall("figs")
            assert len(found.hits) == number
            assert found.degraded_legs[0] == "dense"
            seed = memory.seed("Who ate figs?", variant=EVERY)
            assert "vector" in seed.degraded_parts
            assert seed.entries[-1].text == f"After the {part} died, I ate figs."
        assert {"entity", "knowledge_graph"} <= set(seed.degraded_parts)
    finally:
        for child in held:
            child.resume()
    until(lambda: {p.part for p in survivor.client.status().parts if p.restarts} == set(PARTS))


def replacement_held(server: Serving, part: str) -> psutil.Process:
    """Kill a part's process, and stop the one that replaces it before it can be ready: until it is resumed."""
    dead = server.child(part)
    dead.kill()
    dead.wait(60)
    until(lambda: part in server.parts)
    child = server.child(part)
    child.suspend()
    return child


@pytest.mark.slow
def test_dead_children_come_back(survivor: Serving, uninterrupted: list[Recall]) -> None:
    """They are replaced without anybody's help, catch up, and answer as before."""
    for part in PARTS:
        survivor.child(part).kill()
    memory = survivor.client.memory("bereaved", Window(2))
    memory.write([said("I ate figs again.", "Maya")])
    until(lambda: {p.part for p in survivor.client.status().parts if p.restarts} == set(PARTS))
    survivor.ready()
    survivor.applied("bereaved")
    assert undegraded(lambda: memory.recall("figs again", k=1)).hits[0].message.text == "I ate figs again."
    assert undegraded(lambda: memory.seed("Who ate figs?", variant=EVERY)).entries
    assert_equal(rankings(survivor.client), uninterrupted)


def test_derived_stores_are_made_again_from_the_log(
    folder: Path, survivor: Serving, uninterrupted: list[Recall], models_dir: Path
) -> None:
    """Deleting all of them while the server is down changes no ranking; nor the facts."""
    triples = {triple.id for triple in survivor.client.memory(MEMORY).triples(include_superseded=True)}
    survivor.process.terminate()
    survivor.process.wait(60)
    shutil.rmtree(folder / "data" / "derived")
    with serving(folder, models_dir) as server:
        assert len(server.client.memory(MEMORY, Window(3), session=LAST_SESSION).seed().entries) == 3
        server.ready()
        server.applied(MEMORY)
        assert_equal(rankings(server.client), uninterrupted)
        assert {triple.id for triple in server.client.memory(MEMORY).triples(include_superseded=True)} == triples
