"""The projection into vectors: the real encoder, and Chroma in its process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from seedbed.messages import Message
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections import vectors
from seedbed_server.projections.contract import Backoff, Batch, StoreLostError
from seedbed_server.projections.derived import FILE, Derived
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.recent import Recent
from seedbed_server.projections.vector_index import ChromaIndex
from seedbed_server.projections.vectors import Held, Vectors, header, passage

from .source import ListLog


class Room:
    """A log, Chroma, and the projection between them; opened and closed like a server."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.folder = folder
        self.encoder = encoder
        self.log = ListLog()
        self.derived: Derived
        self.index: ChromaIndex
        self.vectors: Vectors
        self.projector: Projector
        self.running = False

    async def open(self) -> None:
        self.derived = await Derived.open(self.folder, [Vectors.schema])
        dimensions = self.encoder.dimensions
        self.index = ChromaIndex(self.folder / "chroma", fingerprint="test", dimensions=dimensions, floor=1)
        await self.index.child.start()
        self.vectors = Vectors(self.derived, self.encoder, self.index)
        self.projector = Projector(self.log, self.derived, [self.vectors], backoff=Backoff(0.05, 0.5))
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
        await self.index.child.stop()

    async def settled(self) -> None:
        for head in await self.log.heads():
            assert await self.projector.wait_applied(head.key, head.last_seq, timeout=60)

    async def rows(self, key: int) -> list[str]:
        """The ids of all rows of a memory whose messages have one each."""
        ids = [f"{key}:{seq}:0" for seq in range(1, 10)]
        found = await self.index.fetch(key, ids)
        assert len(found) == await self.index.count(key)
        return [i for i in ids if i in found]

    async def expected(self, key: int) -> list[np.ndarray]:
        messages = [m for m in self.log.memories[key] if m is not None]
        return await self.encoder.encode_passages([passage(m) for m in messages])


@pytest.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> AsyncIterator[Room]:
    """One for all tests, as a Chroma process takes seconds to start: each test has memories of its own."""
    room = Room(tmp_path_factory.mktemp("room"), encoder)
    await room.open()
    yield room
    await room.close()


async def test_vectors_come_back_by_message(room: Room) -> None:
    """Each message's chunks are loaded as encoded, by seq, long ones with several; other memories are apart."""
    room.log.append(1, "I moved to Berlin", "word " * 700 + "the code is 7319", "My cat is called Tiger")
    room.log.append(2, "Something else")
    await room.settled()
    loaded, expected = await room.vectors.load(1), await room.expected(1)
    assert loaded.seqs.tolist() == [1, 2, 3]
    assert np.diff(loaded.offsets).tolist() == [len(vectors) for vectors in expected]
    assert np.diff(loaded.offsets)[1] > 1
    np.testing.assert_allclose(loaded.matrix, np.concatenate(expected), atol=1e-5)
    assert (await room.vectors.load(1, after_seq=2)).seqs.tolist() == [3]
    assert (await room.vectors.load(77)).matrix.shape == (0, room.encoder.dimensions)


async def test_forgotten_messages_leave_no_row(room: Room) -> None:
    """Exactly their rows go, also those of a batch that never reached its cursor."""
    room.log.append(3, "one", "two " * 600, "three")
    await room.settled()
    rows = await room.index.count(3)
    counts = await room.projector.wait_erased(room.log.forget(3, 2), timeout=60)
    assert counts == {"vectors": rows - 2}
    assert await room.rows(3) == ["3:1:0", "3:3:0"]
    room.log.on_change = []
    room.log.append(3, "four")
    message = (await room.log.by_seqs(3, [4]))[4]
    await room.vectors.store(await room.vectors.prepare([Batch(3, (message,))]))  # … and then a crash
    room.log.on_change = [room.projector.changed]
    assert await room.index.count(3) == 3
    await room.projector.wait_erased(room.log.forget(3, 4), timeout=60)
    assert await room.rows(3) == ["3:1:0", "3:3:0"]
    await room.projector.wait_erased(room.log.delete(3), timeout=60)
    assert await room.index.count(3) == 0


