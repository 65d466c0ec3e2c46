"""Forget: erase messages from the log and from everything derived from it, and say what went."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from seedbed_server.errors import PartUnavailableError, stored_already
from seedbed_server.log import Log
from seedbed_server.memories.witnessing import call_witnesses
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.projector import Projector
from seedbed_server.recall_log import RecallLog

# How long an erasure may take to reach every derived store, in seconds; the caller's deadline may be shorter.
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Erased:
    """What one store erased; ``files_rewritten`` says that no byte of it is left in the store's files."""

    store: str
    rows: int
    files_rewritten: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an erasure; ``missing`` are the ids that were not stored."""

    id: str
    completed_at: datetime
    stores: tuple[Erased, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Erases messages. Once the log has let go of them no answer holds them, whatever a derived store still has."""

    log: Log
    graphs: Graphs
    projector: Projector
    derived: Derived
    recall_log: RecallLog

    async def clear(self, namespace: str, name: str, *, session: str) -> int:
        """Erase the messages of a session, or with "" all; returns how many. MemoryNotFoundError."""
        if session:
            key = (await self.log.get(namespace, name)).key
            await call_witnesses(self.log, self.graphs, key, set(await self.log.seqs(key, session=session)))
        key, cleared = await self.log.clear(namespace, name, session=session)
        with stored_already():
            await self.recall_log.clear(key, session=session)
        return cleared

    async def forget(self, namespace: str, name: str, ids: Sequence[str]) -> Receipt:
        """Erase the messages everywhere and return the receipt.

        Raises MemoryNotFoundError, and PartUnavailableError when a derived store
        could not follow in time: the messages are gone from every answer then,
        and the store erases them when it is back.
        """
        record = await self.log.get(namespace, name)
        stored = await self.log.alive_ids(record.key, ids)
        await call_witnesses(self.log, self.graphs, record.key, set(stored.values()))
        erasure = await self.log.forget(namespace, name, ids)
        counts: dict[str, int] = dict.fromkeys(self.projector.names, 0)
        with stored_already():
            if erasure is not None:
                followed = await self.projector.wait_erased(erasure.id, timeout=PATIENCE)
                if followed is None:
                    raise PartUnavailableError("projections")
                counts |= followed
            clean = await self.derived.scrub()
            entries = await self.recall_log.follow(erasure.id if erasure is not None else None)
        counted = (len(erasure.seqs), erasure.statements, erasure.decisions) if erasure is not None else (0, 0, 0)
        logged = zip(("log", "statements", "decisions"), counted, strict=True)
        return Receipt(
            id=uuid.uuid4().hex,
            completed_at=datetime.now(UTC),
            stores=(
                *(Erased(store, count, self.log.scrubbed) for store, count in logged),
                *(Erased(store, count, clean and store != "vectors") for store, count in counts.items()),
                *([Erased(self.recall_log.name, entries, files_rewritten=True)] if entries is not None else ()),
            ),
            missing=tuple(one for one in dict.fromkeys(ids) if one not in stored),
        )
