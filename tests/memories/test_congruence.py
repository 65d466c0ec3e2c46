"""The pure variants: a seed made in process is the seed that the server makes, to the last token."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed import (
    Buffer,
    Hybrid,
    LocalMemory,
    Media,
    Message,
    Seed,
    SeedMessage,
    TokenBuffer,
    ToolCall,
    Variant,
    Window,
)
from seedbed.errors import InvalidFieldError
from seedbed.local import is_blank
from seedbed.packing import pack
from seedbed.seeds import Item, Shown
from tests.client.conversations import START, hostile, sessions
from tests.serving import Serving

PIN = "You are kind."
_BLOCK = pack("", [Shown("vector", (Item("vector", "recalled", "I moved to Porto.", "Maya", "user"),))], None)
_names = (f"congruent-{n}" for n in itertools.count())

recency = st.one_of(
    st.just(Buffer()),
    st.builds(Window, st.integers(0, 12)),
    st.builds(TokenBuffer, st.integers(0, 300)),
)
variants: st.SearchStrategy[Variant] = st.one_of(
    recency,
    st.builds(
        lambda parts, most: Hybrid(*parts, max_tokens=most),
        st.lists(recency, min_size=1, max_size=3),
        st.integers(0, 400),
    ),
)
budgets = st.one_of(st.none(), st.integers(0, 400))
readings = st.lists(st.tuples(variants, budgets), min_size=1, max_size=6)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Sessions with tool calls and media, and with what agents write back: the pin, and a memory block."""
    messages = [message for message in draw(sessions(max_size=24)) if not is_blank(message)]
    for copy in (Message.system(PIN), Message.system(_BLOCK.entries[0].text)):
        if draw(st.booleans()):
            messages.insert(draw(st.integers(0, len(messages))), copy)
    return [replace(m, id=f"m{n}", seq=n, time=START) for n, m in enumerate(messages, start=1)]


def comparable(seed: Seed) -> Seed:
    """A seed without what only one side knows: how far the server's stores are, the places in the log."""
    entries = tuple(replace(e, items=tuple(replace(item, seq=0) for item in e.items)) for e in seed.entries)
    return replace(seed, entries=entries, applied_seq=0)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(transcript=transcripts(), pin=st.sampled_from(["", PIN, "Be brief. " * 40]), readings=readings)
def test_seeds_are_the_same_in_process_and_served(
    served: Serving, transcript: list[Message], pin: str, readings: list[tuple[Variant, int | None]]
) -> None:
    """Same messages, same variant, same budget: same entries, items, tokens, omissions."""
    name = next(_names)
    remote = served.client.memory(name, Buffer(), system=pin)
    served.client.create_memory(name, Buffer(), system=pin)
    if transcript:
        remote.write(transcript)
    for variant, budget in readings:
        local = LocalMemory(variant, system=pin)
        if transcript:
            local.write(transcript)
        mine = local.seed("anything", max_tokens=budget)
        assert comparable(remote.seed("anything", max_tokens=budget, variant=variant)) == comparable(mine)
        assert budget is None or mine.tokens <= budget


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.one_of(hostile, st.text("\u2800\u3164\u200b \x00\x1b\u00ad\ufe0f\U0001fae8a", max_size=3)),
    name=st.sampled_from(["", "Maya"]),
    media=st.booleans(),
)
def test_what_one_refuses_the_other_refuses(served: Serving, text: str, name: str, media: bool) -> None:
    """A message that says nothing is refused in both places; any other is stored in both, and reads the same."""
    parts: tuple[str | Media, ...] = (text, Media("image/png", data=b"x")) if media else (text,)
    message = Message("user", parts, name, id="m1", time=START)
    local = LocalMemory(Buffer())
    remote = served.client.memory(next(_names), Buffer())
    if is_blank(message):
        with pytest.raises(ValueError, match="parts"):
            local.write([message])
        with pytest.raises(InvalidFieldError) as refused:
            remote.write([message])
        assert [field.path for field in refused.value.fields] == ["messages[0].parts"]
        assert refused.value.stored == "no"
        return
    local.write([message])
    remote.write([message])
    (mine,), (theirs,) = local.read(), remote.read()
    assert replace(theirs, recorded_at=None) == replace(mine, recorded_at=None)


