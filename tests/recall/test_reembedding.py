"""The change of the model: laws of its order, with encoders and indices that stand in for the real ones.

A room is opened and abandoned like a server that is killed: what a real server
has on the disk, the log, the derived file and the rows of each index, stays.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.errors import (
    InvalidFieldError,
    ModelNotFoundError,
    ModelUnavailableError,
    PartUnavailableError,
    ReembedRunningError,
    StorageUnavailableError,
)
from seedbed_server.log import Log, NewMemory
from seedbed_server.models import weights
from seedbed_server.models.contract import Passage
from seedbed_server.models.manifest import Model
from seedbed_server.projections.analysis import is_blank
from seedbed_server.projections.contract import Backoff
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.spaces import ServingEncoder, Space, _delete_files, keep_only
from seedbed_server.projections.vectors import Vectors
from seedbed_server.projections.verifying import Verification
from seedbed_server.recall import HotMemories, Lens, QueryVectors, Recall, Search, reembedding
from seedbed_server.recall.parts import REEMBED
from seedbed_server.recall.reembedding import IN_USE, WANTED, Reembedding

from .rooms import MUCH, StandInEncoder, StandInIndex

OLD, NEW, OTHER, TAGGER = "old", "new", "other", "tagger"
FIGS = "I like figs"


class StandInChild:
    """Not a process: ready unless it is told to be down."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = "down"
        self.restarts = 0
        self.detail = "not started"
        self.broken = False

    async def start(self) -> None:
        self.state, self.detail = ("down", "could not start: it is broken") if self.broken else ("ready", "ready")

    async def stop(self) -> None:
        self.state, self.detail = "down", "stopped"


