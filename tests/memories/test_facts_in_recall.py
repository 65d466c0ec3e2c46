"""Facts lead recall to the messages that they stem from, on the real server."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from seedbed import KnowledgeGraph, Message, Statement, Vector
from seedbed.client import RemoteMemory
from seedbed.results import Hit
from tests.serving import Serving, undegraded

START = datetime(2026, 1, 10, tzinfo=UTC)
_names = (f"led-{n}" for n in itertools.count())

STORY = (
    "I live in Lisbon, with Tom.",
    "I work at Tidepost, where everybody lives on coffee.",
    "I eat chicken now, believe it or not.",
    "Tom does judo now. He lives for it.",
    "The neighbours who live above us are loud.",
    "hello from the north, we moved to Porto on saturday!!",
    "The cat likes it where the sun is now.",
)
LIVED, MOVED = "m0", "m5"


@pytest.fixture(scope="module")
def story(ready: Serving) -> RemoteMemory:
    memory = ready.client.memory(next(_names), Vector())
    memory.write(
        [
            Message("user", (text,), "Maya", time=START + timedelta(days=30 * n), id=f"m{n}")
            for n, text in enumerate(STORY)
        ]
    )
    ready.applied(memory.name)
    return memory


def gave(hit: Hit, leg: str) -> float:
    return sum(each.contribution for each in hit.legs if each.leg == leg)


@pytest.mark.parametrize("query", ["Where does Maya live now?", "Where is Maya's home?"])
def test_what_holds_now_comes_first(story: RemoteMemory, query: str) -> None:
    """Though it shares no word with the question, and what is over does."""
    first = story.recall(query, k=3, explain=True).hits[0]
    assert first.message.id == MOVED
    assert gave(first, "answer") > gave(first, "graph") > 0


def test_who_asks_is_meant_by_i(story: RemoteMemory) -> None:
    """The only user of the memory."""
    first = story.recall("Where do I live now?", k=3, explain=True).hits[0]
    assert (first.message.id, gave(first, "answer")) == (MOVED, 1.0)


@pytest.mark.parametrize(
    "query",
    [
        "What is the salary at Maya's job?",
        "Which zebra does Maya live with?",
        "Which company does Maya hate?",
        "Where does Maya's cat live?",
        "Where does Tom live?",
    ],
)
def test_a_fact_that_says_less_than_is_asked_answers_nothing(story: RemoteMemory, query: str) -> None:
    """Also where the rest are words that no fact holds, or it is about somebody else."""
    assert [hit for hit in story.recall(query, explain=True).hits if gave(hit, "answer")] == []


@pytest.mark.parametrize("name", ["Alexandra", "Lex", "Alexandra Moore"])
def test_the_fact_answers_by_whatever_name_is_asked(ready: Serving, name: str) -> None:
    """Names are no words that a fact has to hold."""
    memory = ready.client.memory(next(_names), Vector())
    said = ["Alexandra Moore goes by Lex.", "Alexandra Moore lives in Rome.", "It rains."]
    memory.write([Message("user", (text,), "Maya", id=f"m{n}") for n, text in enumerate(said)])
    ready.applied(memory.name)
    hits = memory.recall(f"Where does {name} live?", explain=True).hits
    assert [hit.message.id for hit in hits if gave(hit, "answer")] == ["m1"]


def test_in_one_session_the_facts_of_others_do_not_count(ready: Serving) -> None:
    """The ranking is that of a memory which holds that session and no other."""
    memory = ready.client.memory(next(_names), Vector())
    for session, text in (("s1", "I live in Lisbon."), ("s2", "We moved to Porto!")):
        ready.client.memory(memory.name, session=session).write([Message("user", (text,), "Maya")])
        ready.applied(memory.name)
        (hit,) = memory.recall("Where does Maya live?", session="s1", explain=True).hits
        assert (gave(hit, "graph"), gave(hit, "answer")) == (0, 0)


def test_as_of_a_time_in_the_world_what_held_then_comes_first(story: RemoteMemory) -> None:
    """The same question about March."""
    hits = story.recall("Where does Maya live?", k=3, explain=True, valid_at=START + timedelta(days=60)).hits
    assert hits[0].message.id == LIVED
    assert [hit.message.id for hit in hits if gave(hit, "answer")] == [LIVED]


def test_a_search_of_the_past_knows_nothing_of_later_facts(ready: Serving) -> None:
    """Neither of messages nor of statements: what held was worked out from all that is there now."""
    memory = ready.client.memory(next(_names), KnowledgeGraph())
    memory.write(
        [Message("user", ("I live in Lisbon.",), "Maya", id="m0"), Message("user", ("It rains.",), "Maya", id="m1")]
    )
    ready.applied(memory.name)
    then = datetime.now(UTC)
    before = memory.recall("Where does Maya live?", explain=True, known_at=then)
    memory.add_triples([Statement("Maya", "live in", "Porto", source_ids=("m1",))])
    now = memory.recall("Where does Maya live?", explain=True)
    assert [hit.message.id for hit in now.hits if gave(hit, "answer")] == ["m1"]
    assert memory.recall("Where does Maya live?", explain=True, known_at=then) == before
    assert [gave(hit, "answer") for hit in before.hits] == [0, 0]


def test_while_a_message_is_not_read_nothing_answers(ready: Serving) -> None:
    """It may have ended what seems to hold. The recall says that the leg could not answer in full; the seed is whole."""
    memory = ready.client.memory(next(_names), Vector())
    memory.write([Message("user", ("I live in Lisbon.",), "Maya", id="m0")])
    ready.applied(memory.name)
    memory.write([Message("user", ("We have moved to Porto! " * 200,), "Maya", id="m1")])
    found = memory.recall("Where does Maya live?", explain=True)
    if "graph" in found.degraded_legs:  # the tagger was slower than the call
        assert [gave(hit, "answer") for hit in found.hits] == [0, 0]
    ready.applied(memory.name)
    found = undegraded(lambda: memory.recall("Where does Maya live?", explain=True))
    assert [hit.message.id for hit in found.hits if gave(hit, "answer")] == ["m1"]


def test_what_was_forgotten_leads_nowhere(ready: Serving) -> None:
    """Its fact goes with the message, and the one before holds again."""
    memory = ready.client.memory(next(_names), Vector())
    memory.write([Message("user", (text,), "Maya", id=f"m{n}") for n, text in enumerate(STORY)])
    ready.applied(memory.name)
    memory.forget([MOVED])
    hits = memory.recall("Where does Maya live now?", k=3, explain=True).hits
    assert [hit.message.id for hit in hits if gave(hit, "answer")] == [LIVED]
