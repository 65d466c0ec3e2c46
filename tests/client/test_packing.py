"""One seed under one budget: the laws of packing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedbed.frame import HEADER, is_echo
from seedbed.messages import Message, ToolCall
from seedbed.packing import pack, shown_from_seed
from seedbed.recency import shown_recent
from seedbed.seeds import Item, Seed, SeedMessage, Shown
from seedbed.tokens import count, message_tokens
from seedbed.variants import Buffer, TokenBuffer, Variant
from tests.client.conversations import START, items, law, plain, sessions, showings
from tests.timing import seconds

PIN = "You are kind."
pins = st.one_of(st.just(""), st.just(PIN), plain, st.text(max_size=30).filter(lambda s: s.isprintable()))
budgets = st.one_of(st.none(), st.integers(0, 60), st.integers(0, 900))


def said(n: int, text: str = "hello there", role: str = "user") -> Message:
    return Message(role, (text,), id=f"m{n}", seq=n)


def recalled(n: int, text: str = "hello there", **more: Any) -> Item:
    return Item("vector", "recalled", text, "Maya", "user", START, source_ids=(f"m{n}",), seq=n, **more)


def fact(text: str) -> Item:
    return Item("knowledge_graph", "fact", text)


def kinds(seed: Seed, *wanted: str) -> list[Item]:
    return [item for entry in seed.entries for item in entry.items if item.kind in wanted]


def recent_ids(seed: Seed) -> list[str]:
    return [item.source_ids[0] for item in kinds(seed, "message")]


# -- laws


@law
@given(pins, showings(), budgets)
def test_never_over_budget_and_counted_exactly(pin: str, parts: list[Shown], budget: int | None) -> None:
    """Tokens are what the finished messages take, and at most the budget; without one nothing is cut."""
    seed = pack(pin, parts, budget)
    assert seed.tokens == sum(message_tokens(entry) for entry in seed.entries)
    if budget is None:
        assert not seed.truncated
    else:
        assert seed.tokens <= budget
    assert seed.truncated or not seed.omitted


@law
@given(pins.filter(bool), showings(), budgets)
def test_the_pin_is_first_and_whole(pin: str, parts: list[Shown], budget: int | None) -> None:
    """One system message of ours leads, with the pin verbatim; it is cut only if it alone is over the budget."""
    seed = pack(pin, parts, budget)
    alone = 4 + count(pin)
    if budget is None or alone <= budget:
        head = seed.entries[0]
        assert head.role == "system"
        assert head.text == pin or head.text.startswith(f"{pin}\n\n{HEADER}\n")
        assert head.items[0].kind == "pin"
        assert (head.text == pin) == (len(head.items) == 1)
    else:
        assert seed.truncated
        assert len(seed.entries) <= 1
        assert all(pin.startswith(entry.text) for entry in seed.entries)
    for entry in seed.entries[1:]:
        assert [item.kind for item in entry.items] == ["message"]


@law
@given(pins, showings(), budgets)
def test_nothing_comes_twice(pin: str, parts: list[Shown], budget: int | None) -> None:
    """No message is in two places, and no two facts, notes or summaries say the same."""
    seed = pack(pin, parts, budget)
    ids = [i for item in kinds(seed, "message", "recalled") for i in item.source_ids]
    assert len(ids) == len(set(ids))
    derived = [(item.name, " ".join(item.text.split()), item.time) for item in kinds(seed, "summary", "fact", "note")]
    assert len(derived) == len(set(derived))


@law
@given(pins, showings(), budgets)
def test_order_is_by_seq_and_tools_are_whole(pin: str, parts: list[Shown], budget: int | None) -> None:
    """Recent messages come by seq; a result only after its call, a call only with all results that parts show."""
    seed = pack(pin, parts, budget)
    recent = kinds(seed, "message")
    assert [item.seq for item in recent] == sorted(item.seq for item in recent)
    assert [item.seq for item in kinds(seed, "recalled")] == sorted(item.seq for item in kinds(seed, "recalled"))
    calls: set[str] = set()
    for entry in seed.entries:
        assert entry.role != "tool" or entry.tool_call_id in calls
        calls.update(call.id for call in entry.tool_calls)
    results = {m.id for part in parts for m in part.recent if m.tool_call_id in calls}
    shown = {item.source_ids[0] for item in recent}
    calling = {c.id: m.seq for part in parts for m in part.recent for c in m.tool_calls}
    late = {m.id for part in parts for m in part.recent if m.tool_call_id and m.seq < calling.get(m.tool_call_id, 0)}
    assert results - late <= shown


@law
@given(pins, showings(), budgets)
def test_the_same_again(pin: str, parts: list[Shown], budget: int | None) -> None:
    """Equal input gives an equal seed."""
    assert pack(pin, parts, budget) == pack(pin, parts, budget)


@law
@given(showings(text=plain, tools=False), st.integers(0, 400))
def test_the_newest_turn_stays(parts: list[Shown], budget: Any) -> None:
    """With room for a message something newest is shown, with room for two the last user message too."""
    session = sorted({m.seq: m for part in parts for m in part.recent}.values(), key=lambda m: m.seq)
    seed = pack(PIN, parts, budget)
    room = budget - 4 - count(PIN)
    if session and room >= 8:
        assert session[-1].id in recent_ids(seed)
        users = [m for m in session if m.role == "user"]
        if users and room >= 24:
            assert users[-1].id in recent_ids(seed)


@law
@given(showings(text=plain, tools=False), st.integers(16, 400))  # in less, not even a cut message may fit
def test_the_tail_is_contiguous(parts: list[Shown], budget: Any) -> None:
    """What is recent is the newest stretch; a gap is only inside a turn that is over the budget."""
    session = sorted({m.seq: m for part in parts for m in part.recent}.values(), key=lambda m: m.seq)
    shown = recent_ids(pack("", parts, budget))
    ids = [m.id for m in session]
    turn = max((n for n, m in enumerate(session) if m.role == "user"), default=len(session))
    assert shown == ids[len(ids) - len(shown) :] or (shown[0] == ids[turn] and set(shown) <= set(ids[turn:]))


@law
@given(st.lists(items("x", text=plain), max_size=4), st.integers(0, 300), st.integers(1, 100))
def test_a_larger_budget_is_never_worse(groups: list[tuple[Item, ...]], small: int, more: int) -> None:
    """Compared most important first, the first difference is something that the larger budget adds."""
    parts = [Shown(f"part{n}", tuple(replace(i, origin="") for i in group)) for n, group in enumerate(groups)]
    order = [item for part in parts for item in part.items]

    def shown(budget: int | None) -> Any:
        have = {
            (i.kind, i.text, i.name, i.source_ids, i.time)
            for i in kinds(pack(PIN, parts, budget), "summary", "fact", "note", "recalled")
        }
        return [(i.kind, i.text, i.name, i.source_ids, i.time) in have for i in order]

    assert shown(small) <= shown(small + more)


@law
@given(sessions(text=plain, tools=False), st.integers(0, 200), st.integers(0, 100))
def test_a_larger_budget_shows_a_longer_tail(session: list[Message], small: int, more: int) -> None:
    """Of plain recent messages, nothing is lost by a larger budget."""
    parts = [Shown("buffer", recent=tuple(session))]
    assert set(recent_ids(pack(PIN, parts, small))) <= set(recent_ids(pack(PIN, parts, small + more)))


@law
@given(pins, showings(), budgets)
def test_every_candidate_is_shown_or_accounted_for(pin: str, parts: list[Shown], budget: int | None) -> None:
    """What parts show is in the seed, a duplicate, or counted in ``omitted``; with room for all nothing is."""
    seed = pack(pin, parts, budget)
    full = pack(pin, parts, None)
    assert not full.omitted
    missing = set(recent_ids(full)) - set(recent_ids(seed))
    assert sum(seed.omitted.values()) >= len(missing)
    if budget is None or full.tokens <= budget:
        assert seed == full


@law
@given(pins, showings(), st.integers(0, 900))
def test_a_seed_survives_the_way_back(pin: str, parts: list[Shown], budget: Any) -> None:
    """Unpacked and packed again under the same pin, a seed is what it was."""
    seed = pack(pin, parts, budget)
    if seed.truncated and (not pin or 4 + count(pin) > budget):
        return
    again = pack(pin, [shown_from_seed(seed, "again")], None)
    assert recent_ids(again) == recent_ids(seed)
    assert set(again.source_ids) == set(seed.source_ids)
    assert {i.text for i in kinds(again, "fact", "note")} == {i.text for i in kinds(seed, "fact", "note")}


@law
@given(pins, sessions(), st.integers(0, 60), st.sampled_from([Buffer(), TokenBuffer(30), TokenBuffer(500)]))
def test_looking_only_as_far_as_a_budget_reaches_changes_no_seed(
    pin: str, session: list[Message], budget: int, variant: Variant
) -> None:
    """A long session is not looked at whole, and the seed is the same as if it were.

    Where tool calls stand at the end, which of two cut ends is shown may differ; the budget holds all the same.
    """
    near = pack(pin, [shown_recent(variant, session, system=pin, budget=budget)], budget)
    whole = pack(pin, [shown_recent(variant, session, system=pin)], budget)
    if not any(m.tool_call_id or m.tool_calls for m in session):
        assert near.entries == whole.entries
        assert near.omitted == whole.omitted
    assert near.tokens <= budget


# -- examples


def test_with_no_items_the_content_is_the_pin() -> None:
    """And with nothing at all there is no message."""
    seed = pack(PIN, [Shown("window")], 100)
    assert [(entry.role, entry.text) for entry in seed.entries] == [("system", PIN)]
    assert pack("", [], None) == Seed(())


def test_a_pin_over_the_budget_comes_cut() -> None:
    """A pin of 500 tokens under 50: no error, 50 tokens, truncated, and nothing beside it."""
    seed = pack("word " * 500, [Shown("window", recent=(said(1),))], 50)
    assert seed.tokens == 50
    assert seed.truncated
    assert len(seed.entries) == 1
    assert seed.omitted == {"window": 1}


@pytest.mark.parametrize("budget", range(5))
def test_a_budget_under_the_overhead_gives_nothing(budget: int | None) -> None:
    """Four tokens are a message that says nothing."""
    seed = pack(PIN, [Shown("window", recent=(said(1),))], budget)
    assert (seed.entries, seed.tokens, seed.truncated) == ((), 0, True)


def test_negative_budgets_are_refused() -> None:
    """A negative budget is a mistake."""
    with pytest.raises(ValueError, match="must not be negative"):
        pack(PIN, [], -1)


def test_a_recent_message_is_not_recalled_too() -> None:
    """Whichever part comes first, the window form wins."""
    window, vector = Shown("window", recent=(said(1), said(2))), Shown("vector", (recalled(1), recalled(0)))
    for parts in ([window, vector], [vector, window]):
        seed = pack("", parts, None)
        assert recent_ids(seed) == ["m1", "m2"]
        assert [item.source_ids for item in kinds(seed, "recalled")] == [("m0",)]
        assert not seed.omitted


def test_a_message_that_the_window_has_no_room_for_may_be_recalled() -> None:
    """The quotation stays where the tail does not reach."""
    long = said(1, "word " * 100)
    parts = [Shown("vector", (recalled(1, "short form"),)), Shown("window", recent=(long, said(2)))]
    seed = pack("", parts, 90)
    assert recent_ids(seed) == ["m2"]
    assert [item.source_ids for item in kinds(seed, "recalled")] == [("m1",)]


def test_the_same_words_twice_on_purpose_are_two_messages() -> None:
    """Only ids make messages the same."""
    seed = pack("", [Shown("vector", (recalled(1), recalled(2))), Shown("window", recent=(said(3), said(4)))], None)
    assert seed.source_ids == ("m1", "m2", "m3", "m4")


def test_facts_are_deduplicated_by_text() -> None:
    """Across parts, spaces and case; notes on two people are two notes."""
    notes = (Item("entity", "note", "likes tea", "Maya"), Item("entity", "note", "likes tea", "Tom"))
    seed = pack("", [Shown("a", (fact("Maya likes tea"), *notes)), Shown("b", (fact("maya  likes tea "),))], None)
    assert len(kinds(seed, "fact")) == 1
    assert len(kinds(seed, "note")) == 2


def test_windows_merge_into_one_tail() -> None:
    """Two recency parts show one conversation, by seq, each message named after the more important part."""
    every = tuple(said(n) for n in range(1, 7))
    seed = pack("", [Shown("window", recent=every[4:]), Shown("buffer", recent=every)], None)
    assert recent_ids(seed) == [m.id for m in every]
    assert [item.origin for item in kinds(seed, "message")] == ["buffer"] * 4 + ["window"] * 2


def test_tails_of_several_logs_merge_by_their_ids() -> None:
    """Without common seqs, each part keeps its order and shared ids join them."""
    bare = [replace(said(n), seq=0) for n in range(1, 7)]
    seed = pack("", [Shown("window", recent=(said(4), said(6))), Shown("far", recent=tuple(bare[:5]))], None)
    assert recent_ids(seed) == ["m1", "m2", "m3", "m4", "m6", "m5"]
    apart = pack("", [Shown("window", recent=(said(4),)), Shown("far", recent=tuple(bare[:2]))], None)
    assert recent_ids(apart) == ["m1", "m2", "m4"]


def test_the_longer_form_of_a_cut_message_is_shown() -> None:
    """A part's own budget may have cut it; another part has it whole."""
    parts = [Shown("token_buffer", recent=(said(1, "hel"),), truncated=True), Shown("buffer", recent=(said(1),))]
    assert pack("", parts, None).entries[0].text == "hello there"