class OtherEncoder(StandInEncoder):
    """An encoder of its own: the vectors of each name are turned another way."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.fingerprint = f"{name}-print"
        self.child = StandInChild("encoder")
        self.gate = asyncio.Event()
        self.gate.set()
        self.one_by_one = False  # the gate closes behind whoever passes it
        self.encoded: list[str] = []

    async def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        self._need()
        return self._turned(await super().encode_queries(texts))

    async def encode_passages(self, passages: Sequence[Passage], *, urgent: bool = False) -> list[np.ndarray]:
        while not self.gate.is_set():
            await self.gate.wait()
        if self.one_by_one:
            self.gate.clear()
        self._need()
        self.encoded += [passage.text for passage in passages]
        return [self._turned(rows) for rows in await super().encode_passages(passages, urgent=urgent)]

    def _turned(self, vectors: np.ndarray) -> np.ndarray:
        return np.roll(vectors, len(self.name), axis=-1)

    def _need(self) -> None:
        if self.child.state != "ready":
            raise PartUnavailableError(self.child.name)


class OtherIndex(StandInIndex):
    """An index whose process can be down."""

    def __init__(self) -> None:
        super().__init__()
        self.child = StandInChild("vectors")

    async def generation(self) -> str:
        if self.child.state != "ready":
            raise PartUnavailableError(self.child.name)
        return await super().generation()


def _model(name: str) -> Model:
    role = "tagger" if name == TAGGER else "encoder"
    return Model(name, role, "1", "MIT", "", (), "", "", 0, (), dimensions=16, max_tokens=256)


class Server:
    """A server in small. ``indices`` are what the disk holds, by model."""

    def __init__(self, folder: Path, indices: dict[str, OtherIndex], first: str = OLD) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.first = first
        self.indices = indices
        self.spaces: dict[str, Space] = {}
        self.models: Sequence[Model] = [_model(name) for name in (OLD, NEW, OTHER, TAGGER)]
        self.broken: set[str] = set()
        self.gated: set[str] = set()
        self.stuck = False  # what another model has left cannot be deleted
        self.running = False
        self.later: list[Server] = []  # on the same disk, after a kill

    async def open(self) -> None:
        self.log = await Log.open(f"sqlite:///{self.folder / 'log.db'}")
        self.derived = await Derived.open(self.folder / "derived", [Lexical.schema, Vectors.schema])
        self.lexical = Lexical(self.derived)
        decided = await self.log.settings()
        space = self.make(_model(decided.get(IN_USE, self.first)))
        self.projector = Projector(self.log, self.derived, (self.lexical, space.vectors), backoff=Backoff(0.01, 0.05))
        self.log.on_change.append(self.projector.changed)
        self.recall = Recall(self.log, self.look(space), self.projector)
        self.serving = ServingEncoder(space.encoder)
        self.change = Reembedding(
            self.log, self.projector, self.recall, self.serving, space,
            models=self.models, weights_dir=self.folder, make=self.make, look=self.look,
            keep_only=self.keep_only, indexable=lambda message: not is_blank(message.text),
        )  # fmt: skip
        await self.change.open(decided)
        self.running = True
        await self.projector.start()
        await self.change.start()

    async def abandon(self) -> None:
        """As by a kill: nothing is finished."""
        if not self.running:
            return
        self.running = False
        await self.change.halt()
        await self.projector.stop()
        await self.derived.close()
        await self.log.close()

    def make(self, model: Model) -> Space:
        index = self.indices.setdefault(model.name, OtherIndex())
        index.child = StandInChild("vectors")
        encoder = OtherEncoder(model.name)
        encoder.child.broken = model.name in self.broken
        if model.name in self.gated:
            encoder.gate.clear()
        vectors = Vectors(self.derived, encoder, index)
        self.spaces[model.name] = Space(cast("Any", encoder), cast("Any", index), vectors)
        return self.spaces[model.name]

    def look(self, space: Space) -> Lens:
        hot = HotMemories(
            self.log, self.projector, self.lexical, space.vectors, space.encoder,
            indexable=lambda message: not is_blank(message.text), limit_bytes=MUCH,
        )  # fmt: skip
        return Lens(hot, QueryVectors(space.encoder))

    async def keep_only(self, spaces: Sequence[Space]) -> None:
        if self.stuck:
            raise StorageUnavailableError
        await keep_only(self.derived, self.folder / "derived", spaces)
        kept = {space.encoder.name for space in spaces}
        for name in self.indices.keys() - kept:
            self.indices[name].begin_anew()

    def encoder(self, name: str) -> OtherEncoder:
        return cast("OtherEncoder", self.spaces[name].encoder)

    async def write(self, memory: str, *texts: str) -> tuple[str, ...]:
        said = [Message.user(text, "Maya") for text in texts]
        return (await self.log.append("default", memory, "s", said, create=NewMemory(Buffer(), ""))).ids

    async def settled(self) -> None:
        for head in await self.log.heads():
            assert await self.projector.wait_applied(head.key, head.last_seq, timeout=60)

    async def at_rest(self) -> None:
        """Also the vectors are compared with their index: before, no search may use them."""
        await self.settled()

        async def states() -> set[str]:
            return {state.state for state in self.projector.status()}

        await until(states, lambda found: found == {"idle"})

    async def found(self, memory: str, query: str = FIGS) -> list[tuple[str, float]]:
        record = await self.log.get("default", memory)
        ranking = await self.recall.search(record, Search(query, 50))
        assert ranking.degraded_legs == ()
        return [(hit.message.text, round(hit.score, 5)) for hit in ranking.hits]

    async def part(self) -> str | None:
        """State and detail of the change; None when there is none."""
        return next((f"{p.state} {p.detail}" for p in await self.change.parts() if p.name == REEMBED), None)

    async def changed(self) -> None:
        await until(self.part, lambda said: said is None)

    async def rows(self, name: str) -> dict[int, list[str]]:
        """The ids of all rows of an index, by memory."""
        rows = sorted(self.indices[name].rows)
        return {key: [row for owner, row in rows if owner == key] for key, _ in rows}

    async def tables(self) -> set[str]:
        """The spaces that the derived file knows anything of."""
        queries = ("SELECT space FROM vectors", "SELECT name FROM projection WHERE name LIKE 'vectors/%'",
                   "SELECT projection FROM cursor WHERE projection LIKE 'vectors/%'",
                   "SELECT name FROM meta WHERE name LIKE 'vectors/%'")  # fmt: skip
        found = await self.derived.read(lambda db: [row for query in queries for (row,) in db.execute(query)])
        return {row.removeprefix("vectors/") for row in found}


async def until(ask: Callable[[], Any], true: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(60):
        while not true(said := await ask()):
            await asyncio.sleep(0.01)
    return said


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "_AGAIN", 0.02)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(tmp_path, {})
    await server.open()
    await server.write("maya", FIGS, "I sold my boat", "\u200b ", "My cat is called Tiger")
    await server.write("tom", "Figs are not for me", "I sail")
    await server.settled()
    yield server
    for each in (server, *server.later):
        await each.abandon()


async def reopened(server: Server) -> Server:
    """The same disk after a kill."""
    await server.abandon()
    again = Server(server.folder, server.indices)
    again.broken, again.gated = server.broken, server.gated
    server.later.append(again)
    return again


async def fresh(server: Server, tmp_path: Path, name: str) -> dict[str, list[tuple[str, float]]]:
    """What a server answers that has never had another model."""
    other = Server(tmp_path, {}, first=name)
    await other.open()
    for memory in await server.log.list("default", "", 100):
        await other.write(memory.name, *[message.text for message in await server.log.read(memory.key, limit=1000)])
    await other.settled()
    found = {memory.name: await other.found(memory.name) for memory in await other.log.list("default", "", 100)}
    await other.abandon()
    return found


async def test_the_old_model_answers_until_the_new_one_does(server: Server, tmp_path: Path) -> None:
    """Answers, also of what is written meanwhile, are the old model's, and then those of a server that had no other."""
    server.gated = {NEW}
    before = await server.found("maya")
    assert await server.change.begin(NEW) == 6
    assert await server.part() == "starting new: making vectors, 0 of 6 messages"
    assert await server.found("maya") == before
    await server.write("maya", "Dried figs keep for a year")
    assert len(await server.found("maya")) > len(before)
    assert next(iter(await server.change.parts())).detail == OLD
    server.encoder(NEW).gate.set()
    await server.changed()
    assert server.change.in_use == server.serving.current.name == NEW
    assert await server.found("maya") != before
    assert {name: await server.found(name) for name in ("maya", "tom")} == await fresh(server, tmp_path / "f", NEW)
    assert await server.log.settings() == {IN_USE: NEW}
    assert await server.rows(NEW) == {1: ["1:1:0", "1:2:0", "1:4:0", "1:5:0"], 2: ["2:1:0", "2:2:0"]}
    assert server.indices[OLD].rows == {}
    assert await server.tables() == {"new-print"}
    await server.write("tom", "A fig after all")
    await server.settled()
    assert "2:3:0" in (await server.rows(NEW))[2]
    assert server.indices[OLD].rows == {}