async def test_whatever_is_lost_is_made_again(room: Room) -> None:
    """A lost file, then a lost folder, is noticed; afterwards all rows are there, and none too many."""
    room.log.append(4, "one", "two", "three")
    room.log.append(7, "another memory's")
    await room.settled()
    room.log.memories[4][1] = None  # without an erasure: shows that nothing is taken over
    await room.close()
    for file in room.folder.glob(FILE + "*"):
        file.unlink()
    await room.open()
    await room.settled()
    assert await room.rows(4) == ["4:1:0", "4:3:0"]
    assert (await room.vectors.load(4)).seqs.tolist() == [1, 3]

    await room.index.child.stop()
    (room.folder / "chroma" / "seedbed.json").unlink()
    await room.index.child.start()
    room.log.append(4, "four")  # the loss is noticed when this is stored
    assert await room.projector.wait_applied(4, 4, timeout=60)
    assert await room.rows(4) == ["4:1:0", "4:3:0", "4:4:0"]
    assert (await room.vectors.load(4)).seqs.tolist() == [1, 3, 4]
    await room.settled()
    assert await room.rows(7) == ["7:1:0"]


async def test_a_loss_is_noticed_until_it_is_made_good(room: Room) -> None:
    """A server that is killed when it has just noticed that the index is another one notices it again."""
    room.log.append(5, "one", "two")
    await room.settled()
    await room.projector.stop()
    await room.index.child.stop()
    (room.folder / "chroma" / "seedbed.json").unlink()
    await room.index.child.start()
    await room.index.child.wait_ready(60)
    for _ in range(2):  # each time as after a start
        with pytest.raises(StoreLostError):
            await Vectors(room.derived, room.encoder, room.index).open()
    await room.close()
    await room.open()
    room.log.append(5, "three")
    await room.settled()
    assert await room.rows(5) == ["5:1:0", "5:2:0", "5:3:0"]


async def test_what_is_held_is_compared_in_portions(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are missing up to a seq, and those that nothing is noted of, are counted; what is under way is neither."""
    monkeypatch.setattr(vectors, "_PAGE", 2)
    room.log.append(6, "one", "two", "three", "four", "five")
    await room.settled()
    assert await room.vectors.held(6, 4) == Held({1, 2, 3, 4}, 0, 0)
    await room.derived.write(lambda db: db.execute("UPDATE vectors SET stored = 0 WHERE key = 6 AND seq = 3"))
    assert await room.vectors.held(6, 4) == Held({1, 2, 4}, 0, 0)
    assert await room.index.delete(6, ["6:2:0", "6:5:0"]) == 2
    assert await room.vectors.held(6, 4) == Held({1, 2, 4}, 1, 0)
    unknown = ["6:1:1", "6:9:0", "6:10:0"]
    await room.index.upsert(unknown, np.ones((3, room.encoder.dimensions), np.float32))
    assert await room.vectors.held(6, 4) == Held({1, 2, 4}, 1, 3)
    assert await room.vectors.held(77, 4) == Held(set(), 0, 0)


async def test_header_names_speaker_and_day() -> None:
    """The header says who and when; a role stands in for a name."""
    log = ListLog()
    log.append(1, "hello", Message.assistant("hi"))
    found = await log.by_seqs(1, [1, 2])
    assert [header(found[1]), header(found[2])] == ["Maya (1 January 2024): ", "assistant (1 January 2024): "]


async def test_what_was_stored_last_is_loaded_without_the_index(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, and none of it once it is erased."""
    room.log.append(8, "one", "two")
    await room.settled()

    async def nothing(key: int, ids: Sequence[str]) -> Mapping[str, np.ndarray]:
        raise AssertionError(f"{len(ids)} rows were asked for")

    with monkeypatch.context() as patch:
        patch.setattr(room.index, "fetch", nothing)
        loaded = await room.vectors.load(8)
    with monkeypatch.context() as patch:
        patch.setattr(room.vectors, "_recent", Recent())
        assert np.array_equal(loaded.matrix, (await room.vectors.load(8)).matrix)
    await room.projector.wait_erased(room.log.forget(8, 1), timeout=60)
    assert [*room.vectors._recent.of(["8:1:0", "8:2:0"])] == ["8:2:0"]
    assert (await room.vectors.load(8)).seqs.tolist() == [2]
