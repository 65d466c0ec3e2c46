"""Random requests, made from the descriptors of the contract: whatever comes, the answer is one of the contract's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor

from seedbed.errors import BY_REASON, from_rpc_error

from .bad_fields import request_class
from .calling import RPCS, STREAMED_IN, STREAMED_OUT, Caller, said, written

FAULTS = {"UNKNOWN", "INTERNAL", "DEADLINE_EXCEEDED", "DATA_LOSS", "CANCELLED"}
LARGEST = 2**31 - 1

WORDS = (
    "", "maya", "default", "a", "Where does Maya live?", "Oslo", " ", "\u200b", "a\x00b", "../../x", "x" * 256,
    "x" * 257, "Ü" * 128, "🔥", "東京", "e\u0301", "\u202eabc", "'; drop table message", 'x") or ("1"="1', "-1", "0",
    'C++ AND key:val "', "seedbed.x", "variant", "system", "lexical", "vectors", "2026-03-29T02:30:00",
    "x" * 5000, "(" * 2000,
)  # fmt: skip
INTS = (0, 0, 1, 2, 3, 10, 100, 1000, 1001, -1, LARGEST, -LARGEST - 1)
LONGS = (0, 1, 2, 5, 1000, 2**31, 2**53 + 1, 1_700_000_000, 253_402_300_799, 253_402_300_800, 2**63 - 1)
DOUBLES = (0.0, 1.5, -1.5, 1e308, float("nan"), float("inf"))
CHANCE = {"namespace": 0.1, "memory": 0.95, "messages": 0.9, "role": 0.9, "parts": 0.9, "query": 0.9, "kind": 0.9}
POOLS: dict[str, tuple[str, ...]] = {
    "memory": ("maya", "maya", "maya", "other", *WORDS),
    "namespace": ("fuzz", "fuzz", "acme", *WORDS),
    "role": ("user", "assistant", "tool", *WORDS),
    "paths": ("variant", "system", "memory", ""),
    "projections": ("lexical", "vectors", "entities", "triples", "summaries", "log"),
    "page_token": ("", "0", "3", *WORDS),
    "message_ids": ("nobody", "nobody else", *WORDS[:5]),
}  # fmt: skip
SCALARS: dict[int, tuple[Any, ...]] = {
    FieldDescriptor.TYPE_INT32: INTS,
    FieldDescriptor.TYPE_INT64: (*LONGS, *(-number for number in LONGS)),
    FieldDescriptor.TYPE_UINT64: (*LONGS, 2**64 - 1),
    FieldDescriptor.TYPE_DOUBLE: DOUBLES,
    FieldDescriptor.TYPE_BOOL: (False, True),
    FieldDescriptor.TYPE_BYTES: (b"", b"\x00\xff", b"x" * 5000),
}


def fill(rng: random.Random, message: Any, depth: int = 0) -> Any:
    """Set some of a message's fields to values of their types, some of them wrong."""
    for field in message.DESCRIPTOR.fields:
        if rng.random() > CHANCE.get(field.name, 0.5 if depth < 6 else 0.0):
            continue
        target = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for _ in range(rng.randrange(3)):
                fill(rng, target[rng.choice(WORDS)], depth + 1)
        elif field.is_repeated and field.message_type is not None:
            for _ in range(rng.randrange(4)):
                fill(rng, target.add(), depth + 1)
        elif field.is_repeated:
            target.extend(_scalar(rng, field) for _ in range(rng.randrange(4)))
        elif field.message_type is not None:
            target.SetInParent()
            fill(rng, target, depth + 1)
        else:
            setattr(message, field.name, _scalar(rng, field))
    return message


def _scalar(rng: random.Random, field: Any) -> Any:
    return rng.choice(POOLS.get(field.name, WORDS) if field.type == field.TYPE_STRING else SCALARS[field.type])


@pytest.fixture(scope="module")
async def caller(as_token: Callable[[str], Caller]) -> Caller:
    """A caller with something stored."""
    made = as_token("fuzz-token")
    await made("Write", written("maya", said("Maya lives in Oslo."), said("She likes tea.", role="assistant")))
    return made


async def _fuzz(caller: Caller, seed: int, calls: int) -> set[str]:
    """Send random requests to every RPC in turn; returns the codes that came.

    Whatever is stored or erased shows in a memory's revision, newest seq or count.
    """
    rng = random.Random(seed)
    codes = set()
    before = await caller.memories()
    for at in range(calls):
        rpc = sorted(RPCS)[at % len(RPCS)]
        requests = [fill(rng, request_class(rpc)()) for _ in range(rng.randrange(1, 4) if rpc in STREAMED_IN else 1)]
        try:
            await caller(rpc, requests if rpc in STREAMED_IN else requests[0])
            before = await caller.memories()
            codes.add("OK")
        except grpc.aio.AioRpcError as error:
            known = from_rpc_error(error)
            what = f"call {at} of seed {seed}, {rpc}: {known!r}\n{requests}"
            assert known.code not in FAULTS, what
            assert known.reason in BY_REASON, what
            after = await caller.memories()
            assert known.stored == "unknown" or after == before, what
            before = after
            codes.add(known.code)
    return codes


async def test_random_requests_are_answered_in_the_words_of_the_contract(caller: Caller) -> None:
    """Never UNKNOWN or INTERNAL; after an error that says so, nothing is stored; the server goes on."""
    codes = await _fuzz(caller, 1, 300)
    assert {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED"} <= codes


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2, 10))
async def test_many_more_random_requests(caller: Caller, seed: int) -> None:
    """The same, longer."""
    assert "OK" in await _fuzz(caller, seed, 1000)


async def test_altered_bytes_are_answered_in_the_words_of_the_contract(
    channel: grpc.aio.Channel, caller: Caller
) -> None:
    """Requests cut and flipped on the way: acceptable or refused, never a fault."""
    rng = random.Random(11)
    raw: Any = channel
    token = [("authorization", f"Bearer {caller.token}")]
    codes = set()
    for at in range(200):
        rpc = RPCS[sorted(RPCS)[at % len(RPCS)]]
        data = bytearray(fill(rng, request_class(rpc.name)()).SerializeToString())
        for _ in range(min(len(data), 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        request = bytes(data[: rng.randrange(len(data) + 1)])
        assert rpc.containing_service is not None
        path = f"/{rpc.containing_service.full_name}/{rpc.name}"
        try:
            if rpc.name in STREAMED_IN:
                await raw.stream_unary(path)(iter([request]), metadata=token, timeout=30)
            elif rpc.name in STREAMED_OUT:
                _ = [item async for item in raw.unary_stream(path)(request, metadata=token, timeout=30)]
            else:
                await raw.unary_unary(path)(request, metadata=token, timeout=30)
        except grpc.aio.AioRpcError as error:
            assert error.code().name not in FAULTS, f"call {at}, {rpc.name}: {error!r} {request!r}"
            codes.add(error.code().name)
    assert "INVALID_ARGUMENT" in codes