async def test_what_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown, no encoder, not here, another one while one runs; the one in use, and the same again, are no errors."""
    assert await server.change.begin(OLD) == 0
    with pytest.raises(ModelNotFoundError):
        await server.change.begin("nobody")
    with pytest.raises(InvalidFieldError, match="model: is no encoder"):
        await server.change.begin(TAGGER)
    monkeypatch.setattr(weights, "is_complete", lambda *_: False)
    with pytest.raises(ModelUnavailableError):
        await server.change.begin(NEW)
    monkeypatch.undo()
    assert await server.log.settings() == {IN_USE: OLD}
    assert await server.part() is None
    server.gated = {NEW}
    assert await server.change.begin(NEW) == 6
    space = server.spaces[NEW]
    assert await server.change.begin(NEW) == 6
    assert server.spaces[NEW] is space
    for name in (OTHER, OLD):
        with pytest.raises(ReembedRunningError):
            await server.change.begin(name)
    server.encoder(NEW).gate.set()
    await server.changed()
    assert await server.change.begin(NEW) == 0


async def test_a_search_ends_with_the_model_that_it_began_with(server: Server) -> None:
    """A search that waits for its query while the models change sides gets an answer of one model, not of both."""
    expected = await server.found("maya", "boats and figs")
    server.recall.lens = server.look(server.spaces[OLD])  # with no query in it
    encoder = server.encoder(OLD)
    asked, release = asyncio.Event(), asyncio.Event()
    encode = encoder.encode_queries

    async def slowly(texts: Sequence[str]) -> np.ndarray:
        asked.set()
        await release.wait()
        return await encode(texts)

    encoder.encode_queries = slowly  # type: ignore[method-assign]
    search = asyncio.create_task(server.found("maya", "boats and figs"))
    await asked.wait()
    await server.change.begin(NEW)
    await until(server.part, lambda said: "removing" in (said or ""))
    assert server.change.in_use == NEW
    assert encoder.child.state == "ready"  # not ended before the search is
    release.set()
    assert await search == expected
    await server.changed()
    assert encoder.child.state == "down"


@pytest.mark.parametrize("how", ["forget", "clear", "delete"])
async def test_an_erasure_reaches_both_spaces(server: Server, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go from both; those of a change that then completes are exactly those of the log; the count tells of both."""
    gate = asyncio.Event()
    fault = Verification.fault

    async def held(self: Any) -> str:
        await gate.wait()
        return await fault(self)

    monkeypatch.setattr(Verification, "fault", held)
    await server.change.begin(NEW)
    await until(server.part, lambda said: "verifying, 6 of 6" in (said or ""))
    assert await server.rows(OLD) == await server.rows(NEW)
    if how == "forget":
        first = (await server.log.read(1, limit=1))[0].id
        erasure = await server.log.forget("default", "maya", [first])
        assert erasure is not None
        counts = await server.projector.wait_erased(erasure.id)
        assert counts == {"lexical": 1, "vectors": 2}
        left = ["1:2:0", "1:4:0"]
    else:
        await (server.log.clear("default", "maya") if how == "clear" else server.log.delete("default", "maya"))
        (last,) = await server.log.erasures(0, 10)
        counts = await server.projector.wait_erased(last.id)
        assert counts == {"lexical": 3, "vectors": 6}
        left = []
    for name in (OLD, NEW):
        assert (await server.rows(name)).get(1, []) == left
    gate.set()
    await server.changed()
    assert (await server.rows(NEW)).get(1, []) == left


