"""The suite that every vector index passes; so far, Chroma embedded in a child process."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.projections.vector_index import ChromaIndex

DIMENSIONS = 16


class Chroma:
    """Opens indexes in one folder, one at a time, as a server does over its life."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index: ChromaIndex | None = None

    async def open(self, fingerprint: str = "model", dimensions: int = DIMENSIONS) -> ChromaIndex:
        """An index that is ready; the one before is closed."""
        await self.close()
        self.index = ChromaIndex(self.folder, fingerprint=fingerprint, dimensions=dimensions)
        await self.index.child.start()
        await self.index.child.wait_ready(60)
        return self.index

    def damage(self, how: str) -> None:
        """Does to files of a closed index what a failing disk does."""
        database = self.folder / "chroma.sqlite3"
        if how == "overwritten database":
            database.write_bytes(b"\xff" * database.stat().st_size)
            return
        parts = list(self.folder.glob("*/*.bin"))
        assert parts
        for part in parts:
            os.truncate(part, 10)

    async def close(self) -> None:
        """Stops the index that is open."""
        if self.index is not None:
            await self.index.child.stop()
            self.index = None


BACKENDS = [Chroma]


@pytest.fixture(scope="module", params=BACKENDS)
async def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChromaIndex]:
    """An index of each backend that tests share; each test has memories of its own in it."""
    backend = request.param(tmp_path_factory.mktemp("shared") / "chroma")
    yield await backend.open()
    await backend.close()


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Chroma]:
    """A place of each backend for indexes that a test opens and closes itself."""
    backend = request.param(tmp_path / "chroma")
    yield backend
    await backend.close()