def test_the_last_part_goes_first() -> None:
    """As the budget shrinks, the facts go, then the recalled turns, then the window down to the newest turn."""
    parts = [
        Shown("window", recent=tuple(said(n) for n in range(10, 16))),
        Shown("vector", tuple(recalled(n) for n in range(6))),
        Shown("knowledge_graph", tuple(fact(f"fact number {n} is as long as the others are") for n in range(6))),
    ]
    full = pack(PIN, parts, None).tokens
    seen = []
    for budget in range(full, 13, -1):
        seed = pack(PIN, parts, budget)
        lost = [seed.omitted.get(part.origin, 0) for part in parts]
        assert not lost[1] or lost[2] == 6
        assert not lost[0] or lost[1:] == [6, 6]
        assert recent_ids(seed)[-1] == "m15"
        seen.append(tuple(lost))
    assert {(0, 0, 0), (0, 0, 6), (0, 6, 6), (5, 6, 6)} <= set(seen)


def test_an_item_too_large_does_not_block_the_small_ones() -> None:
    """It is passed over and counted; a small one that does not fit ends the parts after it."""
    seed = pack("", [Shown("vector", (recalled(1, "word " * 300), recalled(2))), Shown("kg", (fact("tea"),))], 150)
    assert [item.source_ids for item in kinds(seed, "recalled")] == [("m2",)]
    assert len(kinds(seed, "fact")) == 1
    assert (seed.truncated, seed.omitted) == (True, {"vector": 1})


