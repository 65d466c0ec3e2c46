"""The folder of embedded Chroma: stamped, checked when it is opened, and never filled to the brim."""

import json
import os
import resource
import shutil
import sqlite3
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.api.models.Collection import Collection
from chromadb.errors import InternalError

from seedbed_server.errors import StorageFullError, StorageUnavailableError
from seedbed_server.projections import chroma_worker, pools
from seedbed_server.projections.chroma_worker import LAYOUT, ChromaWorker, Stamp
from seedbed_server.projections.pools import DamagedError


class Folder:
    """Opens workers on one folder, one after another, in this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.aside = path.with_name("chroma.aside")
        self.worker: ChromaWorker | None = None

    def open(self, **settings: Any) -> ChromaWorker:
        """A worker on the folder; the one before is closed."""
        self.close()
        made = {"folder": str(self.path), "fingerprint": "model", "dimensions": 16, "floor": 0}
        self.worker = chroma_worker.create(made | settings)
        return self.worker

    def close(self) -> None:
        """Ends the worker in order, and lets go of the folder as the end of its process would."""
        if self.worker is not None:
            self.worker.close()
            os.close(self.worker._lock)
            self.worker = None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A folder that does not exist yet."""
    folder = Folder(tmp_path / "chroma")
    yield folder
    folder.close()


def done(steps: Generator[None, None, Any]) -> Any:
    """The result of an operation, all of its steps taken."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def fill(worker: ChromaWorker, key: int, count: int) -> None:
    """Stores rows."""
    vectors = np.random.default_rng(0).standard_normal((count, 16)).astype(np.float32)
    done(worker.upsert([f"{key}:{seq}:0" for seq in range(count)], vectors))


def test_same_stamp_opens_the_same_generation(folder: Folder) -> None:
    """A folder of one's own make is opened as it is."""
    worker = folder.open()
    fill(worker, 1, 10)
    generation = worker.describe()["generation"]
    assert folder.open().describe() == {"generation": generation}
    assert not folder.aside.exists()


@pytest.mark.parametrize("change", ["fingerprint", "dimensions", "version", "no stamp", "broken stamp"])
def test_folder_of_another_make_is_set_aside(folder: Folder, change: str) -> None:
    """Another model, another length, another Chroma, or nobody's folder: a new one is begun."""
    worker = folder.open()
    fill(worker, 5, 10)
    generation = worker.describe()["generation"]
    folder.close()
    stamp = folder.path / "seedbed.json"
    if change == "version":
        stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "chroma": "0.1"}))
    elif change == "no stamp":
        stamp.unlink()
    elif change == "broken stamp":
        stamp.write_text("{")
    other: dict[str, dict[str, Any]] = {"fingerprint": {"fingerprint": "other"}, "dimensions": {"dimensions": 8}}
    worker = folder.open(**other.get(change, {}))
    assert worker.describe()["generation"] != generation
    assert worker.count(5) == 0
    assert (folder.aside / "chroma.sqlite3").exists()
    folder.open(**other.get(change, {}))
    assert not folder.aside.exists()


def test_nothing_is_written_below_the_floor_of_free_space(folder: Folder) -> None:
    """A disk that is nearly full refuses writing by name; what is there can be read and deleted."""
    fill(folder.open(), 8, 3)
    worker = folder.open(floor=shutil.disk_usage(folder.path).free * 2)
    with pytest.raises(StorageFullError):
        fill(worker, 8, 4)
    assert len(done(worker.fetch(8, ["8:0:0", "8:1:0", "8:2:0", "8:3:0"]))["ids"]) == 3
    assert done(worker.delete(8, ["8:0:0"])) == 1


