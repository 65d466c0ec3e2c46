"""Laws of the wire: what goes out comes back equal, and what cannot be said is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from seedbed import variants, wire
from seedbed.messages import Media, Message, ToolCall
from seedbed.seeds import Item, Seed, SeedMessage
from seedbed.surrogates import text_for_wire
from seedbed.v1 import memory_service_pb2, message_pb2, variant_pb2

quick = settings(max_examples=60, deadline=None)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# Hypothesis leaves surrogates out by itself; here they are the point.
any_texts = st.text(st.sampled_from("aé😀\ud800\udbff\udc00\udfff\ud83d\ude00"), max_size=8)
times = st.datetimes(timezones=st.just(UTC))
scalars = st.one_of(
    texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
metadata = st.dictionaries(texts, st.one_of(scalars, st.lists(scalars, max_size=3).map(tuple)), max_size=3)
media = st.one_of(st.builds(Media, texts, uri=texts.filter(bool)), st.builds(Media, texts, data=st.binary(max_size=9)))
parts = st.lists(st.one_of(texts, media), max_size=3).map(tuple)
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2).map(tuple)
messages = st.builds(
    Message,
    role=texts,
    parts=parts,
    name=texts,
    tool_calls=calls,
    tool_call_id=texts,
    time=st.none() | times,
    metadata=metadata,
    id=texts,
    seq=st.integers(0, 2**64 - 1),
    session=texts,
    recorded_at=st.none() | times,
)
numbers = st.integers(-(2**31), 2**31 - 1)
plain_variants = st.one_of(
    st.just(variants.Buffer()),
    st.builds(variants.Window, numbers),
    st.builds(variants.TokenBuffer, numbers),
    st.builds(variants.Summary, numbers),
    st.builds(variants.SummaryBuffer, numbers),
    st.builds(variants.Entity, numbers, numbers),
    st.builds(variants.KnowledgeGraph, numbers, numbers),
    st.builds(variants.Vector, numbers),
    st.builds(variants.Custom, texts, metadata),
)
all_variants = st.recursive(
    plain_variants,
    lambda inner: st.builds(
        lambda found, budget: variants.Hybrid(*found, max_tokens=budget), st.lists(inner, max_size=3), numbers
    ),
    max_leaves=5,
)
items = st.builds(
    Item,
    texts,
    texts,
    texts,
    texts,
    texts,
    st.none() | times,
    st.floats(allow_nan=False),
    st.lists(texts, max_size=2).map(tuple),
    numbers,
)
entries = st.builds(SeedMessage, texts, parts, texts, calls, texts, st.lists(items, max_size=2).map(tuple))
seeds = st.builds(
    Seed,
    st.lists(entries, max_size=2).map(tuple),
    numbers,
    st.booleans(),
    st.dictionaries(texts, numbers, max_size=2),
    st.integers(0, 2**64 - 1),
    st.lists(texts, max_size=2).map(tuple),
    st.dictionaries(texts, numbers, max_size=2),
)


def kinds(value: Any) -> Any:
    """The types inside metadata, which equality alone does not tell apart (1 == True == 1.0)."""
    return [kinds(inner) for inner in value] if isinstance(value, tuple) else type(value)


@quick
@given(messages)
def test_a_message_comes_back_equal(message: Message) -> None:
    """Message → bytes → message is the identity, types of metadata included."""
    sent = message_pb2.Message.FromString(wire.message_to_proto(message).SerializeToString())
    back = wire.message_from_proto(sent)
    assert back == message
    assert {key: kinds(value) for key, value in back.metadata.items()} == {
        key: kinds(value) for key, value in message.metadata.items()
    }


@quick
@given(all_variants)
def test_a_variant_comes_back_equal(variant: variants.Variant) -> None:
    """Variant → bytes → variant is the identity, class included."""
    sent = variant_pb2.Variant.FromString(wire.variant_to_proto(variant).SerializeToString())
    back = wire.variant_from_proto(sent)
    assert back == variant
    assert type(back) is type(variant)


@quick
@given(seeds)
def test_a_seed_comes_back_equal(seed: Seed) -> None:
    """Seed → bytes → seed is the identity."""
    sent = memory_service_pb2.SeedResponse.FromString(wire.seed_to_proto(seed).SerializeToString())
    assert wire.seed_from_proto(sent) == seed


@quick
@given(any_texts, any_texts)
def test_lone_surrogates_are_replaced_and_nothing_else(text: str, key: str) -> None:
    """Text of any kind goes out; only halves of surrogate pairs change, each to U+FFFD."""
    message = Message(
        text, (text, Media(text, uri=text)), text, (ToolCall(text, text, text),), text, metadata={key: (text, 1)}
    )
    back = wire.message_from_proto(wire.message_to_proto(message))
    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert back.role == back.name == back.text == back.tool_call_id == expected
    assert back.tool_calls == (ToolCall(expected, expected, expected),)
    assert list(back.metadata.values()) == [(expected, 1)]
    assert text_for_wire(expected) == expected


def test_a_lone_surrogate_becomes_one_replacement_character() -> None:
    """A half pair is one U+FFFD, a split pair is the character it was split from."""
    assert wire.message_to_proto(Message.user("a\ud800b")).parts[0].text == "a\ufffdb"
    assert wire.message_to_proto(Message.user("\ud83d\ude00")).parts[0].text == "😀"


@pytest.mark.parametrize("field", ["role", "name", "id", "session", "tool_call_id"])
def test_surrogates_are_replaced_in_every_text_field(field: str) -> None:
    """No field of a message can make the conversion fail for its text."""
    changed: dict[str, Any] = {field: "\udfff"}
    message = replace(Message("user"), **changed)
    assert getattr(wire.message_to_proto(message), field) == "\ufffd"


def test_naive_times_are_utc_and_other_zones_are_converted() -> None:
    """A naive 12:00 is 12:00 UTC; 12:00 at +02:00 is 10:00 UTC."""
    naive = datetime(2024, 5, 8, 12, 0, 0, 123456)  # noqa: DTZ001
    assert wire.time_from_proto(wire.time_to_proto(naive)) == naive.replace(tzinfo=UTC)
    east = naive.replace(tzinfo=timezone(timedelta(hours=2)))
    back = wire.time_from_proto(wire.time_to_proto(east))
    assert back == datetime(2024, 5, 8, 10, 0, 0, 123456, UTC)
    assert back.utcoffset() == timedelta(0)


def test_nanoseconds_are_cut_to_microseconds_on_both_sides_of_1970() -> None:
    """The last three digits are dropped, never rounded up into the next second."""
    after = wire.time_from_proto(Timestamp(seconds=0, nanos=999_999_999))
    assert after == datetime(1970, 1, 1, 0, 0, 0, 999_999, UTC)
    before = wire.time_from_proto(Timestamp(seconds=-1, nanos=999_999_999))
    assert before == datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)


@pytest.mark.parametrize(
    "stamp",
    [
        Timestamp(seconds=253_402_300_800),
        Timestamp(seconds=-62_135_596_801),
        Timestamp(seconds=2**63 - 1),
        Timestamp(nanos=1_000_000_000),
        Timestamp(nanos=-1),
    ],
)
def test_timestamps_out_of_range_are_refused(stamp: Timestamp) -> None:
    """A timestamp that protobuf itself forbids is a ValueError, in a message with the field's path."""
    with pytest.raises(wire.WireError, match="time"):
        wire.message_from_proto(message_pb2.Message(time=stamp))


