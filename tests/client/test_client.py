"""Both clients against a real gRPC server on loopback that fails as it is told: blocking and asyncio, one suite."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from seedbed import errors
from seedbed.aio import AsyncClient, AsyncRemoteMemory
from seedbed.client import Client, RemoteMemory
from seedbed.connection import Tls
from seedbed.memory import Memory
from seedbed.messages import Message
from seedbed.statements import Statement
from seedbed.v1 import admin_service_pb2 as admin_pb2
from seedbed.v1 import knowledge_service_pb2 as knowledge_pb2
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.variants import Entity, Hybrid, KnowledgeGraph, Vector, Window
from seedbed.wire import message_to_proto, variant_to_proto

from .scripted import Failure, Scripted, serving

UNAVAILABLE = Failure(grpc.StatusCode.UNAVAILABLE, "STORAGE_UNAVAILABLE")
SPEC = Hybrid(Window(10), Vector(k=6), Entity(), KnowledgeGraph())
HELLO = [Message.user("Hi, I'm Maya."), Message.assistant("Hello Maya!")]


class Shell:
    """One of the two clients, driven alike: ``shell(x)`` waits for x, and lists what is iterated."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.runner = asyncio.Runner()
        self.clients: list[Any] = []

    def client(self, address: str, **settings: Any) -> Any:
        client = (Client if self.kind == "blocking" else AsyncClient)(address, **settings)
        self.clients.append(client)
        return client

    def __call__(self, result: Any) -> Any:
        if inspect.isawaitable(result):
            return self.runner.run(_awaited(result))
        if isinstance(result, AsyncIterator):
            return self.runner.run(_collected(result))
        return list(result) if isinstance(result, Iterator) else result

    def close(self) -> None:
        for client in self.clients:
            self(client.close())
        self.runner.close()


async def _awaited(result: Any) -> Any:
    return await result


async def _collected(result: Any) -> Any:
    return [item async for item in result]


