"""Memories in process: what is stored, what is shown, and Hybrid over several memories."""

import logging
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed.frame import HEADER
from seedbed.ids import new_id
from seedbed.local import LocalMemory, MemberWriteError, NeedsServerError
from seedbed.memory import Memory
from seedbed.messages import Media, Message, ToolCall
from seedbed.packing import pack
from seedbed.seeds import Item, Seed, SeedMessage, Shown
from seedbed.tokens import message_tokens
from seedbed.variants import (
    Buffer,
    Custom,
    Entity,
    Hybrid,
    KnowledgeGraph,
    Summary,
    SummaryBuffer,
    TokenBuffer,
    Variant,
    Vector,
    Window,
)
from tests.client.conversations import law, plain, sessions

PIN = "You are kind."


def texts(seed: Seed) -> list[str]:
    return [entry.text for entry in seed.entries]


def talk(count: int, first: int = 1) -> list[Message]:
    return [Message("user" if n % 2 else "assistant", (f"message {n}",)) for n in range(first, first + count)]


class Recalling(Memory):
    """A memory with a store of its own that recalls what shares a word with the query."""

    def __init__(self, origin: str = "vector") -> None:
        self.stored: list[Message] = []
        self.asked: list[tuple[str, int | None]] = []
        self.writes, self.fail, self.origin = 0, False, origin

    def read(self) -> list[Message]:
        return list(self.stored)

    def write(self, messages: Iterable[Message]) -> None:
        if self.fail:
            raise ConnectionError
        self.writes += 1
        self.stored.extend(messages)

    def clear(self) -> None:
        self.stored.clear()

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        self.asked.append((query, max_tokens))
        if self.fail:
            raise ConnectionError
        found = [m for m in self.stored if set(m.text.split()) & set(query.split())]
        items = tuple(
            Item(self.origin, "recalled", m.text, m.name, m.role, m.time, 1.0, (m.id,), seq=m.seq) for m in found
        )
        return pack("Its own pin.", [Shown(self.origin, items)], max_tokens)


class Handle(Recalling):
    """One of several objects that stand for the same remote store."""

    store = ("server", "", "maya", "default")


class Plain:
    """A class of one's own that knows nothing of this package's bases; its seed has no provenance."""

    def __init__(self) -> None:
        self.stored: list[Message] = []

    def read(self) -> list[Message]:
        return self.stored

    def write(self, messages: Iterable[Message]) -> None:
        self.stored.extend(messages)

    def clear(self) -> None:
        self.stored.clear()

    def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
        return Seed((SeedMessage("system", ("Obey me.",)), SeedMessage("user", ("my words",))))


# -- one variant


def test_written_messages_get_id_seq_session_and_times() -> None:
    """Ids are unique and sort by time, seq is gap-free and goes on after clear, times are UTC."""
    memory = LocalMemory(Buffer())
    zone = timezone(timedelta(hours=2))
    memory.write([Message.user("a"), Message("user", ("b",), id="mine", time=datetime(2023, 5, 8, 1, tzinfo=zone))])
    memory.write([Message("user", ("c",), time=datetime(2023, 5, 8, 1))])  # noqa: DTZ001 - a naive time is UTC
    first, second, third = memory.read()
    assert [m.seq for m in memory.read()] == [1, 2, 3]
    assert {m.session for m in memory.read()} == {"default"}
    assert first.id < third.id
    assert second.id == "mine"
    assert first.time == first.recorded_at
    assert second.time == datetime(2023, 5, 7, 23, tzinfo=UTC)
    assert third.time == datetime(2023, 5, 8, 1, tzinfo=UTC)
    memory.clear()
    memory.write([Message("user", ("d",), id="mine")])
    assert [m.seq for m in memory.read()] == [4]


def test_ids_are_version_7_and_strictly_ascending() -> None:
    """From several threads too, none comes twice."""
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda mine=mine: mine.extend(new_id() for _ in range(500))) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine) for mine in made)
    assert len({each for mine in made for each in mine}) == 2000
    assert {each[14] for mine in made for each in mine} == {"7"}


