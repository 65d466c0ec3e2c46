"""The log as the rest of the server sees it."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from seedbed.messages import Message
from seedbed.variants import Variant
from seedbed_server.errors import InvalidFieldError
from seedbed_server.log import carrying, changes, deciding, queries, rows, settings, storing
from seedbed_server.log.carrying import Carried
from seedbed_server.log.database import Database, database
from seedbed_server.log.decisions import Content, Decision, Statement, Witnesses, digest
from seedbed_server.log.known import KnownRecords
from seedbed_server.log.migrate import prepare
from seedbed_server.log.places import address
from seedbed_server.log.readers import Readers
from seedbed_server.log.records import Appended, Erasure, Head, Imported, MemoryRecord, NewMemory, Pages
from seedbed_server.log.writer import Writer

_log = logging.getLogger(__name__)

MOST_SEQ = 2**63 - 1


class Log:
    """All messages of all memories. Made by ``open``, for one event loop.

    A write that returned is on disk. Names, sessions and ids are any UTF-8,
    compared byte for byte; an empty ``session`` in a read or in ``clear`` means
    all sessions. Every method raises StorageUnavailableError where the database
    cannot be used, and ShuttingDownError after ``close``; every write also
    StorageFullError and OverloadedError, both of which mean that nothing was stored.
    """

    def __init__(self, database: Database, *, max_waiting: int) -> None:
        self.on_change: list[Callable[[int], None]] = []
        self._known = KnownRecords()
        self._readers = Readers(database)
        self._writer = Writer(database, bound=max_waiting, changed=self._tell)

    @classmethod
    async def open(cls, url: str, *, max_waiting: int = 1024) -> Log:
        """Open the log at ``url`` ("sqlite:///PATH"), made or migrated as needed.

        At most ``max_waiting`` writes wait at a time; one more is refused.
        Raises ValueError for an address that cannot be a log, and
        StorageUnavailableError where what is there cannot be used: its text,
        written for the operator, says so when a newer release wrote it.
        """
        chosen = database(url)
        try:
            await asyncio.to_thread(prepare, chosen.engine)
            return cls(chosen, max_waiting=max_waiting)
        except Exception as error:  # noqa: BLE001  errors of any driver
            raise chosen.translate(getattr(error, "orig", None) or error) from None

    async def close(self) -> None:
        """Carry out the writes that wait, then close everything."""
        await self._writer.close()
        await self._readers.close()

    async def create(self, namespace: str, name: str, new: NewMemory) -> MemoryRecord:
        """Make a memory; MemoryExistsError."""
        return await self._writer.submit(lambda c: changes.create(c, namespace, name, new))

    async def get(self, namespace: str, name: str) -> MemoryRecord:
        """Return a memory; MemoryNotFoundError."""
        known = self._known.get(namespace, name)
        if known is not None:
            return known
        changes = self._known.changes
        record = await self._readers.run(lambda c: queries.get(c, namespace, name))
        self._known.keep(record, changes)
        return record

    async def list(self, namespace: str, after_name: str, limit: int) -> builtins.list[MemoryRecord]:
        """Return at most ``limit`` memories whose names come after ``after_name`` in byte order."""
        return await self._readers.run(lambda c: queries.list_memories(c, namespace, after_name, limit))

    async def update(
        self, namespace: str, name: str, *, variant: Variant | None = None, system: str | None = None, revision: int = 0
    ) -> MemoryRecord:
        """Change the settings that are not None; a ``revision`` other than 0 must be the memory's own.

        Raises MemoryNotFoundError, RevisionChangedError.
        """
        return await self._writer.submit(
            lambda c: changes.change_settings(c, namespace, name, variant=variant, system=system, revision=revision)
        )

    async def delete(self, namespace: str, name: str) -> int:
        """Delete a memory, its messages and its requests; returns how many messages. MemoryNotFoundError."""
        return await self._writer.submit(lambda c: changes.drop(c, namespace, name))

    async def append(
        self,
        namespace: str,
        name: str,
        session: str,
        messages: Sequence[Message],
        *,
        request_id: str = "",
        create: NewMemory | None = None,
    ) -> Appended:
        """Store a batch, all of it or nothing, in ``session``; a message without an id gets one.

        A ``request_id`` that the memory has seen with the same session and
        messages gets the first answer again, and stores nothing. With
        ``create``, a memory that is missing is made with these settings.

        Raises InvalidFieldError (no messages, an id twice in the batch),
        MemoryNotFoundError, MessageIdExistsError, RequestIdReusedError.
        """
        if not messages:
            raise InvalidFieldError("messages", "must not be empty")
        drafts = rows.drafts(messages, session)
        request = rows.exact(request_id, "request_id")
        seal = rows.digest(session, drafts) if request else b""
        batch = storing.Batch(address(namespace, name), drafts, request, seal, create)
        return await self._writer.submit_with_others(storing.append_all, batch)

    async def import_messages(
        self,
        namespace: str,
        name: str,
        messages: Sequence[Message],
        decisions: Sequence[Carried] = (),
        *,
        create: NewMemory | None = None,
    ) -> Imported:
        """Store messages that carry their sessions, and decisions, but for what is stored already; all or none.

        Raises InvalidFieldError (an id twice in the batch), MemoryNotFoundError.
        """
        drafts = rows.drafts(messages, None)
        at = address(namespace, name)
        return await self._writer.submit(lambda c: storing.import_messages(c, at, drafts, decisions, create))

    async def carried(self, key: int) -> builtins.list[Carried]:
        """Return the memory's decisions as they are exported, in order."""
        return await self._readers.run(lambda c: carrying.carried(c, key))

    async def read(
        self, key: int, *, after_seq: int = 0, limit: int, session: str = "", max_bytes: int | None = None
    ) -> builtins.list[Message]:
        """Return at most ``limit`` messages with a greater seq, by seq.

        With ``max_bytes``, no more than fit it, but always the first one.
        """
        after = min(after_seq, MOST_SEQ)
        return await self._readers.run(lambda c: queries.read(c, key, session, after, limit, max_bytes))

    async def tail(self, key: int, *, session: str, n: int, upto_seq: int = MOST_SEQ) -> builtins.list[Message]:
        """Return the newest ``n`` messages with a seq of at most ``upto_seq``, oldest first."""
        return (await self._readers.run(lambda c: queries.tail(c, key, session, n, upto_seq)))[0]

    async def tail_within(
        self, key: int, *, session: str, n: int, upto_seq: int = MOST_SEQ, max_bytes: int
    ) -> tuple[builtins.list[Message], bool]:
        """Do as ``tail``, but with no more than ``max_bytes`` of messages; say whether that left some out."""
        return await self._readers.run(lambda c: queries.tail(c, key, session, n, upto_seq, max_bytes))

    async def seq_at(self, key: int, recorded_at: datetime) -> int:
        """Return the seq of the newest message that was recorded by then, 0 where there is none."""
        return await self._readers.run(lambda c: queries.seq_at(c, key, recorded_at))

    async def namespaces(self) -> builtins.list[str]:
        """Return the namespaces that hold a memory, in byte order."""
        return await self._readers.run(queries.namespaces)

    async def seqs(self, key: int, *, after_seq: int = 0, session: str = "") -> builtins.list[int]:
        """Return the seqs of the messages alive with a greater seq, in order."""
        return await self._readers.run(lambda c: queries.seqs(c, key, after_seq, session))

    async def alive(self, key: int, seqs: Sequence[int]) -> dict[int, str]:
        """Return the ids of the messages of these seqs that are alive; their bodies are not read."""
        return await self._readers.run(lambda c: queries.alive(c, key, seqs))

    async def alive_ids(self, key: int, ids: Sequence[str]) -> dict[str, int]:
        """Return the seqs of the messages of these ids that are alive; their bodies are not read."""
        return await self._readers.run(lambda c: queries.alive_ids(c, key, ids))

    async def by_seqs(self, key: int, seqs: Sequence[int], *, max_bytes: int | None = None) -> dict[int, Message]:
        """Return the messages of these seqs that are alive; with ``max_bytes``, of the first ones as many as fit it."""
        return await self._readers.run(lambda c: queries.by_seqs(c, key, seqs, max_bytes))

    async def by_ids(self, key: int, ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages of these ids that are alive."""
        return await self._readers.run(lambda c: queries.by_ids(c, key, ids))

    async def clear(self, namespace: str, name: str, *, session: str = "") -> tuple[int, int]:
        """Erase the messages; settings and seq stay. Returns the memory's key and the count. MemoryNotFoundError."""
        return await self._writer.submit(lambda c: changes.clear(c, namespace, name, session))

    async def forget(self, namespace: str, name: str, ids: Sequence[str]) -> Erasure | None:
        """Erase these messages; None where none of them is stored. MemoryNotFoundError."""
        wanted = [rows.exact(one, f"message_ids[{i}]") for i, one in enumerate(ids)]
        return await self._writer.submit(lambda c: changes.forget(c, namespace, name, wanted))

    async def decisions(self, key: int, after_id: int = 0) -> builtins.list[Decision]:
        """Return what users decided about the memory's graph after the decision of ``after_id``, in order."""
        return await self._readers.run(lambda c: deciding.read(c, key, after_id))

    async def decide(self, namespace: str, name: str, made: Sequence[tuple[Content, Witnesses]], *, seen: int) -> bool:
        """Store merges, splits or retractions with their witnesses, all or none.

        False, and nothing is stored, where another than a statement was stored
        after the decision ``seen``. Raises MemoryNotFoundError, and
        MessageNotFoundError where a name or a fact has no witness left.
        """
        return await self._writer.submit(lambda c: deciding.decide(c, namespace, name, made, seen))

    async def standing(self, key: int) -> builtins.list[Decision]:
        """Return the memory's decisions that stand by themselves: all but statements."""
        return await self._readers.run(lambda c: deciding.read_standing(c, key))

    async def testify(self, key: int, witnesses: Mapping[int, Witnesses]) -> None:
        """Give decisions of a memory, by id, other witnesses, as far as they live."""
        await self._writer.submit(lambda c: deciding.testify(c, key, witnesses))

    async def state(
        self,
        namespace: str,
        name: str,
        statements: Sequence[tuple[Statement, Sequence[str]]],
        *,
        request_id: str = "",
    ) -> builtins.list[datetime | None]:
        """Store facts with the ids of the messages that they stand on, all of them or none.

        Returns for each when the first of its messages was said, None where all
        are gone. A ``request_id`` that the memory has seen with the same statements
        stores nothing again. Raises MemoryNotFoundError, MessageNotFoundError,
        RequestIdReusedError.
        """
        known = [
            (said, [rows.exact(one, f"triples[{i}].source_ids[{j}]") for j, one in enumerate(ids)])
            for i, (said, ids) in enumerate(statements)
        ]
        request = rows.exact(request_id, "request_id")
        seal = digest(known)
        first = await self._writer.submit(lambda c: deciding.state(c, namespace, name, known, request, seal))
        return [None if micros is None else rows.from_micros(micros) for micros in first]

    async def settings(self) -> dict[str, str]:
        """Return what was decided about the server itself, by name."""
        return await self._readers.run(settings.read)

    async def set(self, values: Mapping[str, str]) -> None:
        """Decide these about the server itself, all or none; an empty value removes."""
        await self._writer.submit(lambda c: settings.change(c, values))

    @property
    def scrubbed(self) -> bool:
        """Whether what was erased is out of every file; else it will be after a later write."""
        return self._writer.scrubbed

    async def heads(self) -> builtins.list[Head]:
        """Return where the log of every memory stands."""
        return await self._readers.run(queries.heads)

    async def message_count(self) -> int:
        """Return how many messages there are in all memories."""
        return await self._readers.run(queries.message_count)

    async def record(self, key: int) -> MemoryRecord | None:
        """Return a memory by its key, or None when it is deleted."""
        return await self._readers.run(lambda c: queries.record(c, key))

    async def pages(self, after: Mapping[int, int], *, share: int, limit: int, reach: int, max_bytes: int) -> Pages:
        """Return what follows these seqs in several memories, as ``queries.pages`` says."""
        return await self._readers.run(lambda c: queries.pages(c, after, share, limit, reach, max_bytes))

    async def erasures(self, after_id: int, limit: int) -> builtins.list[Erasure]:
        """Return at most ``limit`` erasures after the one of ``after_id``, in the order they happened."""
        return await self._readers.run(lambda c: queries.erasures(c, after_id, limit))

    def _tell(self, keys: Sequence[int]) -> None:
        for key in keys:
            self._known.changed(key)
        for told in self.on_change:
            for key in keys:
                try:
                    told(key)
                except Exception as error:  # noqa: BLE001  a listener's fault must not stop the answers
                    _log.error("a listener of the log failed: %s", type(error).__name__)
