"""Entities, facts and the graph of them."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed.messages import Message
from seedbed_server.projections import graphs
from seedbed_server.projections.aliases import Names
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.entities import Entities
from seedbed_server.projections.graph import MemoryGraph, made_of
from seedbed_server.projections.graphs import Graphs
from seedbed_server.projections.identity import Identity
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.names import canonical, entity_id
from seedbed_server.projections.nearness import facts_around
from seedbed_server.projections.paths import find_paths
from seedbed_server.projections.projector import Projector
from seedbed_server.projections.rows import ClaimRow, Known, seconds, turns
from seedbed_server.projections.stated import Retractions
from seedbed_server.projections.triples import resolve

from .script import Script
from .source import ListLog


class Room:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ListLog()
        self.tagger = Script()
        self.derived: Derived
        self.knowledge: Knowledge
        self.graphs: Graphs
        self.projector: Projector

    async def open(self) -> None:
        self.derived = await Derived.open(self.folder, [Knowledge.schema])
        self.knowledge = Knowledge(self.derived, self.tagger)
        self.projector = Projector(self.log, self.derived, [self.knowledge])
        self.graphs = Graphs(self.knowledge, self.log, lambda key: self.projector.applied(key)["entities"])
        self.log.on_change = [self.projector.changed]
        await self.projector.start()

    async def close(self) -> None:
        self.log.on_change = []
        await self.projector.stop()
        await self.derived.close()

    def say(self, text: str, day: int = 0, name: str = "Maya", key: int = 1) -> int:
        time = datetime(2024, 1, day, tzinfo=UTC) if day else None
        return self.log.append(key, Message("user", (text,), name, time=time))

    async def settled(self) -> None:
        for head in await self.log.heads():
            assert await self.projector.wait_applied(head.key, head.last_seq, timeout=60)
        if self.log.erased:
            assert await self.projector.wait_erased(self.log.erased[-1].id, 10) is not None

    async def graph(self, key: int = 1) -> MemoryGraph:
        await self.settled()
        return await self.graphs.get(key)

    async def current(self) -> set[str]:
        graph = await self.graph()
        return {f"{f.subject} {'not ' * f.negated}{f.predicate} {f.object}" for f in graph.facts.values() if f.current}


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    await room.open()
    yield room
    await room.close()


async def test_what_stood_near_an_erased_message_is_read_again_at_once(room: Room) -> None:
    """Neighbours in one go, with the same context as before; nobody hears any more of who spoke in what is erased."""
    speakers = ("Maya", "Ben", "Ava", "Lee", "Zoe")
    for at in range(14):
        room.say(f"m {at}", name=speakers[at % 5])
    await room.settled()
    first = {turn.text: turn for turn in room.tagger.turns}
    room.tagger.calls.clear()
    room.tagger.turns.clear()
    room.log.forget(1, 2, 5)
    await room.settled()
    assert room.tagger.calls == [2, 8]
    alive = [message for message in room.log.memories[1] if message is not None]
    alone = [turn for at in range(len(alive)) for turn in turns(alive[at : at + 1], alive[:at])]
    assert room.tagger.turns == [turn for turn in alone if turn.text in {f"m {at}" for at in (2, 3, *range(5, 13))}]
    assert (first["m 2"].listener, room.tagger.turns[0].listener) == ("Ben", "Maya")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Maya's", "maya"),
        ("MAYA\u2019s", "maya"),
        ("the Eiffel  Tower,", "eiffel tower"),
        ("D'Arcy", "d'arcy"),
        ("Cafe\u0301", "café"),
        ("C++", "c++"),
        ("“Dune”", "dune"),
        ("James'", "james"),
        ("She", ""),
        ("...", ""),
        ("東京", "東京"),
        ("(हिन्दी)", "हिन्दी"),
        ("Inc.", "inc"),
        ("The", ""),
        ("the the", ""),
        ("of", ""),
        ("a", ""),
        ("A", "a"),
        ("?!", ""),
        ("n" * 256, "n" * 256),
        ("n" * 257, ""),
    ],
)
def test_one_form_per_name(name: str, form: str) -> None:
    """Spellings of one name have one form; what names nothing has none; a form is its own form."""
    assert canonical(name) == form
    assert canonical(form) in {form, ""} if name == "A" else canonical(form) == form


def test_long_names_are_never_taken_for_each_other() -> None:
    """Two that differ in their last letter are two; what is longer than any identifier is no name."""
    assert len({canonical("n" * 255 + last) for last in "xyz"}) == 3
    assert {canonical("n" * 256 + last) for last in "xyz"} == {""}


async def test_one_entity_per_name(room: Room) -> None:
    """Spellings meet in one entity with counts, times and types; speakers are persons; pronouns are nobody."""
    room.say("Ben Smith | knows | berlin", 3, name="Ben Smith")
    room.say("Ben Smith's | went to | Berlin", 1)
    room.say("she | likes | Berlin", 2)
    graph = await room.graph()
    berlin, ben = graph.entities.by_form["berlin"], graph.entities.by_form["ben smith"]
    assert (berlin.name, berlin.type, berlin.mention_count, berlin.aliases) == ("Berlin", "location", 3, ("berlin",))
    assert ben.type == "location"  # the in-test tagger says so twice, the speaker's name once
    assert graph.entities.by_form["maya"].type == "person"
    assert graph.entities.by_form["maya"].mention_count == 0
    assert "she" not in graph.entities.by_form
    assert datetime.fromtimestamp(berlin.first_seen, UTC).day == 1
    assert datetime.fromtimestamp(berlin.last_seen, UTC).day == 3
    mention = (await room.knowledge.mentions_of(1, [berlin.id]))[0]
    assert (mention.seq, mention.text) == (3, "Berlin")
    assert "she | likes | Berlin"[mention.start : mention.end] == "Berlin"
    assert all(node in graph.entities.by_id for node in graph.graph)


async def test_one_fact_from_two_messages(room: Room) -> None:
    """The same fact said twice is one with two sources, and outlives the loss of one of them."""
    room.say("Maya | likes | Oslo")
    room.say("MAYA | likes | oslo", name="Ben")
    (fact,) = (await room.graph()).facts.values()
    assert fact.seqs == (1, 2)
    room.log.forget(1, 1)
    (fact,) = (await room.graph()).facts.values()
    assert fact.seqs == (2,)
    counts = await room.projector.wait_erased(room.log.forget(1, 2))
    assert counts == {"entities": 3, "triples": 1}
    assert (await room.graph()).facts == {}
    assert (await room.graph()).entities.by_id == {}


async def test_what_is_told_of_a_relative_without_a_name(room: Room) -> None:
    """It is told of the one whose name was given, in whatever order, until that is forgotten; both names find them."""

    async def shown() -> set[str]:
        graph = await room.graph()
        spoken = [graph.spoken(fact) for fact in graph.facts.values() if fact.current]
        return {f"{fact.subject} {fact.predicate} {fact.object}" for fact in spoken}

    room.say("Maya's mother | live in | Oslo")
    assert await shown() == {"Maya's mother live in Oslo"}
    named = room.say("Maya | mother | Mina")
    assert await shown() == {"Maya mother Mina", "Mina live in Oslo"}
    room.say("Maya's mother | be | dead")
    assert await shown() == {"Maya mother Mina", "Mina be dead"}
    graph = await room.graph()
    mina = graph.entity(entity_id("maya's mother"))
    assert mina is not None
    assert (mina.name, mina.aliases) == ("Mina", ("Maya's mother",))
    await room.projector.wait_erased(room.log.forget(1, named))
    assert await shown() == {"Maya's mother be dead"}


async def test_graphs_of_the_past_are_made_one_at_a_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask at once, also who gives up: threads are left for searches."""
    room.say("Maya | likes | Oslo")
    expected = (await room.graph()).facts.keys()
    at_once, most = 0, 0

    def counted(*given: Any) -> MemoryGraph:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        threading.Event().wait(0.02)
        at_once -= 1
        return made_of(*given)

    monkeypatch.setattr(graphs, "made_of", counted)
    asked = [asyncio.create_task(room.graphs.as_known(1, 2.0**40, 1)) for _ in range(8)]
    await asyncio.sleep(0.01)
    for each in asked[:2]:
        each.cancel()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [True] * 2 + [False] * 6
    assert all(one.facts.keys() == expected for one in found if isinstance(one, MemoryGraph))
    assert most == 1