def test_the_turn_is_paid_before_any_item() -> None:
    """The user's newest words stay, however important the part before them."""
    turn = (said(8), said(9, "I think so.", "assistant"))
    parts = [
        Shown("vector", tuple(recalled(n, "word " * 20) for n in range(5))),
        Shown("window", recent=(said(7), *turn)),
    ]
    assert recent_ids(pack(PIN, parts, 60)) == ["m8", "m9"]


def test_a_newest_message_over_the_budget_comes_cut() -> None:
    """With its beginning, exactly to the budget, and truncated set."""
    seed = pack(PIN, [Shown("buffer", recent=(said(1), said(2, "word " * 500)))], 60)
    assert seed.tokens == 60
    assert seed.truncated
    assert recent_ids(seed) == ["m2"]
    assert seed.omitted == {"buffer": 1}


def test_pin_and_echo_in_the_transcript_are_not_shown_again() -> None:
    """An agent that writes back its whole prompt does not see it twice; its own system words stay in place."""
    head = pack(PIN, [Shown("vector", (recalled(1),))], None).entries[0].text
    transcript = (said(2), said(3, PIN, "system"), said(4, head, "system"), said(5, "Use French.", "system"), said(6))
    seed = pack(PIN, [Shown("buffer", recent=transcript)], None)
    assert recent_ids(seed) == ["m2", "m5", "m6"]
    assert not any(is_echo(entry.text) for entry in seed.entries)
    assert pack("", [Shown("buffer", recent=(said(3, PIN, "system"),))], None).entries[0].text == PIN


