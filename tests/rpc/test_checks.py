"""Every field of every request is held against the contract, and nothing is stored when one is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.message_pb2 import Message
from seedbed.v1.variant_pb2 import Variant

from .bad_fields import CASES, FREE, FREE_OF_MESSAGE, MAYA, Case
from .calling import RPCS, SERVED, Caller, nothing_stored, refused, said, written


@pytest.fixture(scope="module")
async def caller(as_token: Callable[[str], Caller]) -> Caller:
    """A caller in whose namespace a memory stands already."""
    made = as_token("checks-token")
    await made("Write", written(MAYA, said("Maya lives in Oslo."), system="Be kind."))
    return made


@pytest.mark.parametrize("rpc", SERVED)
async def test_a_wrong_field_is_named_and_nothing_is_stored(caller: Caller, rpc: str) -> None:
    """Code, reason and path are those of the contract, for every wrong value of every field of the RPC."""
    async with nothing_stored(caller):
        wrong = [problem for case in CASES if case.rpc == rpc if (problem := await _problem(caller, case))]
    assert not wrong


async def _problem(caller: Caller, case: Case) -> str:
    error = await refused(caller(case.rpc, case.request()))
    code = {"INVALID_FIELD": "INVALID_ARGUMENT", "TOO_LARGE": "RESOURCE_EXHAUSTED"}[case.reason]
    expected = (code, case.reason, "no", [case.path])
    found = (error.code, error.reason, error.stored, [field.path for field in error.fields])
    return "" if found == expected else f"{case.rpc}: {found} instead of {expected}"


@pytest.mark.parametrize("rpc", SERVED)
def test_no_field_of_a_request_is_without_a_wrong_value(rpc: str) -> None:
    """A field that is added to the contract must be added to the cases, or be one for which nothing is wrong."""
    tried = {re.split(r"[.\[]", case.path)[0] for case in CASES if case.rpc == rpc}
    free = {name for of, name in FREE if of == rpc}
    assert tried | free == set(RPCS[rpc].input_type.fields_by_name)


def test_no_field_of_a_message_or_variant_is_without_a_wrong_value() -> None:
    """The same for what requests are made of."""
    parts = {part for case in CASES if case.rpc == "Write" for part in re.findall(r"messages\[1\]\.(\w+)", case.path)}
    assert parts | FREE_OF_MESSAGE == set(Message.DESCRIPTOR.fields_by_name)
    tried = {case.path.removeprefix("variant.") for case in CASES if case.rpc == "Seed"}
    kinds: Any = Variant.DESCRIPTOR.fields
    numbers = {f"{kind.name}.{field.name}" for kind in kinds for field in kind.message_type.fields}
    assert numbers <= {re.split(r"\[", path)[0] for path in tried}


async def test_a_wrong_element_of_an_import_leaves_the_ones_before_it(caller: Caller) -> None:
    """Each element is stored whole or not at all; the answer does not claim that nothing was."""
    elements = [
        pb.ImportMessagesRequest(memory="broken-import", messages=[said("one"), said("two")]),
        pb.ImportMessagesRequest(messages=[said("three"), said("", role="user")]),
        pb.ImportMessagesRequest(messages=[said("four")]),
    ]
    error = await refused(caller("ImportMessages", elements))
    assert (error.reason, error.fields[0].path, error.stored) == ("INVALID_FIELD", "messages[1].parts", "unknown")
    assert [m.parts[0].text for m in await caller.read("broken-import")] == ["one", "two"]
    await caller("DeleteMemory", pb.DeleteMemoryRequest(memory="broken-import"))


async def test_an_import_without_an_element_is_refused(caller: Caller) -> None:
    """It names no memory, so nothing can be meant."""
    error = await refused(caller("ImportMessages", []))
    assert (error.reason, error.fields[0].path) == ("INVALID_FIELD", "messages")


async def test_what_the_server_assigns_is_ignored_on_a_write(caller: Caller) -> None:
    """A message that was read can be written again, whatever stands in the server's own fields."""
    message = said("echo", seq=2**64 - 1, session="elsewhere")
    message.recorded_at.seconds = 2**62
    await caller("Write", written("own-fields", message, session="here"))
    (stored,) = await caller.read("own-fields")
    assert (stored.seq, stored.session, stored.recorded_at.seconds < 2**40) == (1, "here", True)


async def test_any_64_bit_number_is_a_place_in_the_log(caller: Caller) -> None:
    """Beyond the end there is nothing, and it is no error."""
    for after in (2**63 - 1, 2**63, 2**64 - 1):
        page = await caller("Read", pb.ReadRequest(memory=MAYA, after_seq=after))
        assert (list(page.messages), page.next_after_seq) == ([], 0)


ODD_NAMES = (
    "../../x", "..", "a/b", "a\\b", "_", "__", "%", "a%", "Ü" * 128, "acme", "acme-corp", "acme corp", "ACME", "acme ",
    " acme", "Café", "Cafe\u0301", "\uff41cme", "東京", "🔥", "\x01", "a\nb", "a'--", 'x") or ("1"="1', "default", "*",
    "\u200b",
)  # fmt: skip


async def test_names_are_any_text_and_each_is_its_own(caller: Caller) -> None:
    """Memories, sessions, ids and request ids are matched whole and byte for byte: no name is a path or a prefix."""
    for name in ODD_NAMES:
        message = said(f"in {name}", id=name)
        await caller("Write", written(name, message, session=name, request_id=name))
        await caller("Write", written("sessions", message, session=name, request_id=name))
    names = [one.memory for one in await caller.memories()]
    assert set(ODD_NAMES) <= set(names)
    assert names == sorted(names, key=str.encode)
    for name in ODD_NAMES:
        (alone,) = await caller.read(name)
        (of_session,) = await caller.read("sessions", session=name)
        assert [(m.id, m.session, m.parts[0].text) for m in (alone, of_session)] == [(name, name, f"in {name}")] * 2
    for name in ODD_NAMES:
        assert (await caller("DeleteMemory", pb.DeleteMemoryRequest(memory=name))).messages_deleted == 1


HOSTILE_KEYS = (
    "tenant", "namespace", "chroma:document", "$or", "$and", "where", "__proto__", "seedbed", "Seedbed.x", "id", "seq",
    'x") or ("1"="1', "a.b", "a b", "../..", "'; drop table message; --", "ключ", "🔑",
)  # fmt: skip


async def test_hostile_metadata_is_inert_and_comes_back(caller: Caller) -> None:
    """Keys that mean something to a store or to a language are words here."""
    message = said("labels")
    for key in HOSTILE_KEYS:
        message.metadata[key].string_value = key
    await caller("Write", written("labels", message))
    (stored,) = await caller.read("labels")
    assert dict(stored.metadata) == dict(message.metadata)
    hits = await caller("Recall", pb.RecallRequest(memory="labels", query="labels"))
    assert [dict(hit.message.metadata) for hit in hits.hits] == [dict(message.metadata)]
