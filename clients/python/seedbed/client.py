"""The blocking client of a Seedbed server.

    with Client("localhost:7700", token="…") as client:
        memory = client.memory("maya", Hybrid(Window(10), Vector(k=6)), system="You are kind.")
        memory.write([Message.user("Hi, I'm Maya."), Message.assistant("Hello Maya!")])
        seed = memory.seed("What is my name?")

Only carries calls out; `seedbed.aio` is its asyncio twin, method by method.
Every call raises a `seedbed.errors.SeedbedError` of the fitting class when the
server refuses or cannot be reached, and keeps the client's deadline. Calls that
read, and Write, are repeated by gRPC while the server is unavailable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from seedbed.calls import PAGE_SIZE, STREAM_TIMEOUT, ServerCalls
from seedbed.carriers import Carrier
from seedbed.connection import Connection, Tls
from seedbed.decisions import Decision
from seedbed.memory_calls import MemoryCalls
from seedbed.messages import Message
from seedbed.results import (
    EntityDetails,
    Imported,
    KnownEntity,
    MemoryInfo,
    Merged,
    ModelInfo,
    Recall,
    RecallEntry,
    Receipt,
    ServerStatus,
    Subgraph,
    Triple,
    Written,
)
from seedbed.seeds import Seed
from seedbed.statements import Statement
from seedbed.variants import Variant


class Client:
    """A connection to a server, safe to share between threads; close it, or use it as a context manager.

    ``timeout`` is each call's deadline in seconds. ``namespace`` may stay empty
    where the token opens only one. ``tls`` is False for plain text, True to
    trust the system's authorities, or a `Tls`. Raises ValueError for what is no
    address, such as one with ``http://``, and for a token that no header can carry.
    """

    def __init__(
        self, address: str, *, token: str = "", namespace: str = "", timeout: float = 30.0, tls: Tls | bool = False
    ) -> None:
        self.address = address
        self.namespace = namespace
        self._calls = ServerCalls(namespace)
        self._carrier = Carrier(Connection(address, token, timeout, tls))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; calls under way end with `CallCancelledError`."""
        self._carrier.close()

    def memory(
        self, name: str, variant: Variant | None = None, *, system: str = "", session: str = "default"
    ) -> RemoteMemory:
        """Return a handle on the memory ``name``; no call is made before the handle is used.

        With a variant or a pin, the handle also says how the memory is to be if
        it does not exist yet. Raises TypeError for a variant that cannot be sent.
        """
        return RemoteMemory(self._carrier, MemoryCalls(self.namespace, name, variant, system, session))

    def create_memory(self, name: str, variant: Variant | None = None, *, system: str = "") -> MemoryInfo:
        """Create a memory, read through ``variant`` (the server's default, if None). Raises `MemoryExistsError`."""
        return self._carrier.run(self._calls.create(name, variant, system))

    def get_memory(self, name: str) -> MemoryInfo:
        """Return a memory's settings and counts. Raises `MemoryNotFoundError`."""
        return self._carrier.run(self._calls.get(name))

    def list_memories(self, *, page_size: int = PAGE_SIZE) -> Iterator[MemoryInfo]:
        """Iterate over the memories of the namespace, in the byte order of their names."""
        return self._carrier.items(self._calls.list_memories(page_size))

    def update_memory(
        self, name: str, *, variant: Variant | None = None, system: str | None = None, revision: int = 0
    ) -> MemoryInfo:
        """Change a memory's variant or pin; None leaves it, "" removes the pin. The log is not touched.

        With ``revision``, only if the memory is still at it: else `RevisionChangedError`.
        """
        return self._carrier.run(self._calls.update(name, variant, system, revision))

    def delete_memory(self, name: str) -> int:
        """Delete a memory and all that was derived from it; return how many messages it held."""
        return self._carrier.run(self._calls.delete(name))

    def status(self, memory: str = "") -> ServerStatus:
        """Return what the server runs; with a memory's name, how far its derived stores are too."""
        return self._carrier.run(self._calls.status(memory))

    def models(self) -> tuple[ModelInfo, ...]:
        """Return the server's local models."""
        return self._carrier.run(self._calls.models())

    def reembed(self, model: str, *, give_up: bool = False) -> int:
        """Change the server's embedding model; return how many messages it has to embed, 0 if the model is in use.

        It returns when the change is decided; `status` tells how far it is, and the
        old model answers until it is complete. With ``give_up``, the change to that
        model is given up. Raises `ModelNotFoundError`, `InvalidFieldError` for a
        model that is no encoder, `ModelUnavailableError`, `ReembedRunningError`.
        """
        return self._carrier.run(self._calls.reembed(model, give_up))


