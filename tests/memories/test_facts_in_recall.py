"""Facts lead recall to the messages that they stem from, on the real server."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from seedbed import Message, Vector
from seedbed.client import RemoteMemory
from seedbed.results import Hit
from tests.serving import Serving

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


def test_as_of_a_time_in_the_world_what_held_then_comes_first(story: RemoteMemory) -> None:
    """The same question about March."""
    hits = story.recall("Where does Maya live?", k=3, explain=True, valid_at=START + timedelta(days=60)).hits
    assert hits[0].message.id == LIVED
    assert [hit.message.id for hit in hits if gave(hit, "answer")] == [LIVED]


def test_a_search_of_the_past_knows_nothing_of_later_facts(story: RemoteMemory) -> None:
    """What holds rests on all messages; a search that may not see them all goes by words and vectors."""
    asked = story.recall("Where does Maya live?", explain=True, known_at=datetime.now(UTC) - timedelta(days=1))
    assert asked.hits == ()


def test_what_was_forgotten_leads_nowhere(ready: Serving) -> None:
    """Its fact goes with the message, and the one before holds again."""
    memory = ready.client.memory(next(_names), Vector())
    memory.write([Message("user", (text,), "Maya", id=f"m{n}") for n, text in enumerate(STORY)])
    ready.applied(memory.name)
    memory.forget([MOVED])
    assert memory.recall("Where does Maya live now?", k=3).hits[0].message.id == LIVED
