"""Buffer, window and token buffer over a session's messages."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed.frame import HEADER
from seedbed.messages import Message, ToolCall
from seedbed.recency import buffer, shown_recent, token_buffer, window
from seedbed.tokens import count, message_tokens
from seedbed.variants import Buffer, TokenBuffer, Vector, Window
from tests.client.conversations import law, plain, sessions


def call(*ids: str) -> Message:
    return Message.assistant(tool_calls=tuple(ToolCall(each, "look", "{}") for each in ids))


def result(of: str, text: str = "blue") -> Message:
    return Message.tool(text, of)


ONE, TWO = Message.user("one"), Message.user("two")


def tools_are_whole(kept: Sequence[Message], session: list[Message]) -> None:
    """Every result has its call before it, and every call all of its results."""
    open_calls: dict[str, Message] = {}
    for message in kept:
        if message.role == "tool":
            assert message.tool_call_id in open_calls
        open_calls.update((c.id, message) for c in message.tool_calls)
    results = [m for m in session if m.role == "tool" and m.tool_call_id in open_calls]
    assert [m for m in kept if m.role == "tool"] == results


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0, []), (1, [TWO]), (2, [TWO]), (3, [call("a"), result("a"), TWO]), (4, None), (99, None)],
)
def test_window_never_cuts_a_result_from_its_call(n: int, expected: Any) -> None:
    """[user, call, result, user]: two messages would begin with the result, so it goes."""
    session = [ONE, call("a"), result("a"), TWO]
    assert list(window(session, n)) == (session if expected is None else expected)


def test_parallel_calls_stay_together() -> None:
    """One message with two calls and both results are one unit."""
    session = [ONE, call("a", "b"), result("a"), result("b"), TWO]
    assert list(window(session, 3)) == [TWO]
    assert list(window(session, 4)) == session[1:]


def test_results_without_a_call_are_never_shown() -> None:
    """Neither at the start, nor in the middle, nor before their call."""
    assert list(buffer([result("a"), ONE, result("b"), call("b"), TWO])) == [ONE, call("b"), TWO]


def test_a_reused_call_id_belongs_to_the_nearest_call_before() -> None:
    """Ids such as "call_1" come again in each run."""
    session = [call("a"), result("a", "first"), ONE, call("a"), result("a", "second")]
    assert list(window(session, 2)) == session[3:]
    assert list(window(session, 3)) == session[2:]


def test_a_call_with_a_late_result_does_not_hold_back_what_is_between() -> None:
    """The pair goes, the words between stay."""
    session = [call("a"), ONE, TWO, result("a")]
    assert list(window(session, 3)) == [ONE, TWO]
    assert list(window(session, 4)) == session


@pytest.mark.parametrize("bad", [lambda: window([ONE], -1), lambda: token_buffer([ONE], -1)])
def test_negative_sizes_are_refused(bad: Callable[[], object]) -> None:
    """A negative size is a mistake, not a wish for nothing."""
    with pytest.raises(ValueError, match="must not be negative"):
        bad()


def test_the_pin_and_echoes_are_not_messages() -> None:
    """The pin repeated and a memory block written back are neither shown nor counted; other system words are."""
    echo = Message.system(f"Be kind.\n\n{HEADER}\nFacts:\n> tea")
    session = [Message.system("Be kind."), ONE, echo, Message.system("Switch to French."), TWO]
    assert list(window(session, 3, system="Be kind.")) == [ONE, session[3], TWO]
    assert list(buffer(session, system="Be kind.")) == [ONE, session[3], TWO]


def test_token_buffer_keeps_the_newest_tail_the_pin_included() -> None:
    """The budget pays the pin first; arguments of tool calls count."""
    session = [Message.user(f"number {n}") for n in range(10)]
    each = message_tokens(session[0])
    assert list(token_buffer(session, 3 * each)) == session[-3:]
    assert list(token_buffer(session, 3 * each - 1)) == session[-2:]
    assert list(token_buffer(session, 3 * each + 4 + count("Be kind."), system="Be kind.")) == session[-3:]
    heavy = Message.assistant(tool_calls=(ToolCall("a", "look", "x y " * 200),))
    assert list(token_buffer([ONE, heavy, result("a"), TWO], 60)) == [TWO]


def test_a_newest_message_over_the_budget_comes_cut() -> None:
    """Never an empty seed: the beginning of the message is there."""
    kept = token_buffer([ONE, Message.user("word " * 500)], 50)
    assert len(kept) == 1
    assert message_tokens(kept[0]) == 50
    assert kept[0].text.startswith("word word")


def test_a_turn_over_the_budget_keeps_both_ends() -> None:
    """The question and the answer stay, the longer one cut; what lies between goes oldest first."""
    question, answer = Message.user("What is it?"), Message.assistant("long " * 500)
    kept = token_buffer([ONE, question, call("a"), result("a"), answer], 60)
    assert kept[0] == question
    assert kept[1].text.startswith("long")
    assert sum(map(message_tokens, kept)) == 60
    short = Message.assistant("Blue.")
    between = [Message.assistant("step " * 12), Message.assistant("step " * 11)]
    kept = token_buffer([ONE, question, *between, short], 40)
    assert list(kept) == [question, between[1], short]


def test_tool_calls_too_large_for_the_budget_give_way_to_words() -> None:
    """A call cannot be cut; the words before it are shown."""
    huge = Message.assistant(tool_calls=(ToolCall("a", "look", "x y " * 200),))
    assert list(token_buffer([ONE, huge, result("a")], 40)) == [ONE]
    assert [m.role for m in token_buffer([Message.user("w " * 90), huge], 40)] == ["user"]


def test_shown_recent_names_the_part_and_says_what_its_budget_cut() -> None:
    """Each variant under its own name; a token buffer reports, a window does not."""
    session = [ONE, TWO]
    assert shown_recent(Buffer(), session).origin == "buffer"
    assert shown_recent(Window(1), session).recent == (TWO,)
    assert not shown_recent(Window(1), session).truncated
    shown = shown_recent(TokenBuffer(message_tokens(TWO)), session)
    assert (shown.recent, shown.truncated, shown.omitted) == ((TWO,), True, {"token_buffer": 1})
    assert shown_recent(TokenBuffer(3 + 1 + 1), [Message.user("two three")]).truncated
    with pytest.raises(TypeError):
        shown_recent(Vector(), session)


@law
@given(sessions(), st.integers(0, 12))
def test_window_law(session: list[Message], n: int) -> None:
    """At most n messages, in their order, from the last n only, tools whole, nothing else left out."""
    kept = window(session, n)
    tail = session[max(0, len(session) - n) :]
    tools_are_whole(kept, session)
    assert [m for m in tail if m in kept] == list(kept)
    assert [m for m in kept if m.role != "tool"] == [m for m in tail if m.role != "tool"]


@law
@given(sessions(), st.integers(0, 200), st.sampled_from(["", "Be kind."]))
def test_token_buffer_law(session: list[Message], budget: Any, system: str) -> None:
    """Never over the budget, in order, tools whole."""
    kept = token_buffer(session, budget, system=system)
    pin = 4 + count(system) if system else 0
    assert not kept or sum(map(message_tokens, kept)) + pin <= budget
    assert [m.seq for m in kept] == sorted({m.seq for m in kept})
    tools_are_whole(kept, session)


@law
@given(sessions(text=plain, tools=False).filter(bool), st.integers(5, 60))
def test_token_buffer_is_never_empty_and_holds_the_last_user(session: list[Message], budget: Any) -> None:
    """From the overhead of a message on, something newest is shown; with room for two, the user too."""
    kept = token_buffer(session, budget + 3)  # 3 for a name
    assert kept[-1].id == session[-1].id
    users = [m for m in session if m.role == "user"]
    if users and budget >= 20:
        assert users[-1].id in [m.id for m in kept]