class RemoteMemory:
    """A memory on a server, as one agent sees it; a `seedbed.memory.Memory`.

    The variant and the pin travel with the first write, which creates the
    memory. A handle that has either also creates the memory when another call
    finds it missing, and then repeats that call: an agent's first seed, before
    anything was written, is the pin. (Export alone does not.) A handle with
    neither stands for a memory that exists, and raises `MemoryNotFoundError`.

    Of a memory that exists the stored pin counts, not the handle's
    (`Client.update_memory` changes it), but seeds are read through the handle's
    variant: several handles may read one memory in several ways.
    """

    def __init__(self, carrier: Carrier, calls: MemoryCalls) -> None:
        self._carrier = carrier
        self._calls = calls

    def __repr__(self) -> str:
        """The handle's address; no content."""
        return f"RemoteMemory({self._calls.name!r}, {self._calls.variant!r}, session={self._calls.session!r})"

    @property
    def name(self) -> str:
        """The memory's name."""
        return self._calls.name

    @property
    def variant(self) -> Variant | None:
        """The variant that seeds are read through; None leaves it to the memory."""
        return self._calls.variant

    @property
    def system(self) -> str:
        """The pin that the memory is created with."""
        return self._calls.system

    @property
    def session(self) -> str:
        """The session that is written to, and that recency is about."""
        return self._calls.session

    @property
    def store(self) -> tuple[str, str, str, str]:
        """Equal for two handles exactly when what is written to one is written to the other."""
        return (self._carrier.connection.address, self._calls.namespace, self._calls.name, self._calls.session)

    def write(self, messages: Iterable[Message], *, request_id: str = "") -> Written:
        """Store a transcript of 1 to 1000 messages, all or nothing; durable on return.

        Messages without an id get one that follows from the request id, which is
        random unless given. So a write that failed with ``stored == "unknown"``
        can be repeated with the error's ``request_id``, and stores nothing twice.
        """
        return self._carrier.run(self._calls.write(messages, request_id))

    def read(self, *, session: str = "", after_seq: int = 0) -> list[Message]:
        """Return the stored messages, oldest first, of one session or (by default) of all."""
        return list(self.messages(session=session, after_seq=after_seq))

    def messages(self, *, session: str = "", after_seq: int = 0, page_size: int = PAGE_SIZE) -> Iterator[Message]:
        """Iterate over the stored messages as `read` returns them, a page of at most 1000 at a time."""
        return self._carrier.items(self._calls.read(session, after_seq, page_size), self._calls)

    def seed(
        self,
        query: str = "",
        *,
        max_tokens: int | None = None,
        session: str | None = None,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        variant: Variant | None = None,
    ) -> Seed:
        """Return what the model should see now, in at most ``max_tokens`` tokens.

        ``session`` (default: the handle's) is the one that recency is about.
        ``valid_at`` asks for the facts that held then, ``known_at`` for what had
        been recorded by then. ``variant`` reads through another than the handle's.
        """
        call = self._calls.seed(
            query=query,
            max_tokens=max_tokens,
            session=session,
            valid_at=valid_at,
            known_at=known_at,
            variant=variant,
        )
        return self._carrier.run_creating(call, self._calls)

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        session: str = "",
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        explain: bool = False,
    ) -> Recall:
        """Return the at most ``k`` messages that best answer ``query``, best first; with ``explain``, why."""
        call = self._calls.recall(
            query=query, k=k, session=session, valid_at=valid_at, known_at=known_at, explain=explain
        )
        return self._carrier.run_creating(call, self._calls)

    def recalls(
        self, *, session: str = "", with_messages: bool = False, page_size: int = PAGE_SIZE
    ) -> Iterator[RecallEntry]:
        """Iterate over the answered seeds and recalls that the server's recall log keeps, newest first.

        Of one session or (by default) of all; none where the recall log is off.
        ``with_messages`` brings the messages that were shown, as the log has them now.
        """
        call = self._calls.recalls(session=session, with_messages=with_messages, page_size=page_size)
        return self._carrier.items(call, self._calls)

    def clear(self, *, session: str = "") -> int:
        """Erase the messages of the whole memory, or of one session; return how many. Pin and settings stay."""
        return self._carrier.run_creating(self._calls.clear(session), self._calls)

    def forget(self, ids: Sequence[str]) -> Receipt:
        """Erase 1 to 1000 messages and all that only they support, from every store."""
        return self._carrier.run_creating(self._calls.forget(ids), self._calls)

    def import_messages(self, messages: Iterable[Message | Decision], *, timeout: float = STREAM_TIMEOUT) -> Imported:
        """Store any number of messages, in their own sessions or else the handle's.

        Decisions of an `export_all` come after the messages that they speak of.
        What is stored already is skipped, by its id, so with ids an import
        that broke off can be repeated. When ``messages`` raises, what it gave
        before is stored, and the exception is raised here.
        """
        return self._carrier.run(self._calls.import_messages(messages, timeout))

    def export(self, *, timeout: float = STREAM_TIMEOUT) -> Iterator[Message]:
        """Iterate over all messages, by seq, as one stream; the settings are in `Client.get_memory`."""
        return self._carrier.stream(self._calls.export(timeout))

    def export_all(self, *, timeout: float = STREAM_TIMEOUT) -> Iterator[Message | Decision]:
        """Iterate over all messages, by seq, and then over all decisions about the graph of facts, in their order.

        `import_messages` makes a memory of them that has the same graph.
        """
        return self._carrier.stream(self._calls.export_all(timeout))

    def entities(self, *, kind: str = "", name_prefix: str = "", page_size: int = PAGE_SIZE) -> Iterator[KnownEntity]:
        """Iterate over the entities that the conversations name, most mentioned first; of one type, if ``kind``."""
        return self._carrier.items(self._calls.entities(kind, name_prefix, page_size), self._calls)

    def entity(self, entity_id: str) -> EntityDetails:
        """Return one entity with its mentions and facts. Raises `EntityNotFoundError`."""
        return self._carrier.run_creating(self._calls.entity(entity_id), self._calls)

    def triples(
        self,
        *,
        entity_id: str = "",
        predicate: str = "",
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        include_superseded: bool = False,
        page_size: int = PAGE_SIZE,
    ) -> Iterator[Triple]:
        """Iterate over the facts, newest first; those that no longer hold only if asked for."""
        call = self._calls.triples(
            entity_id=entity_id,
            predicate=predicate,
            valid_at=valid_at,
            known_at=known_at,
            include_superseded=include_superseded,
            page_size=page_size,
        )
        return self._carrier.items(call, self._calls)

    def explore(
        self,
        entity_ids: Sequence[str],
        *,
        hops: int = 1,
        predicates: Sequence[str] = (),
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        limit: int = 100,
    ) -> Subgraph:
        """Return the facts at most ``hops`` (up to 4) away from the entities, nearest first."""
        call = self._calls.explore(
            entity_ids=entity_ids,
            hops=hops,
            predicates=predicates,
            valid_at=valid_at,
            known_at=known_at,
            limit=limit,
        )
        return self._carrier.run_creating(call, self._calls)

    def find_paths(
        self,
        from_id: str,
        to_id: str,
        *,
        max_hops: int = 4,
        limit: int = 10,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
    ) -> tuple[tuple[Triple, ...], ...]:
        """Return the paths of at most ``max_hops`` (up to 6) facts between two entities, shortest first."""
        call = self._calls.find_paths(
            from_id=from_id,
            to_id=to_id,
            max_hops=max_hops,
            limit=limit,
            valid_at=valid_at,
            known_at=known_at,
        )
        return self._carrier.run_creating(call, self._calls)

    def merge(self, into_id: str, from_id: str, *, preview: bool = False) -> Merged:
        """Make the entity ``from_id`` an alias of ``into_id``; with ``preview``, only report what would change."""
        return self._carrier.run_creating(self._calls.merge(into_id, from_id, preview=preview), self._calls)

    def split(self, merge_id: str) -> tuple[KnownEntity, ...]:
        """Undo a merge, decided or evident; return the entities as they are apart. Raises `MergeNotFoundError`."""
        return self._carrier.run_creating(self._calls.split(merge_id), self._calls)

    def add_triples(self, statements: Iterable[Statement], *, request_id: str = "") -> tuple[Triple, ...]:
        """Add 1 to 1000 facts, all or none, each with the messages it stands on; return them as stored.

        Repeated with the same ``request_id``, it adds nothing twice. Raises `MessageNotFoundError`.
        """
        return self._carrier.run_creating(self._calls.add_triples(statements, request_id), self._calls)

    def retract_triples(self, triple_ids: Sequence[str]) -> int:
        """Declare facts to be no longer believed; return how many were until now. Raises `TripleNotFoundError`."""
        return self._carrier.run_creating(self._calls.retract_triples(triple_ids), self._calls)