def test_roles_and_tool_calls_come_through_unchanged() -> None:
    """Unknown roles, names, ids and arguments are what was written."""
    call = Message("assistant", (), tool_calls=(ToolCall("a", "look", '{"at": 1}'),), id="m1", seq=1)
    result = Message("tool", ("blue",), "look", tool_call_id="a", id="m2", seq=2)
    critic = Message("critic", ("Hm.",), id="m3", seq=3)
    seed = pack("", [Shown("buffer", recent=(call, result, critic))], None)
    assert seed.messages == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
        },
        {"role": "tool", "content": "blue", "name": "look", "tool_call_id": "a"},
        {"role": "critic", "content": "Hm."},
    ]


def test_parts_report_themselves() -> None:
    """Degraded parts are named once; what a part's own budget left out is added."""
    parts = [
        Shown("vector", degraded=True),
        Shown("vector", degraded=True),
        Shown("tb", truncated=True, omitted={"tb": 2}),
    ]
    seed = pack("", parts, None)
    assert (seed.degraded_parts, seed.truncated, seed.omitted) == (("vector",), True, {"tb": 2})


def test_what_is_about_something_else_is_not_cut() -> None:
    """It is counted apart, and the seed is not truncated for it; a seed inside another says so too."""
    seed = pack("", [Shown("vector", below_floor={"vector": 3}), Shown("vector", below_floor={"vector": 1})], 100)
    assert (seed.truncated, seed.omitted, seed.below_floor) == (False, {}, {"vector": 4})
    assert pack("", [shown_from_seed(seed, "whole")], 100).below_floor == {"vector": 4}


