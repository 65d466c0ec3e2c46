"""What KnowledgeService answers is bounded, complete over its pages, and never refused after it was stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest

from seedbed.errors import InvalidFieldError, from_rpc_error
from seedbed.v1 import knowledge_service_pb2 as pb
from seedbed.v1 import memory_service_pb2
from seedbed.v1.message_pb2 import Message, ToolCall
from seedbed_server.errors import StorageUnavailableError
from seedbed_server.log import Log
from seedbed_server.rpc.knowledge_answers import SOURCES, fitting
from seedbed_server.rpc.knowledge_servicer import KnowledgeServicer
from seedbed_server.rpc.server import Server

from .calling import Caller, written

LONG = 240  # bytes by which a message id is longer than it needs to be


@pytest.fixture
async def small(server: Server, trips: Caller, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Caller]:
    """A server whose answers are at most 768 KiB large, and a client that takes little more."""
    monkeypatch.setattr(KnowledgeServicer, "page_bytes", 12 << 16)
    options = [("grpc.max_receive_message_length", 13 << 16)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=options) as channel:
        yield Caller(channel, trips.token)


@pytest.fixture
async def ids(trips: Caller, memory: str) -> list[str]:
    """The ids of messages in the memory."""
    return await filled(trips, memory, 101)


async def filled(caller: Caller, memory: str, n: int) -> list[str]:
    """The ids of messages from which nothing is read."""
    found = [f"{at:03}" + "i" * LONG for at in range(n)]
    quiet = [Message(id=i, role="assistant", tool_calls=[ToolCall(id="1", name="look")]) for i in found]
    await caller("Write", written(memory, *quiet))
    return found


def said(object_: str, *sources: str, subject: str = "Maya") -> pb.TripleStatement:
    return pb.TripleStatement(subject=subject, predicate="like", object=object_, source_ids=sources)


async def walk(
    caller: Caller, rpc: str, request: Any, field: str, between: Callable[[], Any] | None = None
) -> list[Any]:
    """The pages of a listing, with something done after the first."""
    pages = []
    while True:
        page = await caller(rpc, request)
        pages.append(list(getattr(page, field)))
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return pages
        if between is not None and len(pages) == 1:
            await between()


async def test_a_fact_names_its_newest_sources(trips: Caller, memory: str, ids: list[str]) -> None:
    """A fact that was stated a hundred times in one call is answered, and so is the repeated call."""
    request = pb.AddTriplesRequest(memory=memory, triples=[said("figs", i) for i in ids], request_id="once")
    for _ in range(2):
        answer = await trips("AddTriples", request)
        assert {triple.source_count for triple in answer.triples} == {101}
        assert {tuple(triple.source_ids) for triple in answer.triples} == {tuple(ids[-SOURCES:])}
    (listed,) = (await trips("ListTriples", pb.ListTriplesRequest(memory=memory))).triples
    assert (list(listed.source_ids), listed.source_count) == (ids[-SOURCES:], 101)
    await trips("Forget", memory_service_pb2.ForgetRequest(memory=memory, message_ids=ids[-91:]))
    (listed,) = (await trips("ListTriples", pb.ListTriplesRequest(memory=memory))).triples
    assert (list(listed.source_ids), listed.source_count) == (ids[:10], 10)


async def test_every_answer_is_as_large_as_one_may_be(small: Caller, memory: str) -> None:
    """Facts of long names, each on sixteen messages: whole over the pages, cut short in a subgraph."""
    ids = await filled(small, memory, SOURCES)
    names = [f"{at:03} " + "\N{OLD ITALIC LETTER A}" * 62 for at in range(120)]
    for subject in (None, "Maya"):
        batch = [said(name, *ids, subject=subject or name[::-1]) for name in names]
        answer = await small("AddTriples", pb.AddTriplesRequest(memory=memory, triples=batch))
        assert [triple.object for triple in answer.triples] == names
    pages = await walk(small, "ListTriples", pb.ListTriplesRequest(memory=memory, page_size=1000), "triples")
    assert len(pages) > 1
    assert len({triple.id for page in pages for triple in page}) == sum(map(len, pages)) == 240
    (page,) = await walk(small, "ListEntities", pb.ListEntitiesRequest(memory=memory, page_size=999), "entities")
    assert len({entity.id for entity in page}) == 241
    maya = next(entity.id for entity in page if entity.name == "Maya")
    explored = await small("Explore", pb.ExploreRequest(memory=memory, entity_ids=[maya], hops=2, limit=1000))
    assert explored.truncated
    assert len(explored.triples) > 100
    assert {e.id for e in explored.entities} >= {end for t in explored.triples for end in (t.subject_id, t.object_id)}
    assert len((await small("GetEntity", pb.GetEntityRequest(memory=memory, entity_id=maya))).triples) == 100


async def test_what_stays_is_on_a_page_whatever_goes_between(trips: Caller, memory: str, ids: list[str]) -> None:
    """An erasure or a retraction between two pages hides nothing else; a fact that is new does not show another twice."""
    facts = [said(f"thing {at}", ids[at], subject=f"person {at}") for at in range(9)]
    await trips("AddTriples", pb.AddTriplesRequest(memory=memory, triples=facts))

    async def forget() -> None:
        await trips("Forget", memory_service_pb2.ForgetRequest(memory=memory, message_ids=[ids[8]]))

    async def add() -> None:
        await trips("AddTriples", pb.AddTriplesRequest(memory=memory, triples=[said("a new thing", ids[100])]))

    for rpc, field, request in (
        ("ListTriples", "triples", pb.ListTriplesRequest),
        ("ListEntities", "entities", pb.ListEntitiesRequest),
    ):
        for between in (forget, add):
            before = [one.id for (one,) in await walk(trips, rpc, request(memory=memory, page_size=1), field)]
            assert len(set(before)) == len(before)
            pages = await walk(trips, rpc, request(memory=memory, page_size=2), field, between)
            after = {one.id for (one,) in await walk(trips, rpc, request(memory=memory, page_size=1), field)}
            given = [one.id for page in pages for one in page]
            assert len(set(given)) == len(given)
            assert set(before) & after <= set(given)


@pytest.mark.parametrize(
    "token", ["1", "W10=", "WzEsICJhIl0=", "\N{SNOWMAN}", "W" * 9000, "WyJhIiwgTmFOXQ==", "bnVsbA=="]
)
async def test_a_token_that_no_page_gave(trips: Caller, memory: str, ids: list[str], token: str) -> None:
    """Refused by its field."""
    with pytest.raises(grpc.RpcError) as caught:
        await trips("ListTriples", pb.ListTriplesRequest(memory=memory, page_token=token))
    error = from_rpc_error(caught.value)
    assert isinstance(error, InvalidFieldError)
    assert [field.path for field in error.fields] == ["page_token"]


async def test_an_answer_that_fails_after_the_commit_does_not_say_that_nothing_was_stored(
    trips: Caller, memory: str, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log took the facts, and cannot be read any more when they are to be answered."""

    async def unreadable(*_: object) -> None:
        raise StorageUnavailableError

    monkeypatch.setattr(Log, "alive", unreadable)
    with pytest.raises(grpc.RpcError) as caught:
        await trips("AddTriples", pb.AddTriplesRequest(memory=memory, triples=[said("figs", ids[0])]))
    assert from_rpc_error(caught.value).stored == "unknown"
    monkeypatch.undo()
    assert len((await trips("ListTriples", pb.ListTriplesRequest(memory=memory))).triples) == 1