@pytest.mark.parametrize("moment", ["decided", "half made", "verifying", "committed"])
async def test_a_kill_at_any_moment_is_made_good(server: Server, tmp_path: Path, moment: str, monkeypatch: Any) -> None:
    """After it the change goes on where it was, by itself, and ends as without it; the old model answers meanwhile."""
    before = await server.found("maya")
    server.gated = {NEW}
    if moment == "half made":
        monkeypatch.setattr(Vectors, "batch_messages", 1)
    if moment == "verifying":
        monkeypatch.setattr(Verification, "fault", lambda _: asyncio.Event().wait())
    if moment == "committed":
        monkeypatch.setattr(Reembedding, "_swap", lambda *_: (_ for _ in ()).throw(asyncio.CancelledError()))
    await server.change.begin(NEW)
    server.encoder(NEW).one_by_one = moment == "half made"

    async def there() -> bool:
        if moment == "half made":
            return len(server.indices[NEW].rows) == 1
        if moment == "verifying":
            return await server.part() == "starting new: verifying, 6 of 6 messages"
        return WANTED not in await server.log.settings()

    if moment != "decided":
        server.encoder(NEW).gate.set()
        await until(there, bool)
    monkeypatch.undo()
    again = await reopened(server)
    await again.open()
    await again.at_rest()
    if moment != "committed":
        assert await again.found("maya") == before
        assert (await again.part() or "").partition(":")[0] == "starting new"
        assert await again.change.begin(NEW) == 6
        again.encoder(NEW).gate.set()
    else:
        again.encoder(NEW).gate.set()
    await again.changed()
    await again.settled()
    assert again.change.in_use == NEW
    assert await again.rows(NEW) == {1: ["1:1:0", "1:2:0", "1:4:0"], 2: ["2:1:0", "2:2:0"]}
    assert again.indices[OLD].rows == {}
    assert await again.tables() == {"new-print"}
    assert {name: await again.found(name) for name in ("maya", "tom")} == await fresh(again, tmp_path / "f", NEW)
    if moment == "verifying":  # all was there already: only the sample is encoded again
        said = [FIGS, "I sold my boat", "My cat is called Tiger", "Figs are not for me", "I sail"]
        assert sorted(again.encoder(NEW).encoded) == sorted(said)


