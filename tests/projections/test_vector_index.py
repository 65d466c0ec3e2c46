"""The suite that every vector index passes; so far, Chroma embedded in a child process."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from seedbed_server.errors import PartUnavailableError, StorageFullError
from seedbed_server.processes import parent
from seedbed_server.projections.vector_index import ChromaIndex

DIMENSIONS = 16


class Chroma:
    """Opens indexes in one folder, one at a time, as a server does over its life."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index: ChromaIndex | None = None

    async def open(self, fingerprint: str = "model", dimensions: int = DIMENSIONS, floor: int = 1) -> ChromaIndex:
        """An index that is ready; the one before is closed."""
        await self.close()
        self.index = ChromaIndex(self.folder, fingerprint=fingerprint, dimensions=dimensions, floor=floor)
        await self.index.child.start()
        await self.index.child.wait_ready(60)
        return self.index

    async def close(self) -> None:
        """Stops the index that is open."""
        if self.index is not None:
            await self.index.child.stop()
            self.index = None


@pytest.fixture(params=[Chroma])
async def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Chroma]:
    """A place for indexes of each backend."""
    monkeypatch.setattr(parent, "FIRST_DELAY", 0.05)
    backend = request.param(tmp_path / "chroma")
    yield backend
    await backend.close()


def rows(key: int, count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> tuple[list[str], np.ndarray]:
    """Ids of a memory and random unit vectors."""
    vectors = np.random.default_rng([seed, key]).standard_normal((count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [f"{key}:{seq}:0" for seq in range(1, count + 1)], vectors


async def test_rows(backend: Chroma) -> None:
    """Rows come back to the bit, are replaced, deleted, searched, and stay in their memory."""
    index = await backend.open()
    ids, vectors = rows(1, 700)
    await index.upsert(1, ids, vectors)

    found = await index.fetch(1, [*ids, "1:9999:0"])  # over 500 ids, and one unknown
    assert list(found) == ids or set(found) == set(ids)
    assert np.stack([found[id_] for id_ in ids]).tobytes() == vectors.tobytes()
    assert await index.fetch(1, ["1:9999:0"]) == {}
    assert await index.fetch(1, []) == {}

    await index.upsert(1, ids, vectors)  # again: nothing doubles
    assert await index.count(1) == 700
    other = rows(1, 2, seed=5)[1]
    await index.upsert(1, ids[:2], other)  # new vectors for known ids replace the old ones
    assert np.array_equal((await index.fetch(1, ids[:1]))[ids[0]], other[0])

    assert await index.delete(1, [*ids[:600], "1:9999:0"]) == 600
    assert await index.delete(1, ids[:600]) == 0
    assert set(await index.ids(1)) == set(ids[600:])
    assert await index.fetch(1, ids[:600]) == {}
    assert ids[0] not in dict(await index.query(1, other[0], 700))


async def test_memories_of_one_pool_are_apart(backend: Chroma) -> None:
    """Keys that share a collection (1, 65) and keys that share a prefix (1, 11) never see each other's rows."""
    index = await backend.open()
    shared = rows(1, 3)[1]
    for key in (1, 11, 65):
        await index.upsert(key, rows(key, 3)[0], shared)
    for key in (1, 11, 65):
        assert {id_.split(":")[0] for id_, _ in await index.query(key, shared[0], 100)} == {str(key)}
        assert set(await index.ids(key)) == set(rows(key, 3)[0])
    with pytest.raises(ValueError, match="another memory"):
        await index.fetch(1, ["11:1:0"])
    with pytest.raises(ValueError, match="another memory"):
        await index.upsert(1, ["65:1:0"], shared[:1])
    with pytest.raises(ValueError, match="another memory"):
        await index.delete(1, ["65:1:0"])
    assert await index.drop(1) == 3
    assert await index.drop(1) == 0
    assert [await index.count(key) for key in (1, 11, 65)] == [0, 3, 3]


async def test_small_memory_beside_a_large_one_finds_its_rows(backend: Chroma) -> None:
    """The wall stands before the top k: a big neighbour in the pool hides nothing; and drop takes it all."""
    index = await backend.open()
    query = rows(7, 1, seed=9)[1][0]
    near = np.repeat(query[None, :], 2200, axis=0)
    await index.upsert(71, rows(71, 2200)[0], near)  # 71 % 64 == 7
    ids, vectors = rows(7, 5)
    await index.upsert(7, ids, vectors)
    found = await index.query(7, query, 3)
    scores = vectors @ query
    assert [id_ for id_, _ in found] == [ids[row] for row in np.argsort(-scores)[:3]]
    assert np.allclose([score for _, score in found], np.sort(scores)[::-1][:3], atol=1e-6)
    large = await index.query(71, query, 4)  # above the size that is compared row by row
    assert len(large) == 4
    assert all(id_.startswith("71:") and abs(score - 1) < 1e-5 for id_, score in large)
    assert await index.drop(71) == 2200
    assert await index.query(71, query, 4) == []


async def test_nothing_is_an_answer(backend: Chroma) -> None:
    """A memory without rows, k of 0, and no rows to write or delete: empty answers, no error."""
    index = await backend.open()
    vector = rows(3, 1)[1][0]
    assert (await index.query(3, vector, 5), await index.count(3), await index.drop(3)) == ([], 0, 0)
    await index.upsert(3, [], np.empty((0, DIMENSIONS), np.float32))
    assert await index.delete(3, []) == 0
    await index.upsert(3, *rows(3, 1))
    assert await index.query(3, vector, 0) == []
    assert len(await index.query(3, vector, 100)) == 1
    with pytest.raises(ValueError, match="do not fit"):
        await index.upsert(3, ["3:1:0"], np.ones((1, DIMENSIONS + 1), np.float32))


async def test_reopening_keeps_rows_and_generation(backend: Chroma) -> None:
    """After an orderly end everything is there, under the same generation."""
    index = await backend.open()
    ids, vectors = rows(2, 50)
    await index.upsert(2, ids, vectors)
    generation = await index.generation()
    index = await backend.open()
    assert await index.generation() == generation
    found = await index.fetch(2, ids)
    assert np.stack([found[id_] for id_ in ids]).tobytes() == vectors.tobytes()


async def test_killed_index_keeps_what_was_acknowledged(backend: Chroma) -> None:
    """kill -9 in the middle of writing loses no row whose upsert had returned; the generation stays."""
    index = await backend.open()
    generation = await index.generation()
    ids, vectors = rows(4, 1000)
    acknowledged: list[str] = []

    async def write() -> None:
        for start in range(0, 1000, 20):
            await index.upsert(4, ids[start : start + 20], vectors[start : start + 20])
            acknowledged.extend(ids[start : start + 20])

    writing = asyncio.create_task(write())
    await asyncio.sleep(0.4)
    assert index.child.pid is not None
    os.kill(index.child.pid, signal.SIGKILL)
    with pytest.raises(PartUnavailableError):
        await writing
    with pytest.raises(PartUnavailableError):
        await index.generation()
    await index.child.wait_ready(60)
    assert 0 < len(acknowledged) < 1000
    found = await index.fetch(4, ids)
    assert set(acknowledged) <= set(found)
    assert all(np.array_equal(found[id_], vectors[ids.index(id_)]) for id_ in found)
    assert await index.generation() == generation


@pytest.mark.parametrize("change", ["fingerprint", "dimensions", "version", "no stamp"])
async def test_folder_of_another_make_is_set_aside(backend: Chroma, change: str) -> None:
    """Another model, another length, another Chroma, or nobody's folder: a new one, and the parent can tell."""
    index = await backend.open()
    await index.upsert(5, *rows(5, 10))
    generation = await index.generation()
    await backend.close()
    stamp = backend.folder / "seedbed.json"
    if change == "version":
        stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "chroma": "0.1"}))
    if change == "no stamp":
        stamp.unlink()
    index = await backend.open(
        fingerprint="other" if change == "fingerprint" else "model",
        dimensions=8 if change == "dimensions" else DIMENSIONS,
    )
    assert await index.generation() != generation
    assert await index.count(5) == 0
    aside = backend.folder.with_name("chroma.aside")
    assert (aside / "chroma.sqlite3").exists()
    await index.upsert(5, *rows(5, 10, dimensions=8 if change == "dimensions" else DIMENSIONS))
    assert await index.count(5) == 10