def test_times_outside_the_years_of_utc_are_refused() -> None:
    """The first hour of year 1 far east lies in no year that can be said."""
    east = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with pytest.raises(wire.WireError, match=r"^recorded_at: "):
        wire.message_to_proto(Message("user", recorded_at=east))
    west = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
    with pytest.raises(ValueError, match="years"):
        wire.message_to_proto(Message("user", time=west))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, (1.0, math.nan), 2**63, -(2**63) - 1, ((1,),)])
def test_metadata_that_cannot_be_said_is_a_value_error(value: Any) -> None:
    """NaN, infinities, integers beyond 64 bits and nested lists are refused, wherever they are."""
    with pytest.raises(wire.WireError, match="metadata"):
        wire.message_to_proto(Message("user", metadata={"key": value}))


@pytest.mark.parametrize("value", [None, {"a": 1}, b"bytes", 1j])
def test_metadata_of_no_known_type_is_a_type_error(value: Any) -> None:
    """What is no metadata value at all is the caller's mistake."""
    with pytest.raises(TypeError, match="metadata"):
        wire.message_to_proto(Message("user", metadata={"key": value}))


def test_true_is_not_one() -> None:
    """A bool travels as a bool, an int as an int."""
    assert wire.metadata_value_to_proto(True).WhichOneof("kind") == "bool_value"
    assert wire.metadata_value_to_proto(1).WhichOneof("kind") == "int_value"
    assert wire.metadata_value_to_proto(1.0).WhichOneof("kind") == "double_value"