async def test_predicates_between_two_nodes_stand_side_by_side(room: Room) -> None:
    """A second predicate overwrites nothing, and "does not" is not "does"."""
    room.say("Maya | likes | Oslo; Maya | visited | Oslo; Maya | not hates | Oslo")
    graph = await room.graph()
    assert graph.graph.number_of_edges(entity_id("maya"), entity_id("oslo")) == 3
    assert [f.predicate for f in graph.facts.values() if f.negated] == ["hates"]


PREDICATES = ["live in", "moved to", "moved from", "used to live in", "works at", "quit", "likes", "be married to"]


def claim(seq: int, subject: str, predicate: str, object_: str, negated: bool = False) -> ClaimRow:
    ends = (subject, subject, "person", predicate, object_, object_, "other")
    return ClaimRow(1, seq, 0, *ends, int(negated), "asserted", "", float(seq), float(seq))


TIMELINES = [
    (["1 lives in | Paris", "2 moved to | Berlin"], {"moved to Berlin"}, "a move ends where one lived"),
    (["2 moved to | Berlin", "1 lives in | Paris"], {"moved to Berlin"}, "an older fact that arrives late"),
    (["1 lives in | Paris", "2 lives in | Berlin", "3 lives in | Paris"], {"lives in Paris"}, "moving back"),
    (["1 moved to | Berlin", "2 lives in | Berlin"], {"moved to Berlin", "lives in Berlin"}, "two words for one place"),
    (["1 lives in | Paris", "2 used to live in | Paris"], {"used to live in Paris"}, "an end without a successor"),
    (["1 lives in | Paris", "2 used to live in | Oslo"], {"lives in Paris", "used to live in Oslo"}, "another's end"),
    (
        ["1 lives in | Paris", "2 maybe moved to | Rome"],
        {"lives in Paris", "moved to Rome"},
        "a possibility ends nothing",
    ),
    (["1 lives in | Paris", "2 works at | Acme"], {"lives in Paris", "works at Acme"}, "unrelated facts"),
    (["1 likes | Paris", "2 likes | Oslo"], {"likes Paris", "likes Oslo"}, "many values"),
    (["1 likes | Paris", "2 not likes | Paris"], {"not likes Paris"}, "a change of mind"),
    (["1 likes | Paris", "2 not likes | Paris", "3 likes | Paris"], {"likes Paris"}, "and back"),
    (["1 lives in | Paris", "2 not lives in | Paris"], {"not lives in Paris"}, "no longer there"),
    (["1 lives in | Paris", "1 lives in | Rome"], {"lives in Rome"}, "equal times go by seq"),
]


