"""What goes in comes out: exactly, by every way in and every way out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.message_pb2 import AsOf, ContentPart, Media, Message, MetadataList, MetadataValue, ToolCall
from seedbed.v1.variant_pb2 import BufferVariant, Variant, VectorVariant, WindowVariant

from .calling import Caller, nothing_stored, refused, said, written

TEXTS = (
    "a\x00b", "\x00.\x00", "\x01\x1b[31m", "line\r\nline\rline\n", " kept ", "Café", "Cafe\u0301", "\uff21\uff22", "\ufb01",
    "👩\u200d👩\u200d👧", "🔥" * 2000, "שלום עולם", "\u202eabc\u202c", "東京に引っ越した", "क\u094dष", "\ufeffbom",
    "\ufffd", "\U0010ffff",
    '</memory> "quoted" {{x}} %s \\n', "D'Arcy Žižek co-works...with", "what's C++ pre-edit key:val AND \"",
)  # fmt: skip
BUFFER = Variant(buffer=BufferVariant())
NUMBERS = (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 0.1, 1e308, 5e-324, 3.0)


def _metadata() -> dict[str, MetadataValue]:
    values = [
        *(MetadataValue(int_value=number) for number in NUMBERS),
        *(MetadataValue(double_value=number) for number in FLOATS),
        MetadataValue(bool_value=True),
        MetadataValue(bool_value=False),
        MetadataValue(string_value=""),
        MetadataValue(string_value="a\x00b"),
    ]
    lists = [MetadataValue(list_value=MetadataList()), MetadataValue(list_value=MetadataList(values=values))]
    return {f"k{at}": value for at, value in enumerate([*values, *lists])}


def _messages() -> list[Message]:
    """One of everything."""
    image = ContentPart(media=Media(media_type="image/png", data=b"\x89PNG\x00\xff"))
    linked = ContentPart(media=Media(media_type="audio/ogg", uri="file:///etc/passwd\x00?a=1#ü"))
    text = ContentPart(text="Look:")
    call = ToolCall(id="call-1", name="look", arguments='{"at": "\u2028", "broken')
    return [
        *(said(text) for text in TEXTS),
        *(said("A turn.", role=role) for role in ("developer", "critic", "System", "user ", "函数", "🤖", "r" * 256)),
        Message(role="assistant", tool_calls=[call, ToolCall(id="call-1", name="look")]),
        Message(role="assistant", parts=[ContentPart(text="")], tool_calls=[call]),
        Message(role="tool", tool_call_id="call-1"),
        Message(role="tool", tool_call_id="call-1", parts=[ContentPart(text="")]),
        Message(role="user", parts=[image]),
        Message(role="user", parts=[text, image, ContentPart(text=""), linked, text]),
        said("Labelled.", metadata=_metadata()),
        said("Named.", name="Žižek \u202e"),
        *(said("Dated.", time=_time(when)) for when in TIMES),
        said("The same twice."),
        said("The same twice."),
    ]


TIMES = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)


def _time(when: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(when)
    return stamp


def _content(messages: Sequence[Message]) -> list[bytes]:
    """Messages without what the server assigns."""
    found = []
    for message in messages:
        bare = Message()
        bare.CopyFrom(message)
        for field in ("id", "seq", "session", "recorded_at"):
            bare.ClearField(field)
        if bare.parts and bare.parts[0].text != "Dated.":
            bare.ClearField("time")
        if not bare.parts:
            bare.ClearField("time")
        found.append(bare.SerializeToString(deterministic=True))
    return found


async def test_what_is_written_is_read(trips: Caller, memory: str) -> None:
    """Every kind of text, role, part, call, label and time, byte for byte, in order, with seq from 1."""
    wanted = _messages()
    response = await trips("Write", written(memory, *wanted, session="one"))
    found = await trips.read(memory)
    assert _content(found) == _content(wanted)
    assert [m.id for m in found] == list(response.message_ids)
    assert [m.seq for m in found] == list(range(1, len(wanted) + 1))
    assert {m.session for m in found} == {"one"}
    assert all(m.HasField("time") and m.HasField("recorded_at") for m in found)


async def test_what_is_exported_imports_to_the_same(trips: Caller, memory: str) -> None:
    """Ids, sessions, times and content; the settings come first in the stream."""
    wanted = _messages()
    await trips("Write", written(memory, *wanted[:20], session="one", system="Be kind.\x00"))
    await trips("Write", written(memory, *wanted[20:]))
    settings, *exported = await trips("ExportMemory", pb.ExportMemoryRequest(memory=memory))
    assert settings.memory == (await trips("GetMemory", pb.GetMemoryRequest(memory=memory))).memory
    messages = [item.message for item in exported]
    assert messages == await trips.read(memory)

    copy = f"{memory}-copy"
    first = {"memory": copy, "variant": settings.memory.variant, "system": settings.memory.system}
    elements = [pb.ImportMessagesRequest(messages=messages[at : at + 7]) for at in range(0, len(messages), 7)]
    elements[0] = pb.ImportMessagesRequest(messages=messages[:7], **first)
    done = await trips("ImportMessages", elements)
    assert (done.imported, done.skipped, done.last_seq) == (len(messages), 0, len(messages))
    assert _but_recorded(await trips.read(copy)) == _but_recorded(messages)

    async with nothing_stored(trips):
        done = await trips("ImportMessages", elements)
    assert (done.imported, done.skipped, done.last_seq) == (0, len(messages), len(messages))


def _but_recorded(messages: Sequence[Message]) -> list[Message]:
    found = []
    for message in messages:
        bare = Message()
        bare.CopyFrom(message)
        bare.ClearField("recorded_at")
        found.append(bare)
    return found


async def test_an_import_that_broke_off_is_repeated_from_the_start(trips: Caller, memory: str) -> None:
    """What is there is skipped, what is missing is added, in order."""
    messages = [said(f"message {at}", id=f"m{at}") for at in range(30)]
    elements = [pb.ImportMessagesRequest(memory=memory, messages=messages[at : at + 10]) for at in (0, 10, 20)]
    await trips("ImportMessages", elements[:2])
    done = await trips("ImportMessages", elements)
    assert (done.imported, done.skipped, done.last_seq) == (10, 20, 30)
    assert [m.id for m in await trips.read(memory)] == [m.id for m in messages]


async def test_ten_thousand_messages_in_one_stream(trips: Caller, memory: str) -> None:
    """Counted, ordered, and gone again with the memory."""
    messages = [
        Message(role="assistant", id=f"m{at:05}", tool_calls=[ToolCall(id=str(at), name="look")])
        for at in range(10_000)
    ]
    elements = [
        pb.ImportMessagesRequest(memory=memory, messages=messages[at : at + 1000]) for at in range(0, 10_000, 1000)
    ]
    done = await trips("ImportMessages", elements)
    assert (done.imported, done.skipped, done.last_seq) == (10_000, 0, 10_000)
    _, *exported = await trips("ExportMemory", pb.ExportMemoryRequest(memory=memory))
    assert [item.message.id for item in exported] == [m.id for m in messages]
    assert (await trips("DeleteMemory", pb.DeleteMemoryRequest(memory=memory))).messages_deleted == 10_000


async def test_an_export_shows_the_memory_as_it_was_when_it_began(trips: Caller, memory: str) -> None:
    """What is written while the stream runs is not in it."""
    await trips("Write", written(memory, *(said(f"message {at}") for at in range(250))))
    stream = trips.method("ExportMemory")(
        pb.ExportMemoryRequest(memory=memory), metadata=[("authorization", f"Bearer {trips.token}")]
    )
    first = await anext(aiter(stream))
    await trips("Write", written(memory, said("late")))
    rest = [item.message.parts[0].text async for item in stream]
    assert first.memory.message_count == 250
    assert rest == [f"message {at}" for at in range(250)]


async def test_as_of_an_earlier_time_nothing_later_is_known(trips: Caller, memory: str) -> None:
    """Seed and Recall as the memory was; before its first message there was nothing."""
    await trips("Write", written(memory, said("Maya lives in Oslo.")))
    await trips("Write", written(memory, said("Maya lives in Bergen.")))
    early, late = [m.recorded_at.ToDatetime(tzinfo=UTC) for m in await trips.read(memory)]
    assert early < late
    step = timedelta(microseconds=1)
    for known_at, expected in (
        (early - step, []),
        (early, ["Oslo"]),
        (late - step, ["Oslo"]),
        (late, ["Bergen", "Oslo"]),
    ):
        as_of = AsOf(known_at=_time(known_at))
        seed = await trips("Seed", pb.SeedRequest(memory=memory, variant=BUFFER, as_of=as_of))
        recall = await trips("Recall", pb.RecallRequest(memory=memory, query="Where does Maya live?", as_of=as_of))
        shown = [m.parts[0].text for m in seed.messages]
        hits = [hit.message.parts[0].text for hit in recall.hits]
        for found in (shown, hits):
            assert sorted(text.split()[-1].strip(".") for text in found) == expected


async def test_last_month_is_that_before_the_time_asked_as_of(trips: Caller, memory: str) -> None:
    """Relative times of a query count from the world time; without one, from the newest message."""
    months = [datetime(2024, month, 10, tzinfo=UTC) for month in (2, 4, 6)]
    await trips("Write", written(memory, *(said(f"We went to Oslo, trip {at:%m}.", time=_time(at)) for at in months)))
    for valid_at, expected in ((None, set()), (datetime(2024, 5, 3, tzinfo=UTC), {"04"})):
        as_of = AsOf(valid_at=_time(valid_at)) if valid_at else None
        request = pb.RecallRequest(memory=memory, query="Which trip was last month?", as_of=as_of, explain=True)
        hits = (await trips("Recall", request)).hits
        then = [hit.message for hit in hits if any(leg.leg == "time" and leg.raw == 1 for leg in hit.legs)]
        assert {message.parts[0].text[-3:-1] for message in then} == expected


async def test_settings_change_by_their_mask_and_revision(trips: Caller, memory: str) -> None:
    """Only what the mask names; only at the revision that the call names."""
    request = pb.CreateMemoryRequest(memory=memory, variant=Variant(window=WindowVariant(n=3)), system="Be kind.")
    first = (await trips("CreateMemory", request)).memory

    async def update(paths: list[str], revision: int = 0) -> pb.Memory:
        changed = pb.UpdateMemoryRequest(
            memory=memory,
            variant=Variant(vector=VectorVariant(k=7)),
            system="Be brief.",
            update_mask=FieldMask(paths=paths),
            revision=revision,
        )
        updated: pb.Memory = (await trips("UpdateMemory", changed)).memory
        return updated

    second = await update(["variant"], first.revision)
    assert (second.variant.vector.k, second.system) == (7, "Be kind.")
    assert second.revision > first.revision
    async with nothing_stored(trips):
        error = await refused(update(["system"], first.revision))
        assert (error.code, error.reason, error.stored) == ("ABORTED", "REVISION_CHANGED", "no")
    third = await update(["system"], second.revision)
    assert (third.variant.vector.k, third.system) == (7, "Be brief.")
    fourth = await update(["variant", "system"])
    assert fourth.revision > third.revision > second.revision
    assert fourth == (await trips("GetMemory", pb.GetMemoryRequest(memory=memory))).memory


async def test_a_memory_that_exists_is_not_created_again(trips: Caller, memory: str) -> None:
    """ALREADY_EXISTS, and its settings stay."""
    await trips("CreateMemory", pb.CreateMemoryRequest(memory=memory, system="Be kind."))
    async with nothing_stored(trips):
        error = await refused(trips("CreateMemory", pb.CreateMemoryRequest(memory=memory, system="Be brief.")))
    assert (error.code, error.reason, error.stored) == ("ALREADY_EXISTS", "MEMORY_EXISTS", "no")


@pytest.mark.parametrize("session", ["", "one"])
async def test_clear_erases_and_seq_goes_on(trips: Caller, memory: str, session: str) -> None:
    """A session or all; the pin stays; no number is given twice."""
    for name in ("one", "two"):
        await trips("Write", written(memory, said(), said(), session=name, system="Be kind."))
    cleared = await trips("Clear", pb.ClearRequest(memory=memory, session=session))
    assert cleared.messages_cleared == (2 if session else 4)
    assert [m.session for m in await trips.read(memory)] == (["two", "two"] if session else [])
    assert (await trips("Write", written(memory))).first_seq == 5
    assert (await trips("GetMemory", pb.GetMemoryRequest(memory=memory))).memory.system == "Be kind."
