"""Entity and KnowledgeGraph on the real server: what is known about those whom the query is about."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seedbed import Entity, Item, KnowledgeGraph, Message, Seed
from seedbed.client import RemoteMemory
from tests.serving import Serving

START = datetime(2026, 1, 10, tzinfo=UTC)
_names = (f"known-{n}" for n in itertools.count())

STORY = (
    ("Maya", "I live in Lisbon with Tom Hale."),
    ("Tom", "Maya works at Tidepost."),
    ("Maya", "I like Tom Hale. I am married to Tom Hale."),
    ("Maya", "I don't eat shellfish."),
    ("Tom", "She said they would call him about it."),
    ("Maya", "I moved to Porto."),
)


def told(ready: Serving, *said: tuple[str, str]) -> RemoteMemory:
    """A memory in which this was said, a day apart, and is applied."""
    memory = ready.client.memory(next(_names), KnowledgeGraph(), system="Be kind.")
    memory.write(
        [
            Message("user", (text,), name, time=START + timedelta(days=n), id=f"m{n}")
            for n, (name, text) in enumerate(said)
        ]
    )
    ready.applied(memory.name)
    return memory


def items(seed: Seed, kind: str) -> list[Item]:
    return [item for entry in seed.entries for item in entry.items if item.kind == kind]


@pytest.fixture(scope="module")
def story(ready: Serving) -> RemoteMemory:
    return told(ready, *STORY)


def test_current_facts_are_shown_with_source_and_date(story: RemoteMemory) -> None:
    """Nothing that has ended; each fact on the messages it stands on, quoted under the pin."""
    seed = story.seed("Where does Maya live?", variant=KnowledgeGraph(recent=0))
    facts = {fact.text: fact for fact in items(seed, "fact")}
    moved = facts["Maya moved to Porto (before: Lisbon)"]
    assert not [text for text in facts if "live in Lisbon" in text or "lives in Lisbon" in text]
    assert moved.source_ids == ("m5",)
    assert moved.time == START + timedelta(days=5)
    assert "> (15 Jan 2026) Maya moved to Porto" in seed.entries[0].text
    assert [entry.role for entry in seed.entries] == ["system"]


def test_a_negated_fact_stays_negated(story: RemoteMemory) -> None:
    """ "Does not eat" is never stored, or said, as eats."""
    facts = [fact.text for fact in items(story.seed("What does Maya eat?"), "fact")]
    assert "Maya does not eat shellfish" in facts
    assert [t.negated for t in story.triples(predicate="eat")] == [True]


def test_two_predicates_between_the_same_two_are_both_kept(story: RemoteMemory) -> None:
    """A second predicate never overwrites the first."""
    between = {t.predicate for t in story.triples() if (t.subject, t.object) == ("Maya", "Tom Hale")}
    assert {"like", "be married to"} <= between
    facts = {fact.text for fact in items(story.seed("What about Maya and Tom Hale?"), "fact")}
    assert {"Maya likes Tom Hale", "Maya is married to Tom Hale"} <= facts


def test_a_superseded_fact_is_hidden_and_can_be_asked_for(story: RemoteMemory) -> None:
    """It ends when the next begins, and is there as of a day before."""
    lived = [t for t in story.triples(include_superseded=True) if t.object == "Lisbon"]
    assert [(t.predicate, t.valid_from, t.valid_to) for t in lived] == [("live in", START, START + timedelta(days=5))]
    assert [t for t in story.triples() if t.object == "Lisbon"] == []
    before = story.seed("Where does Maya live?", valid_at=START + timedelta(days=3), variant=KnowledgeGraph(recent=0))
    texts = [fact.text for fact in items(before, "fact")]
    assert "Maya lives in Lisbon (until 15 January 2026)" in texts
    assert not [text for text in texts if "Porto" in text]


def test_an_unrelated_fact_is_not_superseded(story: RemoteMemory) -> None:
    """Only the same subject and a single-valued predicate do."""
    current = {(t.predicate, t.object) for t in story.triples()}
    assert {("work at", "Tidepost"), ("be married to", "Tom Hale")} <= current


def test_no_pronoun_is_an_entity(story: RemoteMemory) -> None:
    """Nor does one turn up as a note or as an end of a fact."""
    pronouns = {"i", "she", "they", "him", "it", "he", "them", "me", "you"}
    names = {name.casefold() for entity in story.entities() for name in (entity.name, *entity.aliases)}
    ends = {end.casefold() for t in story.triples(include_superseded=True) for end in (t.subject, t.object)}
    notes = items(story.seed("What did she say that they would do with him?", variant=Entity()), "note")
    assert (names | ends) & pronouns == set()
    assert [note.text for note in notes if note.text.split()[0].casefold() in pronouns] == []


def test_notes_are_bounded_and_have_sources(story: RemoteMemory) -> None:
    """At most ``max_entities``, about those asked for, each with time and the messages that name it."""
    seed = story.seed("What do Maya and Tom Hale do?", variant=Entity(max_entities=1, recent=2))
    (note,) = items(seed, "note")
    assert note.text.startswith("Maya (person): ")
    assert "Maya moved to Porto" in note.text
    assert set(note.source_ids) <= {m.id for m in story.read()}
    assert {"m1", "m5"} <= set(note.source_ids)
    assert note.time is not None
    assert [entry.text for entry in seed.entries[1:]] == [text for _, text in STORY[-2:]]


def test_a_thousand_mentions_make_a_bounded_note(ready: Serving) -> None:
    """However much is said of somebody, a note stays a line."""
    foods = [
        "rice",
        "tea",
        "bread",
        "soup",
        "figs",
        "plums",
        "cheese",
        "honey",
        "lentils",
        "noodles",
        "olives",
        "beans",
    ]
    memory = told(
        ready, *[("Tom", f"Maya likes {food}. Maya visited Porto {n} times.") for n, food in enumerate(foods)]
    )
    (note,) = items(memory.seed("Tell me about Maya", variant=Entity(max_entities=1, recent=0)), "note")
    assert len(note.text) < 400
    assert note.text.count(";") <= 6  # six facts and the mentions
    assert len(note.source_ids) == len(foods)


def test_who_was_spoken_of_last_counts_when_the_query_names_nobody(story: RemoteMemory) -> None:
    """An empty query is about the end of the session."""
    assert "Maya moved to Porto (before: Lisbon)" in [fact.text for fact in items(story.seed(""), "fact")]


@pytest.mark.parametrize("name", ["Sam", ""])
def test_who_asks_in_the_first_person_is_asked_about(ready: Serving, name: str) -> None:
    """In a session in which nobody has spoken yet too, and also where the one user has no name."""
    memory = told(ready, (name, "I live in Oslo."), (name, "My cousin Ada works at Equinor."))
    asked = ready.client.memory(memory.name, KnowledgeGraph(recent=0), session="another")
    for query in ("Where do I live?", "What do you know about me?"):
        assert "Oslo" in items(asked.seed(query), "fact")[0].text + items(asked.seed(query), "fact")[1].text


def test_where_several_users_speak_nobody_is_taken_for_the_one_who_asks(ready: Serving) -> None:
    """Until one of them has spoken in the session."""
    memory = told(ready, ("Sam", "I live in Oslo."), ("Ada", "I live in Rome."))
    asked = ready.client.memory(memory.name, KnowledgeGraph(recent=0, max_facts=1), session="another")
    assert items(asked.seed("Where do I live?"), "fact") == []
    asked.write([Message("user", ("Hello!",), "Sam", id="hello")])
    assert [fact.text for fact in items(asked.seed("Where do I live?"), "fact")] == ["Sam lives in Oslo"]


def test_a_user_without_a_name_is_called_what_it_is_called(ready: Serving) -> None:
    """By the name it once said, or as the user."""
    asked = told(ready, ("", "I live in Oslo."))
    assert items(asked.seed("Where do I live?"), "fact")[0].text == "the user lives in Oslo"
    asked = told(ready, ("", "My name is Sam."), ("", "I live in Oslo."))
    assert items(asked.seed("Where does Sam live?"), "fact")[0].text.startswith("Sam lives in Oslo")


def test_the_name_that_the_question_uses_is_shown(ready: Serving) -> None:
    """Else nobody who reads the facts could tell that they answer it."""
    memory = told(ready, ("Ben", "My brother Alexander is allergic to cats."), ("Ben", "Alexander goes by Lex."))
    (fact, *_) = items(memory.seed("Who is Lex?"), "fact")
    assert "Alexander (Lex)" in fact.text


@pytest.mark.parametrize(
    ("month", "shown"),
    [(2, ["Ada plans to move to Hamburg (for March 2026)"]), (6, ["Ada planned to move to Hamburg (for March 2026)"])],
)
def test_a_plan_is_shown_from_when_it_was_made(ready: Serving, month: int, shown: list[str]) -> None:
    """And as one of the past when its day has come: whether it came true nobody said."""
    memory = told(ready, ("Ada", "I'm moving to Hamburg in March."))
    seed = memory.seed("What do you know about Ada?", valid_at=datetime(2026, month, 1, tzinfo=UTC))
    assert [fact.text for fact in items(seed, "fact")] == shown
    assert items(memory.seed("Ada?", valid_at=datetime(2025, 12, 1, tzinfo=UTC)), "fact") == []


def test_zero_facts_and_zero_entities_leave_the_recent_messages(story: RemoteMemory) -> None:
    """0 means none."""
    for variant in (KnowledgeGraph(max_facts=0, recent=1), Entity(max_entities=0, recent=1)):
        assert [entry.text for entry in story.seed("Maya", variant=variant).entries] == ["Be kind.", STORY[-1][1]]


def test_a_fact_from_two_messages_survives_the_erasure_of_one(ready: Serving) -> None:
    """And keeps the other as its only source."""
    memory = told(ready, ("Anna Berg", "I work at Siemens."), ("Tom", "Anna Berg works at Siemens."))
    assert [set(t.source_ids) for t in memory.triples(predicate="work at")] == [{"m0", "m1"}]
    memory.forget(["m0"])
    ready.applied(memory.name)
    assert [t.source_ids for t in memory.triples(predicate="work at")] == [("m1",)]


def test_facts_do_not_depend_on_the_order_of_writing(ready: Serving) -> None:
    """An older fact that is written late takes its place in the timeline."""
    memory = ready.client.memory(next(_names), KnowledgeGraph())
    new = Message("user", ("I moved to Porto.",), "Maya", time=START + timedelta(days=90), id="new")
    old = replace(new, parts=("I live in Lisbon.",), time=START, id="old")
    memory.write([new])
    memory.write([old])
    ready.applied(memory.name)
    assert [t.object for t in memory.triples()] == ["Porto"]
    assert {t.object for t in memory.triples(include_superseded=True)} == {"Lisbon", "Porto"}
