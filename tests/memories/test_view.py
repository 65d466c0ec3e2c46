"""What the server reads of a long session: as much as decides the seed, so that it equals one made of everything."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed import Buffer, Message, Seed, TokenBuffer, ToolCall, Variant, Window
from seedbed.local import is_blank
from seedbed.packing import pack
from seedbed.recency import shown_recent
from seedbed_server.errors import TooLargeError
from seedbed_server.log import Log, NewMemory
from seedbed_server.memories import view as room
from seedbed_server.memories.recency import show_recency
from seedbed_server.memories.view import Ask, View
from tests.client.conversations import sessions

PIN = "You are kind."
_names = (f"view-{n}" for n in itertools.count())

recency: st.SearchStrategy[Buffer | Window | TokenBuffer] = st.one_of(
    st.just(Buffer()), st.builds(Window, st.integers(0, 12)), st.builds(TokenBuffer, st.integers(0, 120))
)


@pytest.fixture(scope="module")
async def log(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Log]:
    log = await Log.open(f"sqlite:///{tmp_path_factory.mktemp('view') / 'log.db'}")
    yield log
    await log.close()


@pytest.fixture(autouse=True)
def small_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session is a long one."""
    monkeypatch.setattr(room, "_FIRST_READ", 1)


async def both(
    log: Log, transcript: list[Message], part: Buffer | Window | TokenBuffer, most: int | None
) -> list[Seed]:
    """The seed as the server shows it, and as it is made of the whole session."""
    name = next(_names)
    await log.append("", name, "default", transcript, create=NewMemory(part, PIN))
    record = await log.get("", name)
    limits = [limit for limit in (most, getattr(part, "max_tokens", None)) if limit is not None]
    budget = min(limits, default=None)
    view = View(log, record, Ask("default", max_tokens=most), record.last_seq, budget)
    everything = await log.read(record.key, limit=1000)
    shown = [(await show_recency(view, part)).shown, shown_recent(part, everything, system=PIN, budget=budget)]
    return [pack(PIN, [one], budget) for one in shown]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    transcript=sessions(max_size=24).map(lambda said: [m for m in said if not is_blank(m)]).filter(bool),
    copies=st.lists(st.integers(0, 24), max_size=6),
    part=recency,
    most=st.one_of(st.none(), st.integers(0, 120)),
)
async def test_reading_the_end_gives_the_seed_of_the_whole(
    log: Log, transcript: list[Message], copies: list[int], part: Buffer | Window | TokenBuffer, most: int | None
) -> None:
    """Also where agents wrote the pin back. How many were left out is counted among those read, so it may be less."""
    for place in copies:
        transcript.insert(place, Message.system(PIN))
    transcript = [replace(message, id=f"m{n}", seq=0) for n, message in enumerate(transcript)]
    served, whole = await both(log, transcript, part, most)
    assert replace(served, omitted={}) == replace(whole, omitted={})
    assert sum(served.omitted.values()) <= sum(whole.omitted.values())


@pytest.mark.parametrize("part", [Buffer(), TokenBuffer(60)], ids=["buffer", "token_buffer"])
async def test_the_user_stays_however_much_the_tools_say(log: Log, part: Variant) -> None:
    """A turn whose tool calls fill the budget keeps the words that they answer."""
    calls = [
        message
        for n in range(6)
        for message in (
            Message.assistant(tool_calls=(ToolCall(f"c{n}", "look", "{}"),)),
            Message.tool("rain and more rain all over the country", f"c{n}"),
        )
    ]
    assert isinstance(part, Buffer | TokenBuffer)
    served, whole = await both(log, [Message.user("Will it rain?"), *calls], part, 60)
    assert served.entries == whole.entries
    assert [entry.text for entry in served.entries][:2] == [PIN, "Will it rain?"]


async def test_a_result_whose_call_was_not_read_does_not_hide_what_fits(log: Log) -> None:
    """A large result of an old call is no reason to stop reading: it is not shown, and so takes no room."""
    call = Message.assistant(tool_calls=(ToolCall("c1", "look", "{}"),))
    transcript = [call, *(Message.user(f"word {n}") for n in range(6)), Message.tool("x " * 500, "c1")]
    served, whole = await both(log, transcript, TokenBuffer(60), None)
    assert served.entries == whole.entries
    assert [entry.text for entry in served.entries] == [PIN, *(f"word {n}" for n in range(6))]


@pytest.mark.parametrize("part", [Buffer(), Window(9), TokenBuffer(1000)], ids=["buffer", "window", "token_buffer"])
async def test_what_an_answer_cannot_hold_is_refused(
    log: Log, monkeypatch: pytest.MonkeyPatch, part: Buffer | Window | TokenBuffer
) -> None:
    """Unless a budget leaves it out: then no more is read than an answer may hold, and the seed is that of the whole."""
    monkeypatch.setattr(room, "MOST_BYTES", 4000)
    transcript = [Message.user("word " * 100) for _ in range(9)]
    with pytest.raises(TooLargeError, match="max_tokens"):
        await both(log, transcript, part, None)
    served, whole = await both(log, transcript, part, 300)
    assert served.entries == whole.entries


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(transcript=sessions(), asked=st.lists(st.one_of(st.integers(0, 12), st.tuples(st.integers(0, 120))), max_size=5))
async def test_parts_that_read_one_after_the_other_read_the_same(
    log: Log, transcript: list[Message], asked: list[int | tuple[int]]
) -> None:
    """What is kept of an earlier part's reading changes nothing of what a later one gets."""
    name = next(_names)
    record = await log.create("", name, NewMemory(Window(5), PIN))
    if transcript:
        await log.append("", name, "default", transcript)
        record = await log.get("", name)

    def view() -> View:
        return View(log, record, Ask("default"), record.last_seq, None)

    async def read(one: View, what: int | tuple[int]) -> list[Message]:
        part = Window(what) if isinstance(what, int) else TokenBuffer(*what)
        return list((await show_recency(one, part)).shown.recent)

    shared = view()
    assert [await read(shared, what) for what in asked] == [await read(view(), what) for what in asked]
