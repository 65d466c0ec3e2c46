"""Supposed names: they count where the memory is sure of the name, whenever that was said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedbed_server.models.contract import Extraction, Turn
from seedbed_server.projections.knowledge import Knowledge
from seedbed_server.projections.names import entity_id

from .script import Script
from .test_knowledge import Room, picture


class Supposing(Script):
    """Reads as `Script` does; a name in lower case is only supposed, and so is what is said of it."""

    async def extract(self, turns: Sequence[Turn]) -> list[Extraction | None]:
        return [_parted(each) if each else None for each in await super().extract(turns)]


def _parted(read: Extraction) -> Extraction:
    spans = tuple(replace(span, certain=not span.text.islower()) for span in read.entities)
    claims = [
        replace(claim, rests_on=tuple(end for end in (claim.subject, claim.object) if end.islower()))
        for claim in read.claims
    ]
    return Extraction(
        tuple(span for span in spans if span.certain),
        tuple(claim for claim in claims if not claim.rests_on),
        tuple(span for span in spans if not span.certain),
        tuple(claim for claim in claims if claim.rests_on),
    )


def supposing(room: Room) -> Room:
    room.tagger = Supposing()
    return room


@pytest.fixture
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Room]:
    made = supposing(Room(tmp_path_factory.mktemp("room")))
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize("first", [True, False])
async def test_a_name_that_is_known(room: Room, first: bool) -> None:
    """Before or after the message that names it; gone again when that message is forgotten."""
    said = ["Mo | knows | Ben", "ben | likes | Oslo"]
    for text in said if first else said[::-1]:
        room.say(text)
        await room.graph()
    graph = await room.graph()
    assert {f.predicate for f in graph.facts.values()} == {"knows", "likes"}
    ben = graph.entities.by_form["ben"]
    assert (ben.name, ben.mention_count) == ("Ben", 2)
    assert len(await room.knowledge.mentions_of(1, [ben.id])) == 2
    counts = await room.projector.wait_erased(room.log.forget(1, 1 if first else 2))
    assert counts == {"entities": 3, "triples": 1}
    graph = await room.graph()
    assert graph.facts == {}
    assert "ben" not in graph.entities.by_form
    assert await room.knowledge.mentions_of(1, [entity_id("ben")]) == []


async def test_who_speaks_is_known(room: Room) -> None:
    """A speaker's name is as sure as a name can be."""
    room.say("ben | likes | Oslo", name="Maya")
    assert (await room.graph()).facts == {}
    room.say("hello", name="Ben")
    assert [f.subject for f in (await room.graph()).facts.values()] == ["ben"]


async def test_all_that_a_claim_rests_on(room: Room) -> None:
    """Between two supposed names nothing is said until both are known."""
    room.say("ben | likes | oslo")
    room.say("Ben | knows | Mo")
    assert {f.predicate for f in (await room.graph()).facts.values()} == {"knows"}
    room.say("Oslo | is | Mo")
    assert {f.predicate for f in (await room.graph()).facts.values()} == {"knows", "is", "likes"}


WORD = st.sampled_from(["Ben", "ben", "Oslo", "oslo", "mo"])
SAID = st.tuples(WORD, st.sampled_from(["likes", "lives in"]), WORD, st.integers(1, 5))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(said=st.lists(SAID, min_size=1, max_size=10), erase=st.sets(st.integers(0, 9), max_size=4), data=st.data())
async def test_what_counts_follows_from_what_is_there(
    said: list[tuple[str, str, str, int]],
    erase: set[int],
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In any order, read after every message or at the end, through erasures: what the messages left over say."""
    room = supposing(Room(tmp_path_factory.mktemp("room")))
    await room.open()
    order = data.draw(st.permutations(range(len(said))))
    for at in order:
        subject, predicate, object_, day = said[at]
        room.say(f"{subject} | {predicate} | {object_}", day, name="Zoe")
        if data.draw(st.booleans()):
            await room.graph()
    gone = {order[at] for at in erase if at < len(said)}
    room.log.forget(1, *(at + 1 for at in erase if at < len(said)))
    grown = await room.graph()
    left = [each for at, each in enumerate(said) if at not in gone]
    known = {end for subject, _, object_, _ in left for end in (subject, object_) if not end.islower()}
    counting = {
        (subject.lower(), predicate, object_.lower())
        for subject, predicate, object_, _ in left
        if {subject.capitalize(), object_.capitalize()} <= known
    }
    facts = {(f.subject.lower(), f.predicate, f.object.lower()) for f in grown.facts.values()}
    assert facts == counting
    await room.projector.rebuild(1)
    assert picture(await room.graph()) == picture(grown)
    await room.close()


def test_rows_are_of_their_own_version() -> None:
    """Rows of before have no standing: another version of the rules makes them anew."""
    assert "standing" in Knowledge.schema
    assert "rests_on" in Knowledge.schema
