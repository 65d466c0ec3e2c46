"""MemoryService: memories, and the way from a message to a seed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import grpc

from seedbed import wire
from seedbed.messages import Message
from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceServicer
from seedbed.variants import Variant
from seedbed_server.errors import (
    InvalidFieldError,
    MemoryNotFoundError,
    SeedbedError,
    VariantNotRegisteredError,
    stored_already,
)
from seedbed_server.log import Imported, Log, MemoryRecord, NewMemory
from seedbed_server.memories import Ask, Forgetting, Seeder
from seedbed_server.recall import Recall, Search, asker
from seedbed_server.recall_log import RecallLog
from seedbed_server.rpc import answers, checks, decisions, recalls
from seedbed_server.rpc.caller import current_request_id, open_namespace
from seedbed_server.rpc.limits import LIMITS
from seedbed_server.rpc.paging import PAGE_BYTES, ROWS, page, within
from seedbed_server.rpc.recall_entries import of_recall, of_seed

Context = grpc.aio.ServicerContext[Any, Any]

_PAGE = 100
_HITS = 10


@dataclass(frozen=True, slots=True)
class MemoryServicer(MemoryServiceServicer):
    """Reads requests, asks the log, the recall or the seeder, writes answers."""

    log: Log
    recall: Recall
    seeder: Seeder
    forgetting: Forgetting
    recall_log: RecallLog
    default_variant: Variant
    page_bytes: int = PAGE_BYTES

    async def CreateMemory(self, request: pb.CreateMemoryRequest, context: Context) -> pb.CreateMemoryResponse:
        """Create a memory, with the default variant if none is named."""
        namespace, name = _address(request)
        new = self._new(request)
        self.seeder.custom.require(new.variant)
        record = await self.log.create(namespace, name, new)
        return pb.CreateMemoryResponse(memory=answers.memory(record))

    async def GetMemory(self, request: pb.GetMemoryRequest, context: Context) -> pb.GetMemoryResponse:
        """Return a memory's settings and counts."""
        return pb.GetMemoryResponse(memory=answers.memory(await self._record(request)))

    async def ListMemories(self, request: pb.ListMemoriesRequest, context: Context) -> pb.ListMemoriesResponse:
        """List a page of memories; the page token is the last name of the page before."""
        namespace = open_namespace(checks.optional_identifier(request.namespace, "namespace"))
        size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
        after = checks.optional_identifier(request.page_token, "page_token")

        async def read(last: MemoryRecord | None, limit: int) -> Sequence[MemoryRecord]:
            return await self.log.list(namespace, last.name if last else after, limit)

        memories, more = await page(read, answers.memory, size, self.page_bytes)
        return pb.ListMemoriesResponse(memories=memories, next_page_token=memories[-1].memory if more else "")

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest, context: Context) -> pb.UpdateMemoryResponse:
        """Change the variant or the pin, as the mask says."""
        namespace, name = _address(request)
        paths = set(request.update_mask.paths)
        if not paths or paths - {"variant", "system"}:
            raise InvalidFieldError("update_mask", "names something other than variant and system, or nothing")
        variant = checks.variant(request.variant) if "variant" in paths else None
        if variant is not None:
            self.seeder.custom.require(variant)
        system = checks.text_within(request.system, "system", LIMITS.system_bytes) if "system" in paths else None
        record = await self.log.update(namespace, name, variant=variant, system=system, revision=request.revision)
        return pb.UpdateMemoryResponse(memory=answers.memory(record))

    async def DeleteMemory(self, request: pb.DeleteMemoryRequest, context: Context) -> pb.DeleteMemoryResponse:
        """Delete a memory; what is derived from it follows at once."""
        namespace, name = _address(request)
        deleted = await self.log.delete(namespace, name)
        with stored_already():
            await self.recall_log.follow()
        return pb.DeleteMemoryResponse(messages_deleted=deleted)

    async def Write(self, request: pb.WriteRequest, context: Context) -> pb.WriteResponse:
        """Store a batch; the answer comes after the commit and waits for no model."""
        namespace, name = _address(request)
        checks.size_within(request, "messages", LIMITS.batch_bytes)
        session, batch = _session(request.session), checks.messages(request.messages)
        request_id = checks.optional_identifier(request.request_id, "request_id")
        async with self._creating(request) as new:
            stored = await self.log.append(namespace, name, session, batch, request_id=request_id, create=new)
        return pb.WriteResponse(
            message_ids=stored.ids,
            first_seq=stored.first_seq,
            last_seq=stored.last_seq,
            memory_created=stored.created,
        )

    async def Read(self, request: pb.ReadRequest, context: Context) -> pb.ReadResponse:
        """Return a page of messages by seq."""
        session = checks.optional_identifier(request.session, "session")
        size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
        record = await self._record(request)

        async def read(last: Message | None, limit: int) -> Sequence[Message]:
            after = last.seq if last else request.after_seq
            return await self.log.read(record.key, after_seq=after, limit=limit, session=session)

        messages, more = await page(read, wire.message_to_proto, size, self.page_bytes)
        return pb.ReadResponse(messages=messages, next_after_seq=messages[-1].seq if more else 0)

    async def Seed(self, request: pb.SeedRequest, context: Context) -> pb.SeedResponse:
        """Return what the model should see now."""
        variant = checks.variant(request.variant) if request.HasField("variant") else None
        budget = _given(request, "max_tokens")
        valid_at, known_at = checks.as_of(request.as_of)
        ask = Ask(
            session=_session(request.session),
            query=checks.text_within(request.query, "query", LIMITS.query_bytes),
            max_tokens=None if budget is None else checks.not_negative(budget, "max_tokens"),
            valid_at=valid_at,
            known_at=known_at,
        )
        record = await self._record(request)
        seed = await self.seeder.seed(record, variant or record.variant, ask)
        if self.recall_log.kept:
            self.recall_log.note(of_seed(record.key, current_request_id(), ask, seed))
        return wire.seed_to_proto(seed)

    async def Clear(self, request: pb.ClearRequest, context: Context) -> pb.ClearResponse:
        """Erase the messages of a session, or of the whole memory; the pin stays."""
        namespace, name = _address(request)
        session = checks.optional_identifier(request.session, "session")
        return pb.ClearResponse(messages_cleared=await self.forgetting.clear(namespace, name, session=session))

    async def Recall(self, request: pb.RecallRequest, context: Context) -> pb.RecallResponse:
        """Return the ranked search behind the seed; fewer hits where they would not go into one answer."""
        valid_at, known_at = checks.as_of(request.as_of)
        search = Search(
            query=checks.text_within(request.query, "query", LIMITS.query_bytes),
            k=checks.count(_given(request, "k"), "k", default=_HITS),
            session=checks.optional_identifier(request.session, "session"),
            asked_at=valid_at,
        )
        record = await self._record(request)
        if known_at is not None:
            search = replace(search, upto_seq=await self.log.seq_at(record.key, known_at), as_known=True)
        elif not search.session:  # else no facts are asked
            asked_by = await asker(self.log, record.key, search.query, "", record.last_seq)
            search = replace(search, asked_by=asked_by)
        ranking = await self.recall.search(record, search)
        found = answers.ranking(ranking, explain=request.explain)
        del found.hits[len(within(found.hits, self.page_bytes)) :]
        if self.recall_log.kept:
            shown = replace(ranking, hits=ranking.hits[: len(found.hits)])
            entry = of_recall(record.key, current_request_id(), search, shown, valid_at, known_at)
            self.recall_log.note(entry)
        return found

    async def ListRecalls(self, request: pb.ListRecallsRequest, context: Context) -> pb.ListRecallsResponse:
        """Return a page of what was asked and shown, newest first."""
        checks.optional_identifier(request.session, "session")
        size = checks.count(_given(request, "page_size"), "page_size", default=_PAGE)
        record = await self._record(request)
        return await recalls.listed(self.recall_log, self.log, record.key, request, size, self.page_bytes)

    async def Forget(self, request: pb.ForgetRequest, context: Context) -> pb.ForgetResponse:
        """Erase chosen messages from every store, and return the receipt."""
        namespace, name = _address(request)
        ids = checks.identifiers(request.message_ids, "message_ids")
        return pb.ForgetResponse(receipt=answers.receipt(await self.forgetting.forget(namespace, name, ids)))

    async def ImportMessages(
        self, request_iterator: AsyncIterator[pb.ImportMessagesRequest], context: Context
    ) -> pb.ImportMessagesResponse:
        """Store a stream of messages, one element of the stream at a time."""
        first: pb.ImportMessagesRequest | None = None
        total = pb.ImportMessagesResponse()
        stored = False
        try:
            # Also what the iterator raises: an element that cannot be read.
            async for request in request_iterator:
                first = first or request
                done = await self._import(first, request)
                stored |= done.created or done.imported + done.decisions_imported > 0
                total.imported += done.imported
                total.skipped += done.skipped
                total.last_seq = done.last_seq
                total.decisions_imported += done.decisions_imported
                total.decisions_skipped += done.decisions_skipped
        except SeedbedError as error:
            error.after_storing = stored
            raise
        if first is None:
            raise InvalidFieldError("messages", "is empty")
        return total

    async def ExportMemory(
        self, request: pb.ExportMemoryRequest, context: Context
    ) -> AsyncIterator[pb.ExportMemoryResponse]:
        """Return a memory's settings, its messages up to the newest at the start, and what was decided by then."""
        record = await self._record(request)
        decided = await self.log.carried(record.key)
        yield pb.ExportMemoryResponse(memory=answers.memory(record))
        after = 0
        while after < record.last_seq and (found := await self.log.read(record.key, after_seq=after, limit=ROWS)):
            for message in found:
                if message.seq <= record.last_seq:
                    yield pb.ExportMemoryResponse(message=wire.message_to_proto(message))
            after = found[-1].seq
        for made in decided:
            yield pb.ExportMemoryResponse(decision=decisions.to_proto(made))

    async def _import(self, first: pb.ImportMessagesRequest, given: pb.ImportMessagesRequest) -> Imported:
        """Store one element of the stream in the memory that the first one names."""
        namespace, name = _address(first)
        made = decisions.from_protos(given.decisions)
        batch = [_in_session(message) for message in checks.messages(given.messages)] if given.messages else []
        async with self._creating(first) as new:
            return await self.log.import_messages(namespace, name, batch, made, create=new)

    async def _record(self, request: Any) -> MemoryRecord:
        return await self.log.get(*_address(request))

    @asynccontextmanager
    async def _creating(self, request: Any) -> AsyncIterator[NewMemory | None]:
        """How a memory looks that a write creates; None, if its variant is not registered.

        Then a missing memory is a VariantNotRegisteredError; one that exists takes
        every write, also while the package of its variant is not installed.
        """
        new = self._new(request)
        try:
            self.seeder.custom.require(new.variant)
        except VariantNotRegisteredError as missing:
            try:
                yield None
            except MemoryNotFoundError:
                raise missing from None
        else:
            yield new

    def _new(self, request: Any) -> NewMemory:
        """How a memory looks that the request creates."""
        variant = checks.variant(request.variant) if request.HasField("variant") else self.default_variant
        return NewMemory(variant, checks.text_within(request.system, "system", LIMITS.system_bytes))


def _address(request: Any) -> tuple[str, str]:
    namespace = checks.optional_identifier(request.namespace, "namespace")
    name = checks.identifier(request.memory, "memory")
    return open_namespace(namespace), name


def _in_session(message: Message) -> Message:
    return message if message.session else replace(message, session=checks.DEFAULT_SESSION)


def _session(given: str) -> str:
    return checks.optional_identifier(given, "session") or checks.DEFAULT_SESSION


def _given(request: Any, field: str) -> int | None:
    """An optional number of the request; None where it was not given."""
    return getattr(request, field) if request.HasField(field) else None