async def test_the_wish_outlives_the_derived_folder(server: Server) -> None:
    """With derived/ deleted both are made again, and the change ends as it should."""
    server.gated = {NEW}
    await server.change.begin(NEW)
    again = await reopened(server)
    for file in (server.folder / "derived").iterdir():
        file.unlink()
    server.indices.clear()
    again.gated = set()
    await again.open()
    await again.changed()
    await again.settled()
    assert again.change.in_use == NEW
    assert len(await again.found("maya")) > 0


async def test_a_model_that_cannot_be_loaded_leaves_the_old_one(server: Server) -> None:
    """Status says why; when it can be, the change goes on. Also with nothing to embed."""
    before = await server.found("maya")
    server.broken = {NEW}
    await server.change.begin(NEW)
    said = await until(server.part, lambda said: "waits" in (said or ""))
    assert said == "down new: making vectors, 0 of 6 messages, waits for next encoder (could not start: it is broken)"
    assert await server.found("maya") == before
    child = server.encoder(NEW).child
    child.broken = False
    await child.start()
    await server.changed()
    assert server.change.in_use == NEW
    for memory in ("maya", "tom"):
        await server.log.delete("default", memory)
    server.broken = {OTHER}
    assert await server.change.begin(OTHER) == 0
    await asyncio.sleep(0.2)
    assert server.change.in_use == NEW
    await server.change.give_up(OTHER)
    assert await server.part() is None


@pytest.mark.parametrize("damage", ["lost", "altered", "surplus"])
async def test_vectors_that_are_not_right_are_made_again(server: Server, damage: str, monkeypatch: Any) -> None:
    """A row lost, altered or too many is found before anything is answered from it."""
    index = server.indices.setdefault(NEW, OtherIndex())
    fault = Verification.fault
    faults: list[str] = []

    async def once(self: Any) -> str:
        if not faults:
            place = (1, "1:2:0")
            if damage == "lost":
                del index.rows[place]
            elif damage == "altered":
                index.rows[place] = -index.rows[place]
            else:
                index.rows[1, "1:3:0"] = index.rows[place]
        faults.append(await fault(self))
        return faults[-1]

    monkeypatch.setattr(Verification, "fault", once)
    await server.change.begin(NEW)
    await server.changed()
    assert [bool(each) for each in faults] == [True, False]
    assert await server.rows(NEW) == {1: ["1:1:0", "1:2:0", "1:4:0"], 2: ["2:1:0", "2:2:0"]}


async def test_what_is_never_right_stands_still(server: Server, monkeypatch: Any) -> None:
    """After a few tries, with the reason in status; the old model answers; asked again it is tried again."""
    before = await server.found("maya")
    encoder_of = OtherEncoder.encode_passages

    async def another_every_time(self: OtherEncoder, passages: Any, *, urgent: bool = False) -> list[np.ndarray]:
        rows = await encoder_of(self, passages, urgent=urgent)
        return [np.roll(row, len(self.encoded), axis=-1) for row in rows] if self.name == NEW else rows

    monkeypatch.setattr(OtherEncoder, "encode_passages", another_every_time)
    await server.change.begin(NEW)
    said = await until(server.part, lambda said: (said or "").startswith("down"))
    assert said == "down new: not verified: a vector differs from the message encoded again"
    assert await server.found("maya") == before
    with pytest.raises(ReembedRunningError):
        await server.change.begin(OTHER)
    monkeypatch.undo()
    await server.projector.begin_again(server.spaces[NEW].vectors)
    assert await server.change.begin(NEW) == 6
    await server.changed()
    assert server.change.in_use == NEW


async def test_what_is_given_up_leaves_nothing(server: Server) -> None:
    """No row, no wish; another change can begin."""
    server.gated = {NEW}
    await server.change.begin(NEW)
    await server.change.give_up(OTHER)
    assert await server.part() is not None
    await server.change.give_up(NEW)
    assert (await server.part(), await server.log.settings()) == (None, {IN_USE: OLD})
    assert server.indices[NEW].rows == {}
    assert await server.tables() == {"old-print"}
    await server.change.begin(OTHER)
    await server.changed()
    assert server.change.in_use == OTHER