@pytest.mark.parametrize("damage", ["truncated database", "overwritten database", "truncated index"])
async def test_damaged_folder_is_set_aside(backend: Chroma, damage: str) -> None:
    """What cannot be read is set aside at the start, said so, and gone at the next."""
    index = await backend.open()
    await index.upsert(6, *rows(6, 1200))  # enough that Chroma has written its index files
    generation = await index.generation()
    await backend.close()
    database = backend.folder / "chroma.sqlite3"
    if damage == "truncated database":
        os.truncate(database, 5000)
    elif damage == "overwritten database":
        database.write_bytes(b"\xff" * database.stat().st_size)
    else:
        parts = list(backend.folder.glob("*/*.bin"))
        assert parts
        for part in parts:
            os.truncate(part, 10)
    index = await backend.open()
    assert await index.generation() != generation
    await index.upsert(6, *rows(6, 10))
    assert await index.count(6) == 10
    second = await index.generation()
    aside = backend.folder.with_name("chroma.aside")
    assert aside.exists()
    index = await backend.open()
    assert await index.generation() == second
    assert not aside.exists()


async def test_nothing_is_written_below_the_floor_of_free_space(backend: Chroma) -> None:
    """A disk that is nearly full refuses writing by name; what is there can be read and deleted."""
    index = await backend.open()
    await index.upsert(8, *rows(8, 3))
    free = shutil.disk_usage(backend.folder).free
    index = await backend.open(floor=free - 1024**3)
    await index.upsert(8, *rows(8, 3))
    await backend.close()
    full = ChromaIndex(backend.folder, fingerprint="model", dimensions=DIMENSIONS, floor=free * 2)
    backend.index = full
    await full.child.start()
    await full.child.wait_ready(60)
    with pytest.raises(StorageFullError):
        await full.upsert(8, *rows(8, 4))
    assert len(await full.fetch(8, rows(8, 3)[0])) == 3
    assert await full.delete(8, rows(8, 3)[0][:1]) == 1


async def test_second_process_does_not_open_the_folder(backend: Chroma) -> None:
    """Two processes on one folder would get wrong answers: the second waits until the first has ended."""
    first = await backend.open()
    await first.upsert(9, *rows(9, 1))
    second = ChromaIndex(backend.folder, fingerprint="model", dimensions=DIMENSIONS, floor=1)
    await second.child.start()
    with pytest.raises(PartUnavailableError):
        await second.child.wait_ready(3)
    await backend.close()
    backend.index = second
    await second.child.wait_ready(60)
    assert await second.count(9) == 1


async def test_folder_holds_vectors_and_ids_only(backend: Chroma) -> None:
    """No text is given to Chroma, and none is in its rows: ids, vectors, and the number of the memory."""
    import sqlite3

    index = await backend.open()
    await index.upsert(10, *rows(10, 2))
    await backend.close()
    with sqlite3.connect(backend.folder / "chroma.sqlite3") as db:
        columns = "key, string_value, int_value, float_value, bool_value"
        assert set(db.execute(f"SELECT {columns} FROM embedding_metadata")) == {("k", None, 10, None, None)}
        assert db.execute("SELECT count(*) FROM embedding_fulltext_search_content").fetchone() == (0,)
    db.close()