def test_folder_in_use_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second worker does not open a folder that another holds, and leaves it alone."""
    fill(folder.open(), 9, 1)
    monkeypatch.setattr(chroma_worker, "LOCK_PATIENCE", 0.1)
    second = Folder(folder.path)
    with pytest.raises(StorageUnavailableError):
        second.open(fingerprint="other")
    assert not folder.aside.exists()


def test_folder_holds_vectors_and_ids_only(folder: Folder) -> None:
    """No text is in its rows: ids, vectors, and the number of the memory."""
    fill(folder.open(), 10, 2)
    folder.close()
    db = sqlite3.connect(folder.path / "chroma.sqlite3")
    columns = "key, string_value, int_value, float_value, bool_value"
    assert set(db.execute(f"SELECT {columns} FROM embedding_metadata")) == {("k", None, 10, None, None)}
    assert db.execute("SELECT count(*) FROM embedding_fulltext_search_content").fetchone() == (0,)
    db.close()


def test_environment_file_of_the_working_directory_is_not_read(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .env beside the server changes nothing of how the folder is opened."""
    (tmp_path / ".env").write_text("CHROMA_API_IMPL=nowhere.Nothing\nALLOW_RESET=TRUE\n")
    monkeypatch.chdir(tmp_path)
    worker = folder.open()
    assert worker._pools.client.get_settings().allow_reset is False
    assert worker._pools.client.get_settings().chroma_api_impl == "chromadb.api.rust.RustBindingsAPI"


def test_no_more_is_loaded_than_may_be(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one collection the client is opened again and again, and every row is where it was, to the bit."""
    monkeypatch.setattr(pools, "LOADED", 1)
    worker = folder.open()
    keys = [1, 9, 2]  # 1 and 2 share a collection
    ids = {key: [f"{key}:{seq}:0" for seq in range(70)] for key in keys}
    vectors = {key: np.random.default_rng(key).standard_normal((70, 16)).astype(np.float32) for key in keys}
    for part in (slice(0, 60), slice(60, 70)):  # 50 rows are in files, the others in Chroma's log
        for key in keys:
            done(worker.upsert(ids[key][part], vectors[key][part]))
    assert done(worker.delete(9, ids[9][:3])) == 3
    assert done(worker.drop(2)) == 70
    for again in (False, True):
        worker = folder.open() if again else worker
        for key, there in ((1, 0), (9, 3), (2, 70)):
            found = done(worker.fetch(key, ids[key]))
            order = [ids[key].index(one) for one in found["ids"]]
            assert sorted(order) == list(range(there, 70))
            assert found["vectors"].tobytes() == vectors[key][order].tobytes()
            assert worker.count(key) == 70 - there


def test_damage_found_while_running_begins_anew(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that is not looked at when the folder is opened: what uses it fails, and the next process begins."""
    worker = folder.open()
    fill(worker, 1, 60)
    fill(worker, 9, 60)
    generation = worker.describe()["generation"]
    folder.close()
    monkeypatch.setattr(pools, "LOADED", 1)  # the first collection is checked, no other
    worker = folder.open()
    assert worker.describe()["generation"] == generation
    for part in folder.path.glob("*/*.bin"):
        os.truncate(part, 10)
    with pytest.raises(DamagedError):
        done(worker.fetch(9, ["9:1:0"]))
    assert DamagedError in worker.fatal
    assert folder.open().describe()["generation"] != generation


def test_memory_is_dropped_in_portions(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call deletes so many rows, and the last says that none is left; a neighbour keeps its own."""
    monkeypatch.setattr(chroma_worker, "LISTED", 30)
    worker = folder.open()
    fill(worker, 1, 70)
    fill(worker, 2, 5)
    assert [done(worker.drop(1)) for _ in range(4)] == [30, 30, 10, 0]
    assert (worker.count(1), worker.count(2)) == (0, 5)
    assert done(worker.present(2, ["2:0:0", "2:4:0", "2:5:0"])) == 2


@pytest.mark.parametrize("error", [OSError, MemoryError, KeyboardInterrupt])
def test_what_is_no_damage_costs_no_row(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """An error that says nothing of the files ends the process, and the next one finds all rows."""
    fill(folder.open(), 1, 60)
    folder.close()

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(Collection, "get", fails)
    stamp = Stamp(chromadb.__version__, LAYOUT, "model", 16)
    with pytest.raises(error):
        chroma_worker._open(folder.path, stamp)
    monkeypatch.undo()
    assert folder.open().count(1) == 60


def test_too_many_open_files_are_no_damage(folder: Folder) -> None:
    """Chroma then says the same as of a damaged index."""
    fill(folder.open(), 1, 60)
    folder.close()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    pool = pools.Pools(folder.path, 16)
    with Path(os.devnull).open("rb") as file:
        free = file.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(InternalError):
            pool.check()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    pool.close()
    assert folder.open().count(1) == 60
