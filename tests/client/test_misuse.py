"""What a newcomer does wrong is told in a sentence, before any call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from seedbed import AsyncClient, Buffer, Client, Hybrid, LocalMemory, Message, RemoteMemory, Statement, Window
from tests.client.scripted import Scripted, serving

MESSAGES = pytest.mark.parametrize(
    ("given", "said"),
    [
        (["x"], r"messages\[0\]: must be a Message, such as Message.user\(text\), not a str"),
        ([Message.user("a"), {"role": "user"}], r"messages\[1\]: must be a Message, .* not a dict"),
        ([Message("user", "Hi.")], r"messages\[0\].parts: must be a tuple, such as \(text,\), not a str"),  # type: ignore[arg-type]
        ("x", "messages: must be a list of Message, not a str"),
        (Message.user("a"), r"messages: must be a list of Message, not a Message; one alone is \[Message.user\(text\)\]"),
        (Message, "messages: must be a list of Message, not the class Message"),
        ({"role": "user"}, "messages: must be a list of Message, not a dict"),
        (None, "messages: must be a list of Message, not a NoneType"),
    ],
)  # fmt: skip


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture
def memory(script: Scripted) -> Iterator[RemoteMemory]:
    with serving(script) as address, Client(address) as client:
        client.create_memory("maya")
        yield client.memory("maya")


@MESSAGES
def test_what_is_no_transcript_is_refused(memory: RemoteMemory, script: Scripted, given: Any, said: str) -> None:
    """By every write and import; of a write nothing is sent, of an import what came before."""
    local = LocalMemory(Buffer())
    for write in (memory.write, memory.import_messages, local.write):
        with pytest.raises(TypeError, match=said):
            write(given)
    assert local.read() == []
    assert "Write" not in script.rpcs()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda memory: memory.forget("m1"), "ids"),
        (lambda memory: memory.retract_triples("t1"), "triple_ids"),
        (lambda memory: memory.explore("e1"), "entity_ids"),
        (lambda memory: memory.explore(["e1"], predicates="like"), "predicates"),
        (lambda memory: memory.add_triples([Statement("a", "like", "b", cast("Any", "m1"))]), "source_ids"),
    ],
)
def test_one_text_is_no_list_of_texts(memory: RemoteMemory, call: Callable[[RemoteMemory], Any], name: str) -> None:
    """It would be sent letter by letter."""
    with pytest.raises(TypeError, match=f"{name}: must be a list of texts"):
        call(memory)


@pytest.mark.parametrize(
    "address",
    ["http://localhost:7700", "https://example.org", "localhost", "", ":7700", "localhost:", "localhost:x", "a b:1",
     "user@host:7700", "localhost:7700/path", "::1:7700"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_is_no_address_is_refused(kind: Callable[[str], Any], address: str) -> None:
    """gRPC would dial port 443 of a mere name."""
    with pytest.raises(ValueError, match='must be HOST:PORT, such as "localhost:7700", without http://'):
        kind(address)


@pytest.mark.parametrize(
    "address", ["localhost:7700", "127.0.0.1:1", "[::1]:7700", "a-b.example.org:65535", "dns:///localhost:7700",
                "ipv4:127.0.0.1:7700", "unix:/run/seedbed.sock"],
)  # fmt: skip
def test_an_address_is_taken(address: str) -> None:
    """Also in the forms that gRPC has."""
    Client(address).close()


@pytest.mark.parametrize("token", ["tökén", "a\nb", "\x00"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    """Without a word of it."""
    with pytest.raises(ValueError, match=r"^token: must be printable ASCII$"):
        Client("localhost:7700", token=token)


async def test_an_asynchronous_member_is_told_what_to_do_instead() -> None:
    """Two ways that work."""
    async with AsyncClient("localhost:7700") as client:
        with pytest.raises(
            TypeError, match=r"handles of a Client, or have the server .* AsyncClient.memory\(name, Hybrid"
        ):
            LocalMemory(Hybrid(Window(2), client.memory("maya")))  # type: ignore[arg-type]