@pytest.mark.parametrize(("said", "holds", "what"), TIMELINES, ids=[what for _, _, what in TIMELINES])
async def test_what_holds_now(room: Room, said: list[str], holds: set[str], what: str) -> None:
    """Later facts end earlier ones only where they speak of the same thing; nothing is lost."""
    for statement in said:
        day, words = statement.split(" ", 1)
        room.say(f"Maya | {words}", int(day), name="Ben")
    assert await room.current() == {f"Maya {fact}" for fact in holds}, what
    graph = await room.graph()
    ended = [fact for fact in graph.facts.values() if not fact.current]
    assert len(ended) == len(graph.facts) - len(holds)
    assert {seq for fact in graph.facts.values() for seq in fact.seqs} == set(range(1, len(said) + 1))


async def test_what_held_and_was_known_when(room: Room) -> None:
    """As of an earlier day the old fact holds; as known earlier, what was said later is unknown."""
    room.say("Maya | lives in | Paris", 1)
    room.say("Maya | moved to | Berlin", 5)
    await room.settled()
    noon = datetime(2024, 1, 3, 12, tzinfo=UTC).timestamp()
    now, then = await room.graphs.get(1), await room.graphs.as_known(1, noon, upto_seq=1)
    for graph in (now, then):
        assert [f.object for f in graph.facts.values() if f.spell(noon)] == ["Paris"]
    assert [f.object for f in then.facts.values() if f.spell(then.present())] == ["Paris"]
    assert [f.object for f in now.facts.values() if f.spell(now.present())] == ["Berlin"]