@pytest.mark.parametrize(
    "variant",
    [Window(-1), TokenBuffer(-1), Hybrid(Window(-1)), Hybrid(Buffer(), max_tokens=-1)],
    ids=str,
)
def test_negative_sizes_are_refused_in_both_places(served: Serving, variant: Variant) -> None:
    """In process as ValueError; served as INVALID_ARGUMENT with the path, at a write and at a seed."""
    with pytest.raises(ValueError, match="negative"):
        LocalMemory(variant)
    name = next(_names)
    with pytest.raises(InvalidFieldError) as refused:
        served.client.memory(name, variant).write([Message.user("hello")])
    assert [field.path.startswith("variant.") for field in refused.value.fields] == [True]
    served.client.create_memory(name)
    with pytest.raises(InvalidFieldError):
        served.client.memory(name).seed(variant=variant)
    with pytest.raises(InvalidFieldError):
        served.client.memory(name).seed(max_tokens=-1)


def test_window_zero_shows_the_pin_alone(served: Serving) -> None:
    """0 means none, and the pin is not counted."""
    memory = served.client.memory(next(_names), Window(0), system=PIN)
    memory.write([Message.user("hello")])
    assert memory.seed().messages == [{"role": "system", "content": PIN}]
    assert len(memory.seed(variant=Window(1)).entries) == 2


def test_a_newest_message_larger_than_the_budget_comes_cut(served: Serving) -> None:
    """Never an empty seed, never over budget, and it says so."""
    memory = served.client.memory(next(_names), TokenBuffer(50), system=PIN)
    memory.write([Message.user("old"), Message.user("tea and rain and " * 200)])
    seed = memory.seed()
    assert seed.tokens <= 50
    assert seed.truncated
    assert [entry.role for entry in seed.entries] == ["system", "user"]
    assert seed.entries[1].text.startswith("tea and rain and tea")


def test_a_pin_larger_than_the_budget_comes_cut(served: Serving) -> None:
    """Never an error, never over budget."""
    memory = served.client.memory(next(_names), Buffer(), system="Be kind and brief. " * 100)
    memory.write([Message.user("hello")])
    for budget in (0, 1, 4, 5, 50):
        seed = memory.seed(max_tokens=budget)
        assert seed.tokens <= budget
        assert seed.truncated
    assert memory.seed(max_tokens=50).entries[0].text.startswith("Be kind")


def test_a_window_never_cuts_a_call_from_its_result(served: Serving) -> None:
    """A pair is kept or dropped whole."""
    memory = served.client.memory(next(_names), Window(2))
    call = Message.assistant(tool_calls=(ToolCall("c1", "look", '{"q": "rain"}'),))
    memory.write([Message.user("rain?"), call, Message.tool("yes", "c1"), Message.user("thanks")])
    assert [entry.role for entry in memory.seed().entries] == ["user"]
    assert [entry.role for entry in memory.seed(variant=Window(3)).entries] == ["assistant", "tool", "user"]


def test_the_entries_are_what_a_chat_api_takes(served: Serving) -> None:
    """Tool calls and their results come through in the format of a chat API."""
    memory = served.client.memory(next(_names), Buffer(), system=PIN)
    call = Message.assistant(tool_calls=(ToolCall("c1", "look", "{}"),))
    memory.write([Message.user("rain?", name="Maya"), call, Message.tool("yes", "c1")])
    assert memory.seed().messages == [
        {"role": "system", "content": PIN},
        {"role": "user", "content": "rain?", "name": "Maya"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "yes", "tool_call_id": "c1"},
    ]
    assert isinstance(memory.seed().entries[0], SeedMessage)
