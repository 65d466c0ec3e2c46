"""Pages: by count and by bytes, complete and in order."""

from __future__ import annotations

import grpc
import pytest

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.message_pb2 import ContentPart, Media, Message, ToolCall
from seedbed_server.errors import InvalidFieldError
from seedbed_server.rpc.checks import count
from seedbed_server.rpc.server import Server

from .calling import Caller, said, written


def _quiet(at: int) -> Message:
    """A message from which nothing is derived."""
    return Message(role="assistant", tool_calls=[ToolCall(id=str(at), name="look")])


def test_the_rule_for_counts() -> None:
    """0 and unset are the default, over the most is the most, negative is refused."""
    assert [count(given, "k", default=10) for given in (None, 0, 1, 10, 999, 1000, 1001, 2**31 - 1)] == [
        10, 10, 1, 10, 999, 1000, 1000, 1000,
    ]  # fmt: skip
    assert count(9, "hops", default=1, most=4) == 4
    with pytest.raises(InvalidFieldError, match="k: is negative"):
        count(-1, "k", default=10)


async def test_pages_of_read(trips: Caller, memory: str) -> None:
    """The default is 100, the most 1000; the last page says that it is the last."""
    for start in (0, 1000):
        await trips(
            "Write", written(memory, *(_quiet(at) for at in range(start, start + (1000 if not start else 100))))
        )
    for asked, given in ((None, 100), (0, 100), (1, 1), (250, 250), (1000, 1000), (5000, 1000), (2**31 - 1, 1000)):
        page = await trips("Read", pb.ReadRequest(memory=memory, page_size=asked))
        assert len(page.messages) == given
        assert page.next_after_seq == given
    last = await trips("Read", pb.ReadRequest(memory=memory, after_seq=1000))
    assert ([m.seq for m in last.messages], last.next_after_seq) == (list(range(1001, 1101)), 0)
    assert [m.seq for m in await trips.read(memory, page_size=333)] == list(range(1, 1101))


async def test_a_page_stays_below_what_a_client_takes_by_default(server: Server, trips: Caller, memory: str) -> None:
    """Messages of 900 kB come a few at a time, to a client that never raised its limit of 4 MiB."""
    large = [
        Message(role="user", parts=[ContentPart(media=Media(media_type=f"image/{at}", data=b"x" * 900_000))])
        for at in range(9)
    ]
    await trips("Write", written(memory, *large[:8], session="s"))
    await trips("Write", written(memory, large[8], session="s"))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        caller = Caller(channel, trips.token)
        page = await caller("Read", pb.ReadRequest(memory=memory, page_size=1000))
        assert 1 < len(page.messages) < 9
        found = await caller.read(memory, page_size=1000)
        _, *exported = await caller("ExportMemory", pb.ExportMemoryRequest(memory=memory))
    assert [m.parts for m in found] == [m.parts for m in large]
    assert [item.message for item in exported] == found
    await trips("DeleteMemory", pb.DeleteMemoryRequest(memory=memory))


async def test_pages_of_memories_in_the_byte_order_of_their_names(server: Server, trips: Caller, memory: str) -> None:
    """Every memory once; pins of 64 kB do not make a page larger than a client takes by default."""
    names = [f"{memory}-{letter}" for letter in ("Z", "a", "a ", "a-b", "aa", "Ä", "ß", "\u20ac", "\ufffd", "🔥")]
    pinned = [f"{memory}-pin-{at:02}" for at in range(80)]
    for name in names:
        await trips("CreateMemory", pb.CreateMemoryRequest(memory=name))
    for name in pinned:
        await trips("CreateMemory", pb.CreateMemoryRequest(memory=name, system="x" * 64 * 1024))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        caller = Caller(channel, trips.token)
        for size in (None, 0, 3, 100, 5000):
            found: list[str] = []
            token = ""
            while True:
                page = await caller("ListMemories", pb.ListMemoriesRequest(page_size=size, page_token=token))
                assert 0 < len(page.memories) <= (size or 100)
                found += [one.memory for one in page.memories]
                token = page.next_page_token
                if not token:
                    break
            mine = [name for name in found if name.startswith(memory)]
            assert mine == sorted(names + pinned, key=str.encode)
    for name in pinned:
        await trips("DeleteMemory", pb.DeleteMemoryRequest(memory=name))


async def test_recall_gives_ten_by_default(trips: Caller, memory: str) -> None:
    """Also for 0; more than there is gives what there is."""
    await trips("Write", written(memory, *(said(f"The lighthouse at mile {at} is white.") for at in range(14))))
    for asked, given in ((None, 10), (0, 10), (3, 3), (5000, 14)):
        response = await trips("Recall", pb.RecallRequest(memory=memory, query="lighthouse", k=asked))
        assert len(response.hits) == given