def rows(key: int, count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> tuple[list[str], np.ndarray]:
    """Ids of a memory and random unit vectors."""
    vectors = np.random.default_rng([seed, key]).standard_normal((count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [f"{key}:{seq}:0" for seq in range(1, count + 1)], vectors


async def there(index: ChromaIndex, key: int, ids: list[str]) -> set[str]:
    """Which of the ids have a row; the memory has no others."""
    found = set(await index.fetch(key, ids))
    assert await index.present(key, ids) == len(found) == await index.count(key)
    return found


async def test_rows(index: ChromaIndex) -> None:
    """Rows come back to the bit, are replaced, counted, deleted, and stay in their memory."""
    ids, vectors = rows(1, 700)
    await index.upsert(ids, vectors)

    found = await index.fetch(1, [*ids, "1:9999:0"])  # over 500 ids, and one unknown
    assert set(found) == set(ids)
    assert np.stack([found[id_] for id_ in ids]).tobytes() == vectors.tobytes()
    assert await index.fetch(1, ["1:9999:0"]) == {}
    assert await index.fetch(1, []) == {}

    await index.upsert(ids, vectors)  # again: nothing doubles
    assert await index.count(1) == 700
    other = rows(1, 2, seed=5)[1]
    await index.upsert(ids[:2], other)  # new vectors for known ids replace the old ones
    assert np.array_equal((await index.fetch(1, ids[:1]))[ids[0]], other[0])

    assert await index.delete(1, [*ids[:600], "1:9999:0"]) == 600
    assert await index.delete(1, ids[:600]) == 0
    assert await there(index, 1, ids) == set(ids[600:])


async def test_memories_of_one_pool_are_apart(index: ChromaIndex) -> None:
    """Keys that share a collection (12, 13) and keys that share a prefix (12, 120) never see each other's rows."""
    shared = rows(12, 3)[1]
    written = [id_ for key in (12, 13, 120) for id_ in rows(key, 3)[0]]
    await index.upsert(written, np.concatenate([shared] * 3))
    for key in (12, 13, 120):
        assert await there(index, key, rows(key, 3)[0]) == set(rows(key, 3)[0])
    with pytest.raises(ValueError, match="another memory"):
        await index.fetch(12, ["120:1:0"])
    with pytest.raises(ValueError, match="another memory"):
        await index.present(12, ["120:1:0"])
    with pytest.raises(ValueError, match="another memory"):
        await index.delete(12, ["13:1:0"])
    assert await index.drop(12) == 3
    assert await index.drop(12) == 0
    assert [await index.count(key) for key in (12, 13, 120)] == [0, 3, 3]


async def test_nothing_is_an_answer(index: ChromaIndex) -> None:
    """A memory without rows, and no rows to write, look for or delete: empty answers, no error."""
    assert (await index.count(3), await index.drop(3), await index.present(3, ["3:1:0"])) == (0, 0, 0)
    await index.upsert([], np.empty((0, DIMENSIONS), np.float32))
    assert await index.delete(3, []) == 0
    await index.upsert(*rows(3, 1))
    assert await index.present(3, []) == 0
    with pytest.raises(ValueError, match="do not fit"):
        await index.upsert(["3:1:0"], np.ones((1, DIMENSIONS + 1), np.float32))


async def test_kept_over_kill_and_restart(backend: Chroma) -> None:
    """kill -9 in the middle of writing loses no row whose upsert had returned, an orderly end none at all."""
    index = await backend.open()
    generation = await index.generation()
    ids, vectors = rows(4, 1000)
    acknowledged: list[str] = []
    under_way = asyncio.Event()

    async def write() -> None:
        for start in range(0, 1000, 20):
            await index.upsert(ids[start : start + 20], vectors[start : start + 20])
            acknowledged.extend(ids[start : start + 20])
            if len(acknowledged) == 200:
                under_way.set()

    writing = asyncio.create_task(write())
    async with asyncio.timeout(60):
        await under_way.wait()
    assert index.child.pid is not None
    os.kill(index.child.pid, signal.SIGKILL)
    with pytest.raises(PartUnavailableError):
        await writing
    with pytest.raises(PartUnavailableError):
        await index.generation()
    await index.child.wait_ready(60)
    assert 200 <= len(acknowledged) < 1000
    found = await index.fetch(4, ids)
    assert set(acknowledged) <= set(found)
    assert all(np.array_equal(found[id_], vectors[ids.index(id_)]) for id_ in found)
    assert await index.generation() == generation
    index = await backend.open()
    assert await index.generation() == generation
    assert await there(index, 4, ids) == set(found)


@pytest.mark.slow
async def test_rows_of_another_model_are_not_kept(backend: Chroma) -> None:
    """An index opened for another encoder is empty and takes vectors of its length; the parent can tell."""
    index = await backend.open()
    await index.upsert(*rows(5, 10))
    generation = await index.generation()
    index = await backend.open(fingerprint="other", dimensions=8)
    assert await index.generation() != generation
    assert await index.count(5) == 0
    await index.upsert(*rows(5, 10, dimensions=8))
    assert await index.count(5) == 10


@pytest.mark.parametrize("damage", [pytest.param("overwritten database", marks=pytest.mark.slow), "truncated index"])
async def test_damaged_store_is_begun_anew(backend: Chroma, damage: str) -> None:
    """What cannot be read is set aside, a new store is there without anybody's help, and the parent can tell."""
    index = await backend.open()
    await index.upsert(*rows(6, 1200))  # enough that Chroma has written its index files
    generation = await index.generation()
    await backend.close()
    backend.damage(damage)
    index = await backend.open()
    assert await index.generation() != generation
    await index.upsert(*rows(6, 10))
    assert await index.count(6) == 10


@pytest.mark.slow
async def test_second_process_does_not_open_the_folder(backend: Chroma) -> None:
    """Two processes on one folder would get wrong answers: the second waits until the first has ended."""
    first = await backend.open()
    await first.upsert(*rows(9, 1))
    second = ChromaIndex(backend.folder, fingerprint="model", dimensions=DIMENSIONS)
    await second.child.start()
    with pytest.raises(PartUnavailableError):
        await second.child.wait_ready(3)
    await backend.close()
    backend.index = second
    await second.child.wait_ready(60)
    assert await second.count(9) == 1