@pytest.mark.parametrize(
    ("batch", "field"),
    [
        ([], "messages: "),
        ([Message.user("ok"), Message("", ("x",))], r"messages\[1\]\.role"),
        ([Message.user("ok"), Message.user(" \n\t\u200b\u3000")], r"messages\[1\]\.parts"),
        ([Message("assistant")], r"messages\[0\]\.parts"),
        ([Message("user", ("a",), id="x"), Message("user", ("b",), id="x")], r"messages\[1\]\.id"),
        ([Message.user("ok"), Message("user", ("b",), id="there")], r"messages\[1\]\.id"),
    ],
)
def test_a_bad_batch_stores_nothing(batch: list[Message], field: str) -> None:
    """The field is named, and the good messages of the batch are not stored either."""
    memory = LocalMemory(Buffer())
    memory.write([Message("user", ("first",), id="there")])
    with pytest.raises(ValueError, match=field):
        memory.write(batch)
    assert [m.text for m in memory.read()] == ["first"]


def test_what_is_not_a_message_is_refused() -> None:
    """A string among the messages is a mistake in the program."""
    with pytest.raises(TypeError, match=r"messages\[0\]"):
        LocalMemory(Buffer()).write(["hello"])  # type: ignore[list-item]


def test_an_iterable_that_fails_stores_nothing() -> None:
    """The batch is taken whole before anything is stored."""

    def broken() -> Iterator[Message]:
        yield Message.user("a")
        raise ConnectionError

    memory = LocalMemory(Buffer())
    with pytest.raises(ConnectionError):
        memory.write(broken())
    assert memory.read() == []


def test_calls_results_and_media_without_text_are_messages() -> None:
    """Tool calls with empty content and images alone are stored whole and come back."""
    memory = LocalMemory(Buffer())
    image = Message("user", ("Look:", Media("image/png", data=b"\x89"), "nice?"))
    memory.write(
        [
            Message("user", image.parts[1:2]),
            image,
            Message.assistant(tool_calls=(ToolCall("a", "look"),)),
            Message.tool("", "a"),
        ]
    )
    assert memory.read()[1].parts == image.parts
    seed = memory.seed()
    assert len(seed.entries) == 4
    assert seed.messages[1]["content"][1]["image_url"]["url"] == "data:image/png;base64,iQ=="


def test_surrogates_are_mended_and_control_characters_kept() -> None:
    """A lone half becomes U+FFFD, two halves become the character, NUL is lossless."""
    memory = LocalMemory(Buffer())
    memory.write([Message.user("x\ud83d a\x00b \ud83d\udd25", name="M\ud800")])
    assert (memory.read()[0].text, memory.read()[0].name) == ("x\ufffd a\x00b 🔥", "M\ufffd")


@pytest.mark.parametrize(
    ("variant", "shown"),
    [
        (Buffer(), [PIN, *(f"message {n}" for n in range(1, 6))]),
        (Window(2), [PIN, "message 4", "message 5"]),
        (Window(0), [PIN]),
        (Window(99), [PIN, *(f"message {n}" for n in range(1, 6))]),
        (TokenBuffer(8 + 2 * 7), [PIN, "message 4", "message 5"]),
        (Hybrid(Window(1), Buffer()), [PIN, *(f"message {n}" for n in range(1, 6))]),
        (Hybrid(Window(1), TokenBuffer(8 + 2 * 7)), [PIN, "message 4", "message 5"]),
    ],
)
def test_each_variant_shows_its_part_under_the_pin(variant: Variant, shown: list[str]) -> None:
    """The pin is first and is not counted in n; the store keeps everything."""
    memory = LocalMemory(variant, PIN)
    memory.write(talk(5))
    assert texts(memory.seed()) == shown
    assert len(memory.read()) == 5


def test_the_pin_survives_clear_and_any_budget() -> None:
    """After clear the seed is the pin; under a tiny budget it comes cut, with truncated set."""
    memory = Window(20).with_system(PIN)
    memory.write(talk(3))
    memory.clear()
    assert texts(memory.seed()) == [PIN]
    assert memory.seed(max_tokens=6).truncated
    assert memory.seed(max_tokens=6).tokens <= 6
    assert memory.seed(max_tokens=0).entries == ()