@pytest.fixture(params=["blocking", "asyncio"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    shell = Shell(request.param)
    yield shell
    shell.close()


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def address(scripted: Scripted) -> Iterator[str]:
    with serving(scripted) as address:
        yield address


@pytest.fixture
def client(shell: Shell, address: str) -> Any:
    return shell.client(address, timeout=60.0)


# A memory's first run


def test_a_handle_makes_no_call(client: Any, scripted: Scripted) -> None:
    """A memory is a value until it is used."""
    client.memory("maya", SPEC, system="You are kind.")
    assert scripted.seen == []


def test_the_first_seed_of_a_new_memory_is_the_pin(shell: Shell, client: Any, scripted: Scripted) -> None:
    """An agent seeds before it ever wrote: the handle creates the memory as described, and repeats the call."""
    memory = client.memory("maya", SPEC, system="You are kind.")
    seed = shell(memory.seed("Who am I?"))
    assert seed.messages == [{"role": "system", "content": "You are kind."}]
    assert scripted.rpcs() == ["Seed", "CreateMemory", "Seed"]
    assert scripted.memories["maya"].variant == variant_to_proto(SPEC)
    assert shell(memory.read()) == []


def test_other_calls_on_a_new_memory_find_it_empty(shell: Shell, client: Any) -> None:
    """Read, recall and clear of a memory that was only described answer like those of an empty one."""
    assert shell(client.memory("a", Window()).read()) == []
    assert shell(client.memory("b", Window()).recall("cats")).hits == ()
    assert shell(client.memory("c", system="pin").clear()) == 0
    assert shell(client.memory("d", Window()).entities()) == []


def test_a_handle_without_a_description_creates_nothing(shell: Shell, client: Any, scripted: Scripted) -> None:
    """A name with a typo is NOT_FOUND, not a new memory."""
    with pytest.raises(errors.MemoryNotFoundError) as missing:
        shell(client.memory("mya").seed())
    assert missing.value.stored == "no"
    assert scripted.rpcs() == ["Seed"]
    assert scripted.memories == {}


def test_a_memory_that_another_client_creates_meanwhile_is_used(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Between NOT_FOUND and CreateMemory somebody else may be quicker: that is no error."""
    scripted.fail("Seed", Failure(grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND"))
    shell(client.create_memory("maya", Window(), system="theirs"))
    seed = shell(client.memory("maya", SPEC, system="ours").seed())
    assert seed.messages == [{"role": "system", "content": "theirs"}]
    assert scripted.rpcs() == ["CreateMemory", "Seed", "CreateMemory", "Seed"]


def test_the_first_write_carries_variant_and_pin(shell: Shell, client: Any, scripted: Scripted) -> None:
    """One call creates the memory and stores the transcript, in the handle's session."""
    written = shell(client.memory("maya", SPEC, system="You are kind.", session="monday").write(HELLO))
    assert scripted.rpcs() == ["Write"]
    assert (written.first_seq, written.last_seq, written.memory_created) == (1, 2, True)
    request = scripted.last("Write").request
    assert (request.session, request.system, request.variant) == ("monday", "You are kind.", variant_to_proto(SPEC))


def test_a_variant_that_cannot_be_sent_is_refused_at_once(client: Any, scripted: Scripted) -> None:
    """A memory as a Hybrid's part works in process only; the handle is not even made."""
    with pytest.raises(TypeError, match="Hybrid"):
        client.memory("maya", Hybrid(Window(), client.memory("other")))
    assert scripted.seen == []


# Writing once


def test_ids_are_assigned_before_sending_and_stay_with_the_request_id(
    shell: Shell, client: Any, scripted: Scripted
) -> None:
    """What was written comes back under the ids that the write returned; the caller's own ids are kept."""
    memory = client.memory("maya", Window())
    own = Message("user", ("a",), id="mine")
    written = shell(memory.write([*HELLO, own], request_id="run-1"))
    sent = scripted.last("Write").request
    assert [message.id for message in sent.messages] == list(written.ids)
    assert len(set(written.ids)) == 3
    assert written.ids[2] == "mine"
    assert [message.id for message in shell(memory.read())] == list(written.ids)
    assert shell(memory.write([*HELLO, own], request_id="run-1")) == written
    assert len(scripted.messages["maya"]) == 3


def test_two_writes_of_equal_messages_are_two_writes(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Request ids are random unless given: saying the same thing twice stores it twice."""
    memory = client.memory("maya", Window())
    first, second = shell(memory.write(HELLO)), shell(memory.write(HELLO))
    assert not set(first.ids) & set(second.ids)
    assert len(scripted.messages["maya"]) == 4


def test_unavailable_is_retried_with_the_same_request(shell: Shell, client: Any, scripted: Scripted) -> None:
    """gRPC repeats a Write, byte for byte, until the server can; it is stored once."""
    scripted.fail("Write", UNAVAILABLE, Failure(grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", "unknown", after=True))
    shell(client.memory("maya", Window()).write(HELLO))
    assert scripted.rpcs() == ["Write"] * 3
    assert len({seen.request.SerializeToString(deterministic=True) for seen in scripted.seen}) == 1
    assert scripted.seen[0].request.request_id
    assert len(scripted.messages["maya"]) == 2


def test_a_large_write_is_retried_too(shell: Shell, client: Any, scripted: Scripted) -> None:
    """As large as a batch may be."""
    scripted.fail("Write", UNAVAILABLE)
    shell(client.memory("maya", Window()).write([Message.user("x" * 1_000_000)] * 3))
    assert scripted.rpcs() == ["Write"] * 2
    assert len(scripted.messages["maya"]) == 3


def test_a_write_of_unknown_fate_can_be_repeated_by_the_error_s_request_id(
    shell: Shell, client: Any, scripted: Scripted
) -> None:
    """The answer was lost after the commit: repeating with the error's request id stores nothing twice."""
    scripted.fail("Write", Failure(grpc.StatusCode.INTERNAL, "INTERNAL", "unknown", after=True))
    memory = client.memory("maya", Window())
    with pytest.raises(errors.InternalError) as lost:
        shell(memory.write(HELLO))
    assert lost.value.stored == "unknown"
    written = shell(memory.write(HELLO, request_id=lost.value.request_id))
    assert len(scripted.messages["maya"]) == 2
    assert [message.id for message in shell(memory.read())] == list(written.ids)


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_nothing_but_unavailable_is_retried(
    shell: Shell, client: Any, scripted: Scripted, code: grpc.StatusCode
) -> None:
    """An error that would come again is reported at once."""
    scripted.fail("Write", Failure(code))
    with pytest.raises(errors.SeedbedError) as refused:
        shell(client.memory("maya", Window()).write(HELLO))
    assert refused.value.code == code.name
    assert scripted.rpcs() == ["Write"]


def test_calls_that_cannot_be_repeated_are_not(shell: Shell, client: Any, scripted: Scripted) -> None:
    """A second DeleteMemory would answer NOT_FOUND for a deletion that worked."""
    shell(client.create_memory("maya"))
    scripted.fail("DeleteMemory", UNAVAILABLE)
    with pytest.raises(errors.StorageUnavailableError):
        shell(client.delete_memory("maya"))
    assert scripted.rpcs() == ["CreateMemory", "DeleteMemory"]


# What accompanies a call


def everything(client: Any) -> Any:
    """Every call of a client and of a memory, each with its RPC's name."""
    memory = client.memory("maya", Window())
    return {
        "Write": lambda: memory.write(HELLO),
        "Read": memory.read,
        "Seed": memory.seed,
        "Recall": lambda: memory.recall("cats"),
        "ListRecalls": memory.recalls,
        "Clear": memory.clear,
        "Forget": lambda: memory.forget(["x"]),
        "ImportMessages": lambda: memory.import_messages(HELLO),
        "ExportMemory": memory.export,
        "ListEntities": memory.entities,
        "GetEntity": lambda: memory.entity("e1"),
        "ListTriples": memory.triples,
        "Explore": lambda: memory.explore(["e1"]),
        "FindPaths": lambda: memory.find_paths("e1", "e2"),
        "MergeEntities": lambda: memory.merge("e1", "e2"),
        "SplitEntity": lambda: memory.split("m"),
        "AddTriples": lambda: memory.add_triples([Statement("Maya", "like", "tea", ("m1",))]),
        "RetractTriples": lambda: memory.retract_triples(["t1"]),
        "GetMemory": lambda: client.get_memory("maya"),
        "ListMemories": client.list_memories,
        "UpdateMemory": lambda: client.update_memory("maya", system="new"),
        "GetStatus": client.status,
        "ListModels": client.models,
        "DeleteMemory": lambda: client.delete_memory("maya"),
        "CreateMemory": lambda: client.create_memory("maya"),
    }


def test_every_call_carries_deadline_token_agent_and_an_id_of_its_own(
    shell: Shell, address: str, scripted: Scripted
) -> None:
    """No call is without a deadline, no two share a request id."""
    calls = everything(shell.client(address, token="s3cret", timeout=70.0))
    for call in calls.values():
        shell(call())
    assert scripted.rpcs() == list(calls)
    for seen in scripted.seen:
        limit = 3600 if seen.rpc in ("ImportMessages", "ExportMemory") else 70
        assert seen.seconds_left is not None
        assert limit - 50 < seen.seconds_left <= limit * 1.01  # gRPC rounds long ones up
        assert seen.metadata["authorization"] == "Bearer s3cret"
        assert seen.metadata["user-agent"].startswith("seedbed-python/")
        assert re.fullmatch("[0-9a-f]{32}", seen.metadata["x-request-id"])
    assert len({seen.metadata["x-request-id"] for seen in scripted.seen}) == len(calls)


def test_without_a_token_no_authorization_is_sent(shell: Shell, client: Any, scripted: Scripted) -> None:
    """An empty token is none."""
    shell(client.status())
    assert "authorization" not in scripted.last("GetStatus").metadata


def test_the_token_is_in_no_repr(shell: Shell, address: str) -> None:
    """What a log may print of a client or a memory holds no secret."""
    client = shell.client(address, token="s3cret")
    memory = client.memory("maya", Window(), system="pin")
    assert "s3cret" not in f"{client!r} {memory!r} {client._carrier.connection!r}"
    assert "pin" not in repr(memory)


def test_the_deadline_holds(shell: Shell, client: Any, address: str, scripted: Scripted) -> None:
    """A server that takes too long is not waited for."""
    go_on = threading.Event()
    scripted.fail("Recall", Failure(held=go_on))
    shell(client.memory("maya", Window()).write(HELLO))
    try:
        with pytest.raises(errors.DeadlineError) as late:
            shell(shell.client(address, timeout=0.3).memory("maya", Window()).recall("cats"))
    finally:
        go_on.set()
    assert (late.value.code, late.value.stored) == ("DEADLINE_EXCEEDED", "unknown")
    assert f"no answer from {address} within 0.3 s" in str(late.value)


def test_what_is_too_large_for_any_server_is_not_sent(shell: Shell, client: Any, scripted: Scripted) -> None:
    """It is told as the server tells of what is too large for it; of an import, what came before is stored."""
    memory, large = client.memory("maya", Window()), Message.user("x" * 20_000_000)
    for refuse in (lambda: memory.write([large]), lambda: memory.recall(large.text)):
        with pytest.raises(errors.TooLargeError, match=r"20,000,\d+ bytes are more than the 16,777,216") as refused:
            shell(refuse())
        assert (refused.value.reason, refused.value.stored) == ("TOO_LARGE", "no")
        assert len(refused.value.request_id) == 32
    assert scripted.seen == []
    with pytest.raises(errors.TooLargeError):
        shell(memory.import_messages([*HELLO, large]))
    assert len(scripted.messages["maya"]) == len(HELLO)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    """Nobody listens: after some retries the error says so, well before the deadline."""
    with serving(Scripted()) as gone:
        pass
    began = time.monotonic()
    with Client(gone, timeout=100.0) as client, pytest.raises(errors.UnavailableError) as absent:
        client.status()
    assert time.monotonic() - began < 50
    assert absent.value.reason == ""


def test_a_proxy_is_not_asked_for_a_server_on_this_machine(
    shell: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the environment names a proxy, a server on loopback is still reached directly."""
    with serving(Scripted()) as nobody:
        pass
    monkeypatch.setenv("http_proxy", f"http://{nobody}")
    for name in ("no_proxy", "no_grpc_proxy", "grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert shell(shell.client(address).models()) == ()


def test_errors_are_decoded_from_the_wire(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Class, reason, fields and request id of a refused call."""
    fields = (("messages[1].role", "is empty"),)
    scripted.fail("Write", Failure(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", fields=fields))
    with pytest.raises(errors.InvalidFieldError) as refused:
        shell(client.memory("maya", Window()).write(HELLO))
    assert refused.value.fields == (errors.FieldViolation("messages[1].role", "is empty"),)
    assert (refused.value.code, refused.value.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert refused.value.stored == "no"
    assert refused.value.request_id == scripted.last("Write").metadata["x-request-id"]


def test_messages_of_many_megabytes_pass_both_ways(shell: Shell, client: Any) -> None:
    """gRPC's own limit of 4 MiB is lifted to 16."""
    memory = client.memory("maya", Window())
    text = "x" * (9 * 2**20)
    shell(memory.write([Message.user(text)]))
    assert shell(memory.seed()).messages == [{"role": "user", "content": text}]


def test_tls_both_ways(shell: Shell, scripted: Scripted) -> None:
    """A client that trusts the server's authority, and shows its own certificate, is served; another is not."""
    folder = Path(__file__).with_name("tls")
    certificate, key = (folder / "localhost.crt").read_bytes(), (folder / "localhost.key").read_bytes()
    credentials = grpc.ssl_server_credentials([(key, certificate)], certificate, require_client_auth=True)
    with serving(scripted, credentials=credentials) as address:
        trusted = shell.client(address, tls=Tls(certificate, certificate, key))
        assert shell(trusted.models()) == ()
        with pytest.raises(errors.UnavailableError):
            shell(shell.client(address, tls=Tls(certificate)).create_memory("maya"))
        assert scripted.rpcs() == ["ListModels"]


# What a call asks


def test_a_seed_asks_through_the_handle_s_variant(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Handles read one memory in several ways; an argument overrides; an unset budget stays unset."""
    moment = datetime(2024, 5, 8, tzinfo=UTC)
    shell(client.create_memory("maya", Window(2), system="pin"))
    shell(client.memory("maya", Vector(k=6), session="monday").seed("cats"))
    request = scripted.last("Seed").request
    assert (request.variant, request.session, request.query) == (variant_to_proto(Vector(k=6)), "monday", "cats")
    assert not request.HasField("max_tokens")
    assert not request.HasField("as_of")
    shell(client.memory("maya").seed(max_tokens=0, session="friday", known_at=moment, variant=Window(3)))
    request = scripted.last("Seed").request
    assert (request.variant, request.session) == (variant_to_proto(Window(3)), "friday")
    assert request.HasField("max_tokens")
    assert request.as_of.known_at.ToDatetime(UTC) == moment
    assert not request.as_of.HasField("valid_at")
    shell(client.memory("maya").seed())
    assert not scripted.last("Seed").request.HasField("variant")


def test_reading_follows_the_pages(shell: Shell, client: Any, scripted: Scripted) -> None:
    """All messages, in order, however many pages; a start and a session are kept from page to page."""
    monday = client.memory("maya", Window(), session="monday")
    shell(monday.write([Message.user(str(i)) for i in range(250)]))
    shell(client.memory("maya", session="friday").write(HELLO))
    assert [message.text for message in shell(monday.read(session="monday"))] == [str(i) for i in range(250)]
    assert scripted.rpcs().count("Read") == 3
    assert len(shell(monday.read())) == 252
    assert [message.seq for message in shell(monday.messages(after_seq=240, page_size=7))] == list(range(241, 253))


def test_listing_follows_the_pages(shell: Shell, client: Any) -> None:
    """Every memory once, in order; settings as they were given."""
    for name in "cab":
        shell(client.create_memory(name, SPEC, system=f"pin {name}"))
    listed = shell(client.list_memories(page_size=2))
    assert [info.name for info in listed] == ["a", "b", "c"]
    assert (listed[0].variant, listed[0].system, listed[0].namespace) == (SPEC, "pin a", "default")


def test_an_update_names_only_what_changes(shell: Shell, client: Any, scripted: Scripted) -> None:
    """None leaves a setting; an empty pin removes it."""
    shell(client.create_memory("maya", Window(2), system="pin"))
    assert shell(client.update_memory("maya", variant=Vector())).variant == Vector()
    assert list(scripted.last("UpdateMemory").request.update_mask.paths) == ["variant"]
    assert shell(client.update_memory("maya", system="", revision=2)).system == ""
    assert list(scripted.last("UpdateMemory").request.update_mask.paths) == ["system"]
    assert scripted.last("UpdateMemory").request.revision == 2


def test_an_import_is_cut_into_elements(shell: Shell, client: Any, scripted: Scripted) -> None:
    """At most 1000 messages and about a MiB each; the address and the spec stand in the first one only."""
    big = Message.user("x" * 700_000)
    many = [Message.user(str(i), "") for i in range(1500)]
    imported = shell(client.memory("maya", SPEC, system="pin", session="s").import_messages(iter([*many, big, big])))
    elements = scripted.last("ImportMessages").request
    assert imported.imported == 1502
    assert [len(element.messages) for element in elements] == [1000, 501, 1]
    assert [element.memory for element in elements] == ["maya", "", ""]
    assert elements[0].variant == variant_to_proto(SPEC)
    assert {message.session for element in elements for message in element.messages} == {"s"}


def test_an_import_of_nothing_still_creates_the_memory(shell: Shell, client: Any, scripted: Scripted) -> None:
    """The address is sent even when there is no message to send."""
    assert shell(client.memory("maya", SPEC).import_messages([])).imported == 0
    assert "maya" in scripted.memories


def test_an_import_raises_what_its_messages_raise(shell: Shell, client: Any, scripted: Scripted) -> None:
    """The caller's own exception arrives, and what came before it is stored."""

    def broken(good: int) -> Any:
        yield from (Message.user(str(i)) for i in range(good))
        raise LookupError("the file ends here")

    memory = client.memory("maya", Window())
    with pytest.raises(LookupError):
        shell(memory.import_messages(broken(10)))
    assert len(scripted.messages["maya"]) == 10
    with pytest.raises(LookupError):
        shell(memory.import_messages(broken(1500)))
    assert len(scripted.messages["maya"]) == 1510
    calls = len(scripted.seen)
    with pytest.raises(LookupError):
        shell(memory.import_messages(broken(0)))
    assert len(scripted.seen) == calls


def test_an_export_streams_all_messages(shell: Shell, client: Any) -> None:
    """All that was written comes out, with ids, seqs and sessions."""
    memory = client.memory("maya", Window(), session="monday")
    written = shell(memory.write(HELLO))
    exported = shell(memory.export())
    assert [(message.id, message.seq, message.session) for message in exported] == [
        (written.ids[0], 1, "monday"),
        (written.ids[1], 2, "monday"),
    ]
    with pytest.raises(errors.MemoryNotFoundError):
        shell(client.memory("other", Window()).export())


def test_an_export_that_is_left_early_is_cancelled(shell: Shell, client: Any, scripted: Scripted) -> None:
    """The server stops sending when the caller stops taking."""
    memory = client.memory("maya", Window())
    shell(memory.write([Message.user("x" * 100_000)] * 100))

    async def first(stream: Any) -> Any:
        taken = await anext(stream)
        await stream.aclose()
        return taken

    stream = memory.export()
    if shell.kind == "blocking":
        taken = next(stream)
        stream.close()
    else:
        taken = shell(first(stream))
    assert taken.seq == 1
    assert scripted.last("ExportMemory").ended.wait(60)


# What an answer says


def test_recall_and_receipt_are_decoded(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Hits with legs, what was below the floor, degradation; counts per store."""
    scripted.replies["Recall"] = memory_pb2.RecallResponse(
        hits=[memory_pb2.Hit(message=message_to_proto(Message("user", ("a cat",), id="m1")), score=1.5)],
        applied_seq=7,
        degraded=True,
        degraded_legs=["dense"],
        below_floor=2,
        best_below_floor=0.25,
    )
    scripted.replies["Recall"].hits[0].legs.add(leg="lexical", raw=9.0, contribution=1.5, rank=1)
    memory = client.memory("maya", Window())
    recall = shell(memory.recall("cats", k=3, explain=True))
    assert recall.hits[0].message == Message("user", ("a cat",), id="m1")
    assert (recall.hits[0].legs[0].leg, recall.hits[0].legs[0].rank) == ("lexical", 1)
    assert (recall.applied_seq, recall.degraded, recall.degraded_legs) == (7, True, ("dense",))
    assert (recall.below_floor, recall.best_below_floor) == (2, 0.25)
    request = scripted.last("Recall").request
    assert (request.k, request.explain, request.session) == (3, True, "")
    store = memory_pb2.StoreErasure(store="log", erased=1, files_rewritten=True)
    receipt = memory_pb2.Receipt(id="r", stores=[store], missing_ids=["m2"])
    receipt.completed_at.FromJsonString("2024-05-08T00:00:00Z")
    scripted.replies["Forget"] = memory_pb2.ForgetResponse(receipt=receipt)
    proof = shell(memory.forget(["m1", "m2"]))
    assert (proof.id, proof.missing_ids, proof.completed_at) == ("r", ("m2",), datetime(2024, 5, 8, tzinfo=UTC))
    assert (proof.stores[0].store, proof.stores[0].erased, proof.stores[0].files_rewritten) == ("log", 1, True)


def test_entries_of_the_recall_log_are_decoded(shell: Shell, client: Any, scripted: Scripted) -> None:
    """What was asked, with absent values as None, and what was shown; page after page."""
    entry = memory_pb2.RecallEntry(
        call="Seed", request_id="r", session="s", query="cats", query_cut=True, max_tokens=0, tokens=7, truncated=True,
        degraded=["vector"], below_floor=2, more_shown=3, messages=[message_to_proto(Message("user", ("a cat",)))],
    )  # fmt: skip
    entry.time.FromJsonString("2026-05-08T00:00:00Z")
    entry.as_of.known_at.FromJsonString("2026-05-07T00:00:00Z")
    item = entry.shown.add(origin="vector", kind="recalled", score=1.5, tokens=4, message_ids=["m1", "m2"])
    item.legs.add(leg="lexical", raw=9.0, contribution=1.5, rank=1)
    scripted.replies["ListRecalls"] = memory_pb2.ListRecallsResponse(entries=[entry], kept=5)
    memory = client.memory("maya", Window())
    (found,) = shell(memory.recalls(session="s", with_messages=True, page_size=1))
    assert (found.time, found.known_at) == (datetime(2026, 5, 8, tzinfo=UTC), datetime(2026, 5, 7, tzinfo=UTC))
    assert (found.call, found.request_id, found.session, found.query, found.query_cut) == (
        "Seed",
        "r",
        "s",
        "cats",
        True,
    )
    assert (found.max_tokens, found.k, found.valid_at, found.tokens, found.truncated) == (0, 0, None, 7, True)
    assert (found.degraded, found.below_floor, found.more_shown) == (("vector",), 2, 3)
    assert found.messages == (Message("user", ("a cat",)),)
    (shown,) = found.shown
    assert (shown.origin, shown.kind, shown.score, shown.tokens) == ("vector", "recalled", 1.5, 4)
    assert (shown.message_ids, shown.legs[0].leg) == (("m1", "m2"), "lexical")
    request = scripted.last("ListRecalls").request
    assert (request.session, request.with_messages, request.page_size) == ("s", True, 1)
    entry.ClearField("max_tokens")
    scripted.replies["ListRecalls"] = memory_pb2.ListRecallsResponse(entries=[entry])
    assert shell(memory.recalls())[0].max_tokens is None


def test_knowledge_is_decoded(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Entities, facts, a subgraph and paths, as values."""
    entity = knowledge_pb2.Entity(id="e1", name="Maya", type="person", aliases=["M"], mention_count=3)
    triple = knowledge_pb2.Triple(id="t1", subject_id="e1", subject="Maya", predicate="lives in", object="Lisbon")
    triple.valid_from.FromJsonString("2024-05-08T00:00:00Z")
    mention = knowledge_pb2.Mention(message_id="m1", start=8, end=12, text="Maya")
    scripted.replies |= {
        "ListEntities": knowledge_pb2.ListEntitiesResponse(entities=[entity]),
        "GetEntity": knowledge_pb2.GetEntityResponse(entity=entity, mentions=[mention], triples=[triple]),
        "ListTriples": knowledge_pb2.ListTriplesResponse(triples=[triple]),
        "Explore": knowledge_pb2.ExploreResponse(entities=[entity], triples=[triple], truncated=True, applied_seq=4),
        "FindPaths": knowledge_pb2.FindPathsResponse(paths=[knowledge_pb2.Path(triples=[triple, triple])]),
    }
    memory = client.memory("maya", Window())
    (found,) = shell(memory.entities(kind="person", name_prefix="ma"))
    assert (found.id, found.name, found.type, found.aliases, found.mention_count) == ("e1", "Maya", "person", ("M",), 3)
    assert scripted.last("ListEntities").request.type == "person"
    (fact,) = shell(memory.triples(entity_id="e1", include_superseded=True))
    assert (fact.subject, fact.predicate, fact.object) == ("Maya", "lives in", "Lisbon")
    assert (fact.valid_from, fact.valid_to) == (datetime(2024, 5, 8, tzinfo=UTC), None)
    assert scripted.last("ListTriples").request.include_superseded
    details = shell(memory.entity("e1"))
    assert (details.entity, details.triples, details.mentions[0].text) == (found, (fact,), "Maya")
    around = shell(memory.explore(["e1"], hops=2))
    assert (around.entities, around.triples, around.truncated, around.applied_seq) == ((found,), (fact,), True, 4)
    assert shell(memory.find_paths("e1", "e2")) == ((fact, fact),)


def test_decisions_are_sent_and_decoded(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Merge, split, addition and retraction: what goes out, and what comes back."""
    merge = knowledge_pb2.EntityMerge(merge_id="m1", from_entity_id="e2", reason="merged by a user")
    entity = knowledge_pb2.Entity(id="e1", name="Maya", type="person", merges=[merge])
    triple = knowledge_pb2.Triple(id="t1", subject="Maya", predicate="like", object="tea", source_ids=["x"])
    scripted.replies |= {
        "MergeEntities": knowledge_pb2.MergeEntitiesResponse(
            entity=entity, merge_id="m1", mentions_moved=2, triples_moved=3
        ),
        "SplitEntity": knowledge_pb2.SplitEntityResponse(entities=[entity]),
        "AddTriples": knowledge_pb2.AddTriplesResponse(triples=[triple]),
        "RetractTriples": knowledge_pb2.RetractTriplesResponse(retracted=1),
    }
    memory = client.memory("maya", Window())
    merged = shell(memory.merge("e1", "e2", preview=True))
    assert (merged.entity.merges[0].from_entity_id, merged.merge_id, merged.mentions_moved) == ("e2", "m1", 2)
    assert scripted.last("MergeEntities").request.preview
    assert shell(memory.split("m1")) == (merged.entity,)
    since = datetime(2024, 5, 8, tzinfo=UTC)
    statement = Statement("Maya", "like", "tea", ("x",), negated=True, valid_from=since)
    (fact,) = shell(memory.add_triples([statement], request_id="r"))
    assert (fact.object, fact.source_ids) == ("tea", ("x",))
    request = scripted.last("AddTriples").request
    assert (request.request_id, request.triples[0].negated, request.triples[0].HasField("valid_to")) == (
        "r",
        True,
        False,
    )
    assert request.triples[0].valid_from.ToDatetime(tzinfo=UTC) == since
    assert shell(memory.retract_triples(["t1"])) == 1


def test_status_and_models_are_decoded(shell: Shell, client: Any, scripted: Scripted) -> None:
    """Parts with their state in a word, projections, models; a state of a later server keeps its number."""
    later: Any = 77
    parts = [
        admin_pb2.PartStatus(part="log", state=admin_pb2.PART_STATE_READY),
        admin_pb2.PartStatus(part="encoder", state=later),
    ]
    projections = [admin_pb2.ProjectionStatus(projection="vectors", applied_seq=5, skipped=1)]
    scripted.replies["GetStatus"] = admin_pb2.GetStatusResponse(
        version="1", parts=parts, projections=projections, last_seq=6
    )
    model = admin_pb2.Model(name="mini", role="encoder", licence="MIT", dimensions=384, available=True)
    scripted.replies["ListModels"] = admin_pb2.ListModelsResponse(models=[model])
    status = shell(client.status("maya"))
    assert [(part.part, part.state) for part in status.parts] == [("log", "ready"), ("encoder", "77")]
    assert (status.projections[0].applied_seq, status.projections[0].skipped, status.last_seq) == (5, 1, 6)
    assert scripted.last("GetStatus").request.memory == "maya"
    (listed,) = shell(client.models())
    assert (listed.name, listed.dimensions, listed.available) == ("mini", 384, True)


# Two shells, one client


def signature(function: Any) -> Any:
    """Names, kinds and defaults of the parameters, and what comes back once it is awaited or iterated."""
    found = inspect.signature(function)
    parameters = [(p.name, p.kind, p.default) for p in found.parameters.values()]
    returned = str(found.return_annotation).replace("Async", "")
    return parameters, returned, inspect.getdoc(function) if function.__name__ in ("write", "seed") else None


@pytest.mark.parametrize(("blocking", "awaited"), [(Client, AsyncClient), (RemoteMemory, AsyncRemoteMemory)])
def test_both_shells_offer_the_same(blocking: type, awaited: type) -> None:
    """The same public names with the same signatures; what makes a call is awaited or iterated asynchronously."""

    def public(cls: type) -> Any:
        return {name: value for name, value in vars(cls).items() if not name.startswith("_")}

    assert public(blocking).keys() == public(awaited).keys()
    for name, method in public(blocking).items():
        twin = public(awaited)[name]
        if isinstance(method, property):
            assert isinstance(twin, property)
            continue
        assert signature(method) == signature(twin)
        returned = str(inspect.signature(twin).return_annotation)
        assert inspect.iscoroutinefunction(twin) != (returned.startswith("AsyncIterator") or name == "memory")


def test_a_remote_memory_is_a_memory(address: str) -> None:
    """Agents and in-process Hybrids take it; mypy checks the signatures here, too."""
    with Client(address) as client:
        memory: Memory = client.memory("maya", Window(), system="pin")
        assert isinstance(memory, Memory)
        memory.write(HELLO)
        assert [message.text for message in memory.read()] == ["Hi, I'm Maya.", "Hello Maya!"]
        assert memory.seed("", max_tokens=100).messages[0]["content"] == "pin"


def test_handles_know_when_they_write_to_the_same_place(client: Any) -> None:
    """A Hybrid of several views of one memory can see that it must write once."""
    vector, entity = client.memory("maya", Vector()), client.memory("maya", Entity())
    assert vector.store == entity.store
    assert vector.store != client.memory("maya", session="other").store
    assert vector.store != client.memory("other").store