async def test_a_message_from_the_future_counts_from_when_it_was_recorded(room: Room) -> None:
    """A clock that is wrong moves nothing: not what holds now, not what is newest."""
    room.say("Maya | lives in | Paris", 1)
    recorded = datetime(2024, 1, 3, tzinfo=UTC)
    far = datetime(2999, 1, 1, tzinfo=UTC)
    room.log.append(1, Message("user", ("Maya | likes | Rome",), "Maya", time=far, recorded_at=recorded))
    room.say("Maya | moved to | Oslo", 5)
    graph = await room.graph()
    assert room.tagger.turns[1].time == recorded
    likes = next(fact for fact in graph.facts.values() if fact.predicate == "likes")
    assert (likes.valid_from, likes.last_said) == (recorded.timestamp(), recorded.timestamp())
    assert graph.present() < datetime(2900, 1, 1, tzinfo=UTC).timestamp()
    assert await room.current() == {"Maya likes Rome", "Maya moved to Oslo"}
    assert graph.entities.by_form["rome"].last_seen == recorded.timestamp()


DEATHS = [
    (["Maya | works at | Acme", "Maya | be | dead"], set(), "ends"),
    (["Maya | be | dead", "Maya | works at | Acme"], set(), "said of after"),
    (["Maya | be | dead", "Maya | works at | Acme", "Maya | not be | dead"], set(), "alive again, but not yet then"),
    (["Maya | be | dead", "Maya | not be | dead", "Maya | works at | Acme"], {"Acme"}, "alive again"),
    (["Maya | be | dead", "Maya | be | alive", "Maya | works at | Acme"], {"Acme"}, "alive"),
    (["Maya | maybe be | dead", "Maya | works at | Acme"], {"Acme"}, "perhaps"),
]


@pytest.mark.parametrize(("said", "holds", "what"), DEATHS, ids=[what for *_, what in DEATHS])
async def test_who_is_dead_begins_nothing(room: Room, said: list[str], holds: set[str], what: str) -> None:
    """Home, work and spouse end with a life and do not begin after it; all is kept, and listed without a time."""
    for day, words in enumerate(said, 1):
        room.say(words, day, name="Ben")
    graph = await room.graph()
    works = [fact for fact in graph.facts.values() if fact.predicate == "works at"]
    assert {fact.object for fact in works if fact.current} == holds, what
    assert len(works) == 1
    for spell in works[0].spells:
        assert spell.valid_to is None or spell.valid_from <= spell.valid_to


async def test_nobody_tells_of_their_own_death(room: Room) -> None:
    """Who says "I am dead" lives on."""
    room.say("Maya | works at | Acme; Maya | be | dead", name="Maya")
    assert await room.current() == {"Maya works at Acme"}


async def test_names_in_a_query(room: Room) -> None:
    """The longest known names are found, first names when they are clear, names inside unspaced text, and no more."""
    room.say("Maya Lopez | knows | New York City; Mo Li | knows | 東京", name="Ben")
    graph = await room.graph()

    def found(text: str) -> list[str]:
        return [entity.form for entity in graph.entities.named_in(text)]

    assert found("Does maya lopez's sister like New York City?") == ["maya lopez", "new york city"]
    assert found("what about Maya?") == ["maya lopez"]
    assert found("昨日東京に行った") == ["東京"]
    assert found("new york, or nothing at all") == []
    room.say("Maya Chen | knows | Mo Li", name="Ben")
    graph = await room.graph()
    assert found("what about Maya?") == ["maya chen", "maya lopez"]
    room.say("Maya Ito | knows | Maya Berg", name="Ben")
    graph = await room.graph()
    assert found("what about Maya?") == []