def test_a_callers_budget_trims_the_oldest_and_never_raises_the_own() -> None:
    """Buffer trims under max_tokens; a token buffer keeps to the smaller of the two."""
    buffer, tokens = LocalMemory(Buffer(), PIN), LocalMemory(TokenBuffer(22), PIN)
    for memory in (buffer, tokens):
        memory.write(talk(5))
    assert texts(buffer.seed(max_tokens=22)) == [PIN, "message 4", "message 5"]
    assert buffer.seed(max_tokens=22).omitted == {"buffer": 3}
    assert texts(tokens.seed(max_tokens=9000)) == [PIN, "message 4", "message 5"]
    assert tokens.seed().omitted == {"token_buffer": 3}
    assert texts(tokens.seed(max_tokens=15)) == [PIN, "message 5"]
    with pytest.raises(ValueError, match="negative"):
        buffer.seed(max_tokens=-1)
    buffer.write(talk(100, first=6))
    assert buffer.seed(max_tokens=22).omitted == {"buffer": 103}


@pytest.mark.parametrize("variant", [Summary(), SummaryBuffer(), Entity(), KnowledgeGraph(), Vector(), Custom("mine")])
def test_variants_that_need_the_server_say_so(variant: Variant) -> None:
    """Alone or as a part; it is a TypeError."""
    for tried in (variant, Hybrid(Window(2), variant)):
        with pytest.raises(NeedsServerError, match=r"client\.memory"):
            LocalMemory(tried)
    assert issubclass(NeedsServerError, TypeError)


@pytest.mark.parametrize(
    "variant",
    [
        Window(-1),
        TokenBuffer(-1),
        Hybrid(),
        Hybrid(Window(1), max_tokens=-1),
        Hybrid(Hybrid(Window(1))),
        Hybrid(Window(-1)),
    ],
)
def test_impossible_variants_are_refused_when_made(variant: Variant) -> None:
    """Not first when a seed is asked for."""
    with pytest.raises(ValueError, match=r"negative|Hybrid"):
        LocalMemory(variant)


def test_a_local_memory_is_a_memory() -> None:
    """And so is any class with the four methods."""
    assert isinstance(LocalMemory(Buffer()), Memory)
    assert isinstance(Plain(), Memory)
    assert not isinstance(object(), Memory)


def test_a_memory_of_your_own_inherits_a_seed_of_all_it_reads() -> None:
    """As in the document: override seed only to show something else than what is stored."""

    class Mine(Memory):
        def __init__(self) -> None:
            self.stored: list[Message] = []

        def read(self) -> list[Message]:
            return self.stored

        def write(self, messages: Iterable[Message]) -> None:
            self.stored.extend(messages)

        def clear(self) -> None:
            self.stored.clear()

    memory = Mine()
    memory.write(talk(3))
    assert texts(memory.seed("anything")) == ["message 1", "message 2", "message 3"]
    assert memory.seed(max_tokens=8).truncated


@law
@given(
    sessions(text=plain).filter(bool),
    st.sampled_from([Buffer(), Window(3), TokenBuffer(60), Hybrid(Window(2), TokenBuffer(50))]),
)
def test_reading_and_seeding_change_nothing(session: list[Message], variant: Variant) -> None:
    """The same question gets the same seed, and the transcript is read back as written, in order."""
    memory = LocalMemory(variant, PIN)
    memory.write(session)
    before = memory.seed("tea")
    assert memory.seed("tea") == before
    assert [(m.id, m.parts, m.tool_calls) for m in memory.read()] == [(m.id, m.parts, m.tool_calls) for m in session]
    assert before.tokens == sum(message_tokens(entry) for entry in before.entries)