async def test_a_wanted_model_that_nobody_knows_any_more_is_reported(server: Server) -> None:
    """The old one serves, and the wish can be given up."""
    await server.log.set({WANTED: "gone"})
    again = await reopened(server)
    await again.open()
    await again.settled()
    assert await again.part() == "down gone: no manifest names this model"
    assert len(await again.found("maya")) > 0
    await again.change.give_up("gone")
    assert await again.part() is None


async def test_status_while_the_change_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status that waits for the log while the change goes away is an answer, not an error."""
    server.gated = {NEW}
    await server.change.begin(NEW)
    asked, release = asyncio.Event(), asyncio.Event()
    heads = server.log.heads

    async def slowly() -> Any:
        asked.set()
        await release.wait()
        return await heads()

    monkeypatch.setattr(server.log, "heads", slowly)
    status = asyncio.create_task(server.part())
    await asked.wait()
    await server.change.give_up(NEW)
    release.set()
    assert (await status or "").startswith("starting new: making vectors")
    assert await server.part() is None


@pytest.mark.parametrize("which", ["the old", "given up"])
async def test_an_erasure_waits_for_a_space_that_cannot_be_deleted(server: Server, which: str) -> None:
    """While the deletion fails it is tried again, and nobody is told that an erasure is done."""
    server.stuck = True
    if which == "given up":
        server.gated = {NEW}
    await server.change.begin(NEW)
    giving_up = asyncio.create_task(server.change.give_up(NEW)) if which == "given up" else None
    await until(server.part, lambda said: said == "starting new: removing vectors")
    first = (await server.log.read(1, limit=1))[0].id
    erasure = await server.log.forget("default", "maya", [first])
    assert erasure is not None
    assert await server.projector.wait_erased(erasure.id, timeout=0.2) is None
    assert await server.part() == "starting new: removing vectors"
    with pytest.raises(ReembedRunningError):
        await server.change.begin(OTHER)
    server.stuck = False
    await server.changed()
    if giving_up is not None:
        await giving_up
    assert await server.projector.wait_erased(erasure.id) is not None
    assert server.indices[NEW if giving_up else OLD].rows == {}


async def test_an_erasure_waits_for_what_an_earlier_server_left(server: Server) -> None:
    """What cannot be deleted at the start is deleted later, and until then no erasure is reported as done."""
    again = await reopened(server)
    again.indices[OTHER] = OtherIndex()
    again.indices[OTHER].rows[1, "1:1:0"] = np.zeros(16, np.float32)
    again.stuck = True
    await again.open()
    first = (await again.log.read(1, limit=1))[0].id
    erasure = await again.log.forget("default", "maya", [first])
    assert erasure is not None
    assert await again.projector.wait_erased(erasure.id, timeout=0.2) is None
    again.stuck = False
    assert await again.projector.wait_erased(erasure.id) is not None
    assert again.indices[OTHER].rows == {}


async def test_a_change_begun_before_the_start_is_not_begun_twice(server: Server) -> None:
    """The port is open before the change is taken up: two of them would end in deleting the vectors that serve."""
    server.gated = {NEW}
    await server.change.begin(NEW)
    begun = server.change._task
    await server.change.start()
    assert server.change._task is begun
    server.encoder(NEW).gate.set()
    await server.changed()
    assert await server.rows(NEW) == {1: ["1:1:0", "1:2:0", "1:4:0"], 2: ["2:1:0", "2:2:0"]}


def test_a_folder_that_cannot_be_deleted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are deleted all the same, and the caller learns that one is left."""
    for name in ("kept", "one", "two"):
        (tmp_path / f"chroma-{name}").mkdir()
    rmtree = shutil.rmtree

    def fails(path: Path) -> None:
        if path.name.endswith("one"):
            raise PermissionError
        rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", fails)
    with pytest.raises(StorageUnavailableError):
        _delete_files(tmp_path, ["kept"])
    assert {path.name for path in tmp_path.iterdir()} == {"chroma-kept", "chroma-one"}