async def test_facts_around(room: Room) -> None:
    """Near facts come first, newest first among equals, and at most k."""
    room.say("Maya | knows | Mo; Mo | lives in | Oslo; Mo | likes | Rome; Lima | is near | Callao", 1, name="Ben")
    room.say("Maya | likes | Tango", 2, name="Ben")
    graph = await room.graph()
    ranked = facts_around(graph, [entity_id("maya")], 10)
    assert {r.fact.object for r in ranked[:2]} == {"Mo", "Tango"}
    assert {r.fact.object for r in ranked} == {"Mo", "Tango", "Oslo", "Rome"}
    assert [r.score for r in ranked] == sorted((r.score for r in ranked), reverse=True)
    assert len(facts_around(graph, [entity_id("maya")], 1)) == 1
    assert facts_around(graph, ["nobody"], 5) == []
    facts, cut = graph.explore([entity_id("maya")], hops=2, limit=3)
    assert (len(facts), cut) == (3, True)
    assert [f.object for f in graph.explore([entity_id("maya")], predicates=["likes"])[0]] == ["Tango"]
    (path,) = find_paths(graph, entity_id("oslo"), entity_id("tango"))
    assert [f.object for f in path] == ["Oslo", "Mo", "Tango"]
    assert find_paths(graph, entity_id("maya"), entity_id("lima")) == []
    assert find_paths(graph, entity_id("oslo"), entity_id("tango"), max_hops=2) == []
    assert await room.graphs.find_paths(1, graph, entity_id("oslo"), entity_id("tango")) == [path]


def test_paths_are_those_of_the_whole_graph() -> None:
    """Looking only at what lies between finds the same paths, as long, in any graph."""
    for seed in range(20):
        ends = random.Random(seed).choices("abcdefgh", k=24)
        claims = [claim(seq, a, "knows", b) for seq, (a, b) in enumerate(zip(ends[::2], ends[1::2], strict=True), 1)]
        graph = made_of(Known([], claims, len(claims)))
        whole: nx.Graph[str] = nx.Graph(graph.graph)
        for end, hops in product("bcd", (1, 3, 4)):
            found = find_paths(graph, "a", end, hops, limit=1000)
            expected = nx.all_simple_paths(whole, "a", end, hops) if {"a", end} <= set(whole) else []
            assert sorted(map(len, found)) == sorted(len(nodes) - 1 for nodes in expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PREDICATES), st.sampled_from("xyz"), st.booleans()), max_size=30), st.data())
def test_a_graph_that_grows_is_the_graph_made_at_once(said: list[tuple[str, str, bool]], data: st.DataObject) -> None:
    """In whatever portions claims come, the same facts hold, and the same have ended."""
    claims = [claim(seq, "a", words, end, negated) for seq, (words, end, negated) in enumerate(said, 1)]
    claims = data.draw(st.permutations(claims))
    cuts = sorted({0, len(claims), *data.draw(st.lists(st.integers(0, len(claims)), max_size=4))})
    grown, made = MemoryGraph(Names(), Identity(), Retractions()), made_of(Known([], claims, 1))
    for first, last in pairwise(cuts):
        assert grown.add(Known([], claims[first:last], 1))
    assert grown.facts == made.facts == resolve(claims)
    assert set(grown.graph.edges(keys=True)) == set(made.graph.edges(keys=True))
    assert {i for _, _, i in grown.graph.edges(keys=True)} == set(made.facts)