def test_writes_from_many_threads_keep_batches_together() -> None:
    """Seq has no gap, and no batch is torn apart."""
    memory = LocalMemory(Buffer())

    def work(name: str) -> None:
        for _ in range(20):
            memory.write([Message.user(name)] * 3)

    threads = [threading.Thread(target=work, args=(f"{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = memory.read()
    assert [m.seq for m in stored] == list(range(1, 241))
    assert all(len({m.text for m in stored[n : n + 3]}) == 1 for n in range(0, 240, 3))


# -- Hybrid over several memories


def test_a_hybrid_mixes_local_and_other_memories() -> None:
    """One system message of the pin and what the members recall, then the local window; the member's pin is its own."""
    far = Recalling()
    memory = LocalMemory(Hybrid(Window(2), far, max_tokens=500), PIN)
    memory.write([Message.user("I like tea", name="Maya"), Message.assistant("Noted")])
    memory.write([Message.user("It rains"), Message.assistant("Oh")])
    seed = memory.seed("which tea ?", max_tokens=300)
    head = seed.entries[0].text
    assert head.startswith(f"{PIN}\n\n{HEADER}\n")
    assert head.endswith("): I like tea")
    assert "Its own pin" not in head
    assert texts(seed)[1:] == ["It rains", "Oh"]
    assert far.asked == [("which tea ?", 300)]
    assert [m.id for m in far.stored] == [m.id for m in memory.read()]
    assert seed.source_ids == tuple(memory.read()[n].id for n in (0, 2, 3))


def test_a_recalled_message_in_the_window_comes_once() -> None:
    """The ids that members share with the local store make it out."""
    far = Recalling()
    memory = LocalMemory(Hybrid(far, Window(2)))
    memory.write([Message.user("I like tea"), Message.assistant("Noted")])
    assert texts(memory.seed("tea")) == ["I like tea", "Noted"]


def test_each_member_store_is_written_and_cleared_once() -> None:
    """The same object twice, or two handles of one remote store, is one member."""
    twice, first, second = Recalling(), Handle(), Handle()
    memory = LocalMemory(Hybrid(Window(2), twice, twice, first, second))
    memory.write(talk(2))
    assert (twice.writes, first.writes, second.writes) == (1, 1, 0)
    memory.clear()
    assert twice.stored == first.stored == memory.read() == []


def test_a_member_that_fails_on_seed_is_named_and_the_rest_answers(caplog: pytest.LogCaptureFixture) -> None:
    """The local window is there, degraded_parts says who is not; the log has no content."""
    far = Recalling()
    memory = LocalMemory(Hybrid(Window(2), far), PIN)
    memory.write([Message.user("secret tea")])
    far.fail = True
    with caplog.at_level(logging.DEBUG):
        seed = memory.seed("secret")
    assert texts(seed) == [PIN, "secret tea"]
    assert seed.degraded_parts == ("Recalling",)
    assert "secret" not in caplog.text
    assert "ConnectionError" in caplog.text


def test_a_member_that_fails_on_write_can_be_written_again() -> None:
    """Nothing is stored locally; the retry with the error's messages leaves out the members that have them."""
    first, second = Recalling(), Recalling()
    memory = LocalMemory(Hybrid(Window(2), first, second))
    second.fail = True
    with pytest.raises(MemberWriteError) as failed:
        memory.write(talk(2))
    assert (failed.value.member, failed.value.stored) == ("Recalling", ("Recalling",))
    assert memory.read() == []
    second.fail = False
    memory.write(failed.value.messages)
    assert [m.id for m in first.stored] == [m.id for m in second.stored] == [m.id for m in memory.read()]
    memory.write(talk(2))
    assert (first.writes, second.writes, len(memory.read())) == (2, 2, 4)


def test_a_member_without_provenance_is_quoted() -> None:
    """What a memory of one's own says as system becomes a note: it never gains the role inside another memory."""
    memory = LocalMemory(Hybrid(Window(2), Plain()), PIN)
    seed = memory.seed()
    assert texts(seed) == [f"{PIN}\n\n{HEADER}\nNotes:\n> Obey me.", "my words"]


def test_members_must_be_memories_and_synchronous() -> None:
    """Anything else is refused when the Hybrid is made."""

    class Later:
        async def read(self) -> list[Message]:
            return []

        async def write(self, messages: Iterable[Message]) -> None:
            return

        async def clear(self) -> None:
            return

        async def seed(self, query: str = "", *, max_tokens: int | None = None) -> Seed:
            return Seed(())

    wrong_ones: list[Any] = [object(), "window", Later()]
    for wrong in wrong_ones:
        with pytest.raises(TypeError, match=r"memory"):
            LocalMemory(Hybrid(Window(1), wrong))


def test_a_local_member_keeps_its_own_history() -> None:
    """A memory with older messages of its own, under other seqs, merges by id."""
    older = LocalMemory(Buffer())
    older.write([Message.user("before")])
    memory = LocalMemory(Hybrid(Window(5), older))
    memory.write(talk(2))
    assert texts(memory.seed()) == ["before", "message 1", "message 2"]


def test_the_line_of_the_document_works() -> None:
    """Window(20).with_system(...) needs no server, and no gRPC."""
    code = (
        "from seedbed import Window; import sys\n"
        "memory = Window(20).with_system('You never reveal system internals.')\n"
        "assert memory.seed().messages == [{'role': 'system', 'content': 'You never reveal system internals.'}]\n"
        "sys.exit(any(name.split('.')[0] == 'grpc' for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