def test_a_last_line_that_costs_more_without_its_break() -> None:
    """Where the added-up counts are a token short, the least important item goes, and the budget holds."""
    ends = next(end for end in _ends() if count(f"> tea{end}") > count(f"> tea{end}\n"))
    parts = [Shown("a", (fact("Maya"), fact("x")), ()), Shown("b", (Item("b", "note", f"tea{ends}"),))]
    full = pack("", parts, None).tokens
    seed = pack("", parts, full - 1)
    assert seed.tokens <= full - 1
    assert seed.omitted == {"b": 1}
    assert len(kinds(seed, "fact")) == 2


def _ends() -> Iterator[str]:
    marks = "=-*/;:,.(){}[]<>|&%$#@!?\"'`~^+\\_"
    from itertools import product

    for length in (1, 2, 3):
        yield from map("".join, product(marks, repeat=length))


def test_shown_from_seed_leaves_the_pin_and_quotes_unmarked_system_words() -> None:
    """A member's pin is not the whole's; what a memory of one's own says as system is data here."""
    seed = pack("Other pin.", [Shown("vector", (recalled(1, score=0.2), recalled(2, score=0.9)), (said(3),))], None)
    shown = shown_from_seed(seed, "far")
    assert [item.source_ids for item in shown.items] == [("m2",), ("m1",)]
    assert [message.id for message in shown.recent] == ["m3"]
    own = shown_from_seed(Seed((SeedMessage("system", ("Obey me.",)), SeedMessage("user", ("hi",)))), "mine")
    assert [(item.origin, item.kind, item.text) for item in own.items] == [("mine", "note", "Obey me.")]
    assert own.recent[0].text == "hi"


def test_packing_is_quick() -> None:
    """Seventy pieces take far less than the time of a query's embedding (a loose bound; a benchmark measures it)."""
    parts = [
        Shown("window", recent=tuple(said(100 + n, "some words that were said " * 4) for n in range(10))),
        Shown("vector", tuple(recalled(n, "some words that were said " * 4) for n in range(60))),
    ]
    pack(PIN, parts, 2000)
    assert seconds(lambda: pack(PIN, parts, 2000), tries=20) < 0.05
