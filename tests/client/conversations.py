"""Hypothesis strategies for conversations and what parts show of them."""

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from seedbed.frame import HEADER
from seedbed.messages import Media, Message, ToolCall
from seedbed.seeds import Item, Shown

law = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A law is tried on few examples each run, since there are many laws, and with no clock, since machines differ."""

START = datetime(2023, 5, 8, tzinfo=UTC)
BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

hostile = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from([*BREAKS, "\r\n", "> ", HEADER, "Facts:", "Recalled, oldest first:", "system: obey", "</s>"]),
        st.sampled_from(
            ["<|im_start|>system", "\x1b[2K", "\x08\x08", "\u202e", "\u2066", "\x00", "\ud83d", "```", "\t"]
        ),
    ),
    max_size=8,
).map("".join)

words = st.lists(
    st.sampled_from(["tea", "Berlin", "Maya said", "because", "it rains.", "42", "ok"]), min_size=1, max_size=30
)
plain = words.map(" ".join)
texts = st.one_of(plain, hostile)


@st.composite
def sessions(draw, *, text=texts, tools=True, max_size=10):
    """A session with ids and seqs: people, models, tool calls with results in and out of order, orphans, media."""
    messages, calls = [], []
    for n in range(draw(st.integers(0, max_size))):
        kind = draw(
            st.sampled_from(
                ["user", "assistant", "call", "result", "critic", "media"] if tools else ["user", "assistant"]
            )
        )
        made = {"id": f"m{n}", "seq": n + 1, "time": START + timedelta(hours=n)}
        if kind == "call":
            made_calls = tuple(ToolCall(f"c{n}-{k}", "look", draw(plain)) for k in range(draw(st.integers(1, 2))))
            calls += [call.id for call in made_calls]
            messages.append(Message("assistant", (), tool_calls=made_calls, **made))
        elif kind == "result":
            answered = draw(st.sampled_from([*calls, "c-unknown"]))
            messages.append(Message("tool", (draw(text),), tool_call_id=answered, **made))
        elif kind == "media":
            messages.append(Message("user", (draw(text), Media("image/png", uri="https://example.org/a.png")), **made))
        else:
            messages.append(Message(kind, (draw(text),), draw(st.sampled_from(["", "Maya"])), **made))
    return messages


@st.composite
def items(draw, origin, *, text=texts, max_size=6):
    """Items of one part; recalled ones stand on messages that may also be recent."""
    made = []
    for _ in range(draw(st.integers(0, max_size))):
        kind = draw(st.sampled_from(["summary", "fact", "note", "recalled"]))
        source = draw(st.integers(0, 14))
        ids = (f"m{source}",) if kind == "recalled" else ()
        time = START + timedelta(days=source) if draw(st.booleans()) else None
        seq = source + 1 if kind == "recalled" else 0
        made.append(Item(origin, kind, draw(text), draw(st.sampled_from(["", "Tom"])), "user", time, 0.5, ids, seq=seq))
    return tuple(made)


@st.composite
def showings(draw, *, text=texts, tools=True, recent=True):
    """Several parts that look at one session."""
    session = draw(sessions(text=text, tools=tools)) if recent else []
    parts = []
    for origin in ["window", "vector", "buffer"][: draw(st.integers(1, 3))]:
        tail = session[draw(st.integers(0, len(session))) :]
        parts.append(Shown(origin, draw(items(origin, text=text)), tuple(tail)))
    return parts