@pytest.mark.parametrize("time", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC), None])
def test_times_at_the_ends_of_the_calendar(time: datetime | None) -> None:
    """Whatever time a message has, what is kept of it is a time again."""
    there = datetime.fromtimestamp(seconds(time), UTC)
    assert there.year == (time.year if time else 1970)


async def test_whom_is_spoken_to(room: Room) -> None:
    """The listener is the last other speaker of the session, also across batches; unread messages are counted."""
    room.say("hello", name="Maya")
    await room.settled()
    room.say("hi", name="Ben")
    await room.settled()
    room.say("?", name="Maya")
    room.log.append(1, Message("user", ("elsewhere",), "Zoe", session="other"))
    await room.settled()
    assert [(t.speaker, t.listener) for t in room.tagger.turns] == [
        ("Maya", ""),
        ("Ben", "Maya"),
        ("Maya", "Ben"),
        ("Zoe", ""),
    ]
    assert room.projector.skipped(1) == {"entities": 1, "triples": 1}


def picture(graph: MemoryGraph) -> Any:
    """Everything a graph says, in an order of its own."""
    facts = sorted((asdict(fact) for fact in graph.facts.values()), key=lambda f: str(f["id"]))
    entities = sorted(graph.entities.by_id.values(), key=lambda e: e.id)
    return facts, sorted(graph.graph.edges(keys=True)), [(asdict(e), e.name, e.type) for e in entities]


WORD = st.sampled_from(["Maya", "Mo", "Oslo", "Rome", "Paris"])
PREDICATE = st.sampled_from(["lives in", "moved to", "likes", "not likes", "used to live in", "maybe lives in"])
SAID = st.tuples(WORD, PREDICATE, WORD, st.integers(1, 5), st.sampled_from(["Maya", "Mo"]))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    said=st.lists(SAID, min_size=1, max_size=12),
    erase=st.lists(st.integers(0, 11), max_size=4),
    at=st.integers(0, 11),
)
async def test_grown_is_rebuilt(
    said: list[tuple[str, str, str, int, str]],
    erase: list[int],
    at: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A graph that grew message by message, through erasures, is the graph made at once of what is left."""
    room = Room(tmp_path_factory.mktemp("room"))
    await room.open()
    for number, (subject, predicate, object_, day, name) in enumerate(said):
        room.say(f"{subject} | {predicate} | {object_}", day, name)
        if number == at:
            await room.graph()
    await room.graph()
    for number in {n for n in erase if n < len(said)}:
        room.log.forget(1, number + 1)
    grown = picture(await room.graph())
    await room.projector.rebuild(1)
    rebuilt = picture(await room.graph())
    await room.close()
    assert grown == rebuilt


async def test_a_graph_grows_off_the_event_loop_where_that_takes_long(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is worked out in a thread is the same; a caller that gives up meanwhile leaves nothing half-known behind."""
    room.say("Maya | lives in | Oslo", 1)
    first = await room.graph()
    learn, began, go_on = MemoryGraph.learn, threading.Event(), threading.Event()

    def slowly(graph: MemoryGraph, known: Known) -> object:
        assert threading.current_thread() is not threading.main_thread()
        began.set()
        go_on.wait(60)
        return learn(graph, known)

    monkeypatch.setattr(MemoryGraph, "is_quick", lambda *_: False)
    monkeypatch.setattr(MemoryGraph, "learn", slowly)
    room.say("Maya | moved to | Rome", 2)
    await room.settled()
    asking = asyncio.create_task(room.graphs.get(1))
    assert await asyncio.to_thread(began.wait, 60)
    assert first.applied_seq == 1  # and the loop goes on
    asking.cancel()
    await asyncio.wait([asking])
    go_on.set()
    assert (await room.graph()) is not first
    assert await room.current() == {"Maya moved to Rome"}
    began.clear()
    room.say("Maya | likes | figs", 3)
    assert await room.current() == {"Maya moved to Rome", "Maya likes figs"}
    assert began.is_set()


def test_entities_of_nothing() -> None:
    """No mentions, no entities."""
    entities = Entities()
    entities.add([], [])
    assert entities.by_id == {}