PROTO: Any = variant_pb2.Variant  # takes dicts for its parts, which its stub does not say
NESTED = message_pb2.MetadataList(values=[message_pb2.MetadataValue(list_value=message_pb2.MetadataList())])


@pytest.mark.parametrize(
    "value",
    [
        message_pb2.MetadataValue(),
        message_pb2.MetadataValue(double_value=math.nan),
        message_pb2.MetadataValue(list_value=NESTED),
        message_pb2.MetadataValue(list_value=message_pb2.MetadataList(values=[message_pb2.MetadataValue()])),
    ],
)
def test_metadata_that_says_nothing_is_refused_on_the_way_in(value: Any) -> None:
    """Unset, nested or not finite: a value that no dataclass can hold."""
    with pytest.raises(wire.WireError, match="metadata"):
        wire.message_from_proto(message_pb2.Message(metadata={"key": value}))


def test_a_part_without_a_kind_is_refused_by_its_path() -> None:
    """An empty oneof is neither text nor media, and is not silently dropped."""
    proto = message_pb2.Message(parts=[message_pb2.ContentPart(text=""), message_pb2.ContentPart()])
    with pytest.raises(wire.WireError) as refused:
        wire.message_from_proto(proto)
    assert refused.value.path == "parts[1]"


def test_media_is_an_address_or_bytes_not_both() -> None:
    """Both would lose one of them on the wire."""
    with pytest.raises(wire.WireError, match=r"parts\[0\]"):
        wire.message_to_proto(Message("user", (Media("image/png", uri="file:a", data=b"a"),)))


def test_unset_numbers_of_variants_are_the_documented_defaults() -> None:
    """A variant sent with no number reads as the dataclass with none, whose defaults variant.proto documents."""
    assert wire.variant_from_proto(PROTO(window={})) == variants.Window(10)
    assert wire.variant_from_proto(PROTO(token_buffer={})) == variants.TokenBuffer(2000)
    assert wire.variant_from_proto(PROTO(summary={})) == variants.Summary(20)
    assert wire.variant_from_proto(PROTO(summary_buffer={})) == variants.SummaryBuffer(2000)
    assert wire.variant_from_proto(PROTO(entity={})) == variants.Entity(5, 4)
    assert wire.variant_from_proto(PROTO(knowledge_graph={})) == variants.KnowledgeGraph(20, 4)
    assert wire.variant_from_proto(PROTO(vector={})) == variants.Vector(4)
    assert wire.variant_from_proto(PROTO(hybrid={})) == variants.Hybrid(max_tokens=2000)


def test_a_number_set_to_zero_is_not_its_default() -> None:
    """Window(0) shows none; it must not come back as Window(10)."""
    assert wire.variant_from_proto(wire.variant_to_proto(variants.Window(0))) == variants.Window(0)


def test_every_variant_of_the_contract_is_known() -> None:
    """A variant added to the proto and not to the wire would fail here."""
    for field in variant_pb2.Variant.DESCRIPTOR.fields:
        proto = PROTO(**{field.name: {}})
        assert wire.variant_to_proto(wire.variant_from_proto(proto)).WhichOneof("kind") == field.name


def test_what_is_no_variant_is_refused() -> None:
    """An empty oneof is a ValueError with the path; a memory inside a Hybrid that is sent is a TypeError."""
    with pytest.raises(wire.WireError, match=r"variant\.parts\[0\]: names no variant"):
        wire.variant_from_proto(PROTO(hybrid={"parts": [{}]}))
    with pytest.raises(wire.WireError, match=r"variant\.n: "):
        wire.variant_to_proto(variants.Window(2**31))
    other: Any = object()
    with pytest.raises(TypeError, match="part of a Hybrid"):
        wire.variant_to_proto(variants.Hybrid(variants.Window(), other))

    class Own(variants.Variant):
        pass

    with pytest.raises(TypeError, match="Custom"):
        wire.variant_to_proto(Own())


def test_a_degraded_seed_that_names_no_part_stays_degraded() -> None:
    """The flag of a server that names no part is not lost in the list of names."""
    assert wire.seed_from_proto(memory_service_pb2.SeedResponse(degraded=True)).degraded


def test_the_wire_needs_no_grpc() -> None:
    """The dataclasses, the wire and the errors can be had without importing gRPC."""
    import subprocess
    import sys

    code = "import seedbed, seedbed.wire, seedbed.errors, seedbed.memory_calls, sys; assert 'grpc' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