def test_as_little_as_is_needed_is_left_out() -> None:
    """All; then without words and with one source; then ids alone."""
    whole = [pb.Triple(id=f"t{at}", surface="x" * 100, source_ids=["a" * 50, "b" * 50]) for at in range(10)]
    assert fitting(whole, 10_000) == whole
    short = fitting(whole, 1000)
    assert [(one.id, one.surface, list(one.source_ids)) for one in short] == [(t.id, "", ["b" * 50]) for t in whole]
    assert fitting(whole, 100) == [pb.Triple(id=t.id) for t in whole]


async def test_an_import_that_made_a_memory_says_so_when_it_breaks_off(trips: Caller) -> None:
    """An element without messages makes it; what fails after that does not say that nothing was stored."""
    made = memory_service_pb2.ImportMessagesRequest(memory="made-by-import", system="Be kind.")
    wrong = memory_service_pb2.ImportMessagesRequest(messages=[Message(role="nobody")])
    for stored in ("unknown", "no"):
        with pytest.raises(grpc.RpcError) as caught:
            await trips("ImportMessages", [made, wrong])
        assert from_rpc_error(caught.value).stored == stored
    found = await trips("GetMemory", memory_service_pb2.GetMemoryRequest(memory="made-by-import"))
    assert (found.memory.system, found.memory.message_count) == ("Be kind.", 0)
