"""ListRecalls: every answered Seed and Recall leaves an entry that says what was asked and what was shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.message_pb2 import AsOf
from seedbed.v1.variant_pb2 import BufferVariant, Variant, WindowVariant

from .calling import Caller, refused, said, written

BUFFER = Variant(buffer=BufferVariant())
WINDOW = Variant(window=WindowVariant(n=1))


async def entries(caller: Caller, memory: str, **fields: Any) -> list[pb.RecallEntry]:
    """All entries, page by page."""
    found: list[pb.RecallEntry] = []
    token = ""
    while True:
        page = await caller("ListRecalls", pb.ListRecallsRequest(memory=memory, page_token=token, **fields))
        assert page.kept == 50
        assert page.entries
        found += page.entries
        token = page.next_page_token
        if not token:
            return found


async def test_a_seed_leaves_an_entry(trips: Caller, memory: str) -> None:
    """With all that was asked, and each piece of what was shown; no text of a message."""
    await trips("Write", written(memory, said("I like figs.", id="m1"), session="one", system="Be kind."))
    known_at = Timestamp()
    known_at.FromDatetime(datetime.now(UTC) + timedelta(hours=1))
    request = pb.SeedRequest(
        memory=memory, session="one", query="Figs?", max_tokens=300, variant=BUFFER, as_of=AsOf(known_at=known_at)
    )
    seed = await trips("Seed", request, headers=[("x-request-id", "run-7")])
    (entry,) = await entries(trips, memory)
    assert (entry.call, entry.request_id, entry.session, entry.query) == ("Seed", "run-7", "one", "Figs?")
    assert (entry.max_tokens, entry.tokens, entry.k, entry.query_cut) == (300, seed.tokens, 0, False)
    assert entry.as_of == request.as_of
    assert abs(entry.time.ToDatetime(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)
    items = [item for message in seed.messages for item in message.items]
    assert [(s.origin, s.kind, s.score, s.tokens, s.message_ids) for s in entry.shown] == [
        (i.origin, i.kind, i.score, i.tokens, i.source_ids) for i in items
    ]
    assert [s.kind for s in entry.shown] == ["pin", "message"]
    assert b"I like figs." not in entry.SerializeToString()


async def test_a_recall_leaves_an_entry(trips: Caller, memory: str) -> None:
    """Also when its caller did not ask why: the legs that found each hit."""
    await trips("Write", written(memory, said("I like figs."), said("And plums."), said("Fine weather today.")))
    query = "Figs and plums? " + "x" * 3000
    found = await trips("Recall", pb.RecallRequest(memory=memory, query=query, k=2, explain=True))
    plain = await trips("Recall", pb.RecallRequest(memory=memory, query="Who likes figs?", session="default"))
    assert plain.hits
    newer, older = await entries(trips, memory)
    assert (older.call, older.session, older.k, older.query, older.query_cut) == ("Recall", "", 2, query[:2048], True)
    assert not older.HasField("max_tokens")
    assert not older.HasField("as_of")
    assert (newer.session, newer.k) == ("default", 10)
    assert list(newer.degraded) == list(plain.degraded_legs)
    assert [list(s.message_ids) for s in newer.shown] == [[hit.message.id] for hit in plain.hits]
    assert [s.score for s in newer.shown] == [hit.score for hit in plain.hits]
    legs = [[leg for leg in hit.legs if leg.rank] for hit in found.hits]
    assert [list(s.legs) for s in older.shown] == legs


async def test_pages_sessions_and_messages(trips: Caller, memory: str) -> None:
    """Newest first; at most 50 are kept here; a page ends where its messages would be too much."""
    await trips("Write", written(memory, said("a" * 900_000, id="big"), said("small", id="small")))
    for at in range(60):
        variant = BUFFER if at % 10 == 9 else WINDOW
        request = pb.SeedRequest(memory=memory, query=str(at), session="ab"[at % 2] if at < 40 else "", variant=variant)
        await trips("Seed", request)
    assert [entry.query for entry in await entries(trips, memory)] == [str(at) for at in range(59, 9, -1)]
    assert [entry.query for entry in await entries(trips, memory, page_size=7)] == [str(at) for at in range(59, 9, -1)]
    odd = await entries(trips, memory, session="b", page_size=4)
    assert [entry.query for entry in odd] == [str(at) for at in range(39, 9, -2)]
    shown = await entries(trips, memory, session="default", with_messages=True)
    assert [[m.id for m in entry.messages] for entry in shown] == [
        ["big", "small"] if at % 10 == 9 else ["small"] for at in range(59, 39, -1)
    ]
    first = await trips("ListRecalls", pb.ListRecallsRequest(memory=memory, with_messages=True, session="default"))
    assert first.ByteSize() < 4 * 2**20


async def test_a_call_that_fails_leaves_no_entry(trips: Caller, memory: str) -> None:
    """Nothing was shown."""
    await trips("Write", written(memory))
    await refused(trips("Seed", pb.SeedRequest(memory=memory, max_tokens=-1)))
    await refused(trips("Recall", pb.RecallRequest(memory=memory, query="x" * 100_001)))
    page = await trips("ListRecalls", pb.ListRecallsRequest(memory=memory))
    assert (list(page.entries), page.next_page_token, page.kept) == ([], "", 50)


async def test_a_tenant_sees_its_own(as_token: Callable[[str], Caller], memory: str) -> None:
    """Two namespaces with a memory of one name; page tokens count within the memory."""
    acme, corp = as_token("acme-token"), as_token("corp-token")
    for at in range(3):
        for caller, word in ((acme, "one's"), (corp, "other's")):
            if not at:
                await caller("Write", written(memory, said(word)))
            await caller("Seed", pb.SeedRequest(memory=memory, query=f"{word} {at}", variant=BUFFER))
    for caller, word in ((acme, "one's"), (corp, "other's")):
        assert [entry.query for entry in await entries(caller, memory)] == [f"{word} {at}" for at in (2, 1, 0)]
        page = await caller("ListRecalls", pb.ListRecallsRequest(memory=memory, page_size=1))
        assert page.next_page_token == "3"
    both = as_token("both-token")
    error = await refused(both("ListRecalls", pb.ListRecallsRequest(namespace="checks", memory=memory)))
    assert error.reason == "MEMORY_NOT_FOUND"
