"""What users decide about the graph, on the real server: who is one, what holds, and what does not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from seedbed import KnowledgeGraph, Message, Statement
from seedbed.client import RemoteMemory
from seedbed.errors import (
    EntityNotFoundError,
    InvalidFieldError,
    MergeNotFoundError,
    MessageNotFoundError,
    RequestIdReusedError,
    TripleNotFoundError,
)
from seedbed.results import KnownEntity, Triple
from seedbed.v1.admin_service_pb2 import RebuildRequest
from seedbed.v1.admin_service_pb2_grpc import AdminServiceStub
from tests.on_disk import files_with
from tests.serving import Serving

START = datetime(2026, 1, 10, tzinfo=UTC)
_names = (f"corrected-{n}" for n in itertools.count())


@pytest.fixture
def memory(ready: Serving) -> RemoteMemory:
    """A memory of four messages, a day apart, of which nothing is read."""
    made = ready.client.memory(next(_names), KnowledgeGraph())
    made.write([Message("user", ("Hm.",), time=START + timedelta(days=n), id=f"m{n}") for n in range(4)])
    ready.applied(made.name)
    return made


def facts(memory: RemoteMemory, **asked: object) -> set[tuple[str, str, str]]:
    return {(t.subject, t.predicate, t.object) for t in memory.triples(**asked)}  # type: ignore[arg-type]


def said(
    subject: str,
    predicate: str,
    object_: str,
    *sources: str,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
) -> Statement:
    return Statement(subject, predicate, object_, sources or ("m0",), valid_from=valid_from, valid_to=valid_to)


def ids(memory: RemoteMemory) -> dict[str, str]:
    return {entity.name: entity.id for entity in memory.entities()}


def everything(memory: RemoteMemory) -> tuple[list[KnownEntity], list[Triple]]:
    return list(memory.entities()), list(memory.triples(include_superseded=True))


def test_merge_then_split_is_the_identity(memory: RemoteMemory) -> None:
    """A preview changes nothing; a merge moves facts and names; its split gives back what was there."""
    memory.add_triples([said("Kestrel", "live in", "Ghent"), said("Windhover", "live in", "Bruges", "m1")])
    before, by_name = everything(memory), ids(memory)
    preview = memory.merge(by_name["Kestrel"], by_name["Windhover"], preview=True)
    assert (preview.merge_id, preview.triples_moved, preview.entity.aliases) == ("", 1, ("Windhover",))
    assert everything(memory) == before
    done = memory.merge(by_name["Kestrel"], by_name["Windhover"])
    assert (done.entity, done.triples_moved) == (memory.entity(by_name["Windhover"]).entity, 1)
    assert done.entity.merges[0].merge_id == done.merge_id
    assert "Windhover" not in ids(memory)
    assert facts(memory) == {("Kestrel", "live in", "Bruges")}  # the later home of the one
    with pytest.raises(InvalidFieldError) as refused:
        memory.merge(by_name["Kestrel"], by_name["Windhover"])
    assert [field.path for field in refused.value.fields] == ["from_entity_id"]
    assert {entity.name for entity in memory.split(done.merge_id)} == {"Kestrel", "Windhover"}
    assert everything(memory) == before
    with pytest.raises(MergeNotFoundError):
        memory.split(done.merge_id)
    with pytest.raises(EntityNotFoundError):
        memory.merge(by_name["Kestrel"], "nobody")


def test_added_facts_have_sources_and_times(memory: RemoteMemory) -> None:
    """Without a time of its own a fact holds from the time of its earliest message; two messages are one fact."""
    (first,) = memory.add_triples([said("Kestrel", "live in", "Ghent", "m2", "m1")])
    assert (first.valid_from, first.valid_to) == (START + timedelta(days=1), None)
    assert first.source_ids == ("m1", "m2")
    until = START + timedelta(days=400)
    (second,) = memory.add_triples([said("Kestrel", "live in", "Bruges", valid_from=START - timedelta(days=9))])
    assert (second.valid_from, second.valid_to) == (START - timedelta(days=9), first.valid_from)
    (third,) = memory.add_triples([said("Kestrel", "work at", "Acme", valid_from=START, valid_to=until)])
    assert (third.valid_from, third.valid_to) == (START, until)
    assert ("Kestrel", "work at", "Acme") in facts(memory, valid_at=until - timedelta(days=1))
    assert ("Kestrel", "work at", "Acme") not in facts(memory, valid_at=until)


def test_a_repeated_request_adds_nothing_twice(memory: RemoteMemory) -> None:
    """The same request id and facts: the same answer; other facts: refused; all or none."""
    added = [said("Kestrel", "like", "rain"), said("Kestrel", "like", "wind", "m1")]
    first = memory.add_triples(added, request_id="once")
    assert memory.add_triples(added, request_id="once") == first
    assert len(list(memory.triples())) == 2
    with pytest.raises(RequestIdReusedError):
        memory.add_triples(added[:1], request_id="once")
    with pytest.raises(MessageNotFoundError):
        memory.add_triples([said("Kestrel", "like", "snow"), said("Kestrel", "like", "hail", "m0", "gone")])
    assert len(list(memory.triples())) == 2


def test_what_is_retracted_is_not_believed_from_then_on(memory: RemoteMemory) -> None:
    """It ends nothing any more, is listed with the end of its belief, and is there as known before."""
    (ghent,) = memory.add_triples([said("Kestrel", "live in", "Ghent")])
    (bruges,) = memory.add_triples([said("Kestrel", "live in", "Bruges", "m1")])
    before = now()
    assert memory.retract_triples([bruges.id]) == 1
    assert facts(memory) == {("Kestrel", "live in", "Ghent")}
    assert facts(memory, known_at=before) == {("Kestrel", "live in", "Bruges")}
    listed = {t.object: t for t in memory.triples(include_superseded=True)}
    assert listed["Bruges"].known_to is not None
    assert listed["Bruges"].known_to > before
    assert (listed["Ghent"].valid_to, listed["Ghent"].known_to) == (None, None)
    assert memory.retract_triples([bruges.id]) == 0
    with pytest.raises(TripleNotFoundError):
        memory.retract_triples([ghent.id, "t0"])
    memory.add_triples([said("Kestrel", "live in", "Bruges", "m2")])
    assert facts(memory) == {("Kestrel", "live in", "Bruges")}


def test_forgetting_a_message_removes_what_only_it_supported(ready: Serving, memory: RemoteMemory) -> None:
    """Added facts too, from every file; one with another source stands."""
    canary = "Quetzalcanary"
    memory.add_triples([said("Kestrel", "own", canary), said("Kestrel", "like", "rain", "m0", "m1")])
    memory.forget(["m0"])
    assert [(t.object, t.source_ids) for t in memory.triples(include_superseded=True)] == [("rain", ("m1",))]
    assert canary not in ids(memory)
    assert files_with(ready.folder / "data", canary) == []
    memory.clear()
    assert everything(memory) == ([], [])


def test_a_rebuild_keeps_every_decision(ready: Serving, memory: RemoteMemory) -> None:
    """They are in the log, not in what is derived."""
    memory.add_triples([said("Kestrel", "live in", "Ghent"), said("Windhover", "like", "rain", "m1")])
    by_name = ids(memory)
    memory.merge(by_name["Kestrel"], by_name["Windhover"])
    (rain,) = memory.triples(predicate="like")
    memory.retract_triples([rain.id])
    before = everything(memory)
    with grpc.insecure_channel(ready.address) as channel:
        AdminServiceStub(channel).Rebuild(RebuildRequest(memory=memory.name, projections=["triples"]))
    ready.applied(memory.name)
    assert everything(memory) == before


def test_an_import_of_an_export_has_the_same_graph(ready: Serving, memory: RemoteMemory) -> None:
    """Merges, splits, retractions and what was said again after them; also when it is repeated, or was broken off."""
    told = [
        said("Kestrel", "live in", "Ghent"),
        said("Windhover", "like", "rain", "m1"),
        said("Merlin", "like", "wind"),
    ]
    memory.add_triples([*told, said("Kestrel", "live in", "Bruges", "m2", valid_from=START - timedelta(days=3))])
    by_name = ids(memory)
    merge_id = memory.merge(by_name["Kestrel"], by_name["Windhover"]).merge_id
    undone = memory.merge(by_name["Merlin"], by_name["Kestrel"]).merge_id
    memory.split(undone)
    again, gone = memory.triples(predicate="like")
    memory.retract_triples([again.id, gone.id])
    memory.add_triples([said(again.subject, "like", again.object, "m3")])
    memory.write([Message("user", ("Hm.",), time=START + timedelta(days=9), id="m4")])
    exported = list(memory.export_all())
    assert list(memory.export()) == exported[:5]
    copy = ready.client.memory(f"{memory.name}-copy", KnowledgeGraph())
    copy.import_messages(exported[:8])
    done = copy.import_messages(exported)
    assert (done.skipped, done.decisions_skipped, done.decisions_imported) == (5, 3, len(exported) - 8)
    assert copy.import_messages(exported).decisions_imported == 0
    ready.applied(copy.name)

    def graph(of: RemoteMemory) -> object:
        entities, triples = everything(of)
        bare = [replace(e, merges=tuple(replace(m, decided_at=None) for m in e.merges)) for e in entities]
        return bare, [replace(t, known_from=None, known_to=t.known_to and START) for t in triples]

    assert graph(copy) == graph(memory)
    copy.split(merge_id)
    memory.split(merge_id)
    assert graph(copy) == graph(memory)
    without = ready.client.memory(f"{memory.name}-part", KnowledgeGraph())
    done = without.import_messages([item for item in exported if not isinstance(item, Message) or item.id != "m1"])
    assert done.decisions_skipped == 3  # stated there, merged by a name said only there, and taken back
    ready.applied(without.name)
    assert "Windhover" not in ids(without)


def test_a_receipt_counts_decisions(memory: RemoteMemory) -> None:
    """Statements and what was decided about the names that only they said."""
    memory.add_triples([said("Kestrel", "like", "rain"), said("Windhover", "like", "rain", "m1")])
    memory.merge(ids(memory)["Kestrel"], ids(memory)["Windhover"])
    stores = {store.store: store for store in memory.forget(["m0"]).stores}
    assert [(stores[one].erased, stores[one].files_rewritten) for one in ("statements", "decisions")] == [(1, True)] * 2
    assert "Windhover" in ids(memory)


def test_words_that_name_nothing_are_refused(memory: RemoteMemory) -> None:
    """Articles, other function words, punctuation; by the field's path. Names that are nearly alike are two."""
    for nothing in ("the", "The", "an", "of", "?!", "\u2026", " the  "):
        with pytest.raises(InvalidFieldError) as refused:
            memory.add_triples([said("Kestrel", "like", nothing)])
        assert [field.path for field in refused.value.fields] == ["triples[0].object"]
    memory.add_triples([said("k" * 255 + last, "like", "rain") for last in "xy"])
    assert len(ids(memory)) == 3


def test_as_of_is_what_was_answered_then(ready: Serving, memory: RemoteMemory) -> None:
    """At every moment of a history of writes and decisions, for every moment of the world."""
    worlds = [None, *(START + timedelta(days=n, hours=12) for n in range(-1, 8))]
    answered: list[tuple[datetime, list[list[Triple]]]] = []

    def at(known_at: datetime | None = None) -> list[list[Triple]]:
        return [list(memory.triples(valid_at=world, known_at=known_at)) for world in worlds]

    def after(step: Callable[[], object]) -> None:
        step()
        ready.applied(memory.name)
        answered.append((now(), at()))

    after(lambda: memory.add_triples([said("Kestrel", "live in", "Ghent", "m2")]))
    after(lambda: memory.add_triples([said("Kestrel", "live in", "Bruges")]))
    text = "I live in Lisbon. I like rain."
    after(lambda: memory.write([Message("user", (text,), "Maya", time=START + timedelta(days=3))]))
    after(lambda: memory.merge(ids(memory)["Kestrel"], ids(memory)["Maya"]))
    (rain,) = memory.triples(predicate="like")
    after(lambda: memory.retract_triples([rain.id]))
    after(lambda: memory.split(memory.entity(ids(memory)["Kestrel"]).entity.merges[0].merge_id))
    for moment, answers in answered:
        assert at(known_at=moment) == answers


def test_every_read_means_the_same_by_as_of(memory: RemoteMemory) -> None:
    """ListTriples, Explore, FindPaths and Seed, on either axis and on both."""
    memory.add_triples([said("Kestrel", "live in", "Ghent"), said("Kestrel", "like", "Bruges")])
    then = now()
    memory.add_triples([said("Kestrel", "live in", "Bruges", "m2")])
    kestrel, day = ids(memory)["Kestrel"], START + timedelta(days=1)
    cases = ((None, None, "Bruges"), (day, None, "Ghent"), (None, then, "Ghent"), (day, then, "Ghent"))
    for valid_at, known_at, home in cases:
        listed = memory.triples(predicate="live in", valid_at=valid_at, known_at=known_at)
        around = memory.explore([kestrel], predicates=["live in"], valid_at=valid_at, known_at=known_at).triples
        ghent = memory.find_paths(kestrel, ids(memory)["Ghent"], valid_at=valid_at, known_at=known_at)
        seed = memory.seed("Where does Kestrel live?", valid_at=valid_at, known_at=known_at)
        lines = [item.text for entry in seed.entries for item in entry.items]
        assert [t.object for t in listed] == [t.object for t in around] == [home]
        assert [[t.predicate for t in path] for path in ghent] == ([["live in"]] if home == "Ghent" else [])
        assert [line.split(" (")[0] for line in lines if "lives" in line] == [f"Kestrel lives in {home}"]


def test_a_first_name_is_its_only_bearer_until_somebody_splits_them(ready: Serving) -> None:
    """Joined by evidence, with a reason; split by a user, and apart from then on."""
    memory = ready.client.memory(next(_names), KnowledgeGraph())
    memory.write([Message("user", ("My daughter is Ingrid Okafor. Ingrid was born in Aarhus.",), "Tom", time=START)])
    ready.applied(memory.name)
    assert ("Ingrid Okafor", "be born in", "Aarhus") in facts(memory)
    (ingrid,) = memory.entities(name_prefix="ingrid")
    (merge,) = ingrid.merges
    assert (ingrid.aliases, merge.decided_at) == (("Ingrid",), None)
    assert "first name" in merge.reason
    memory.split(merge.merge_id)
    assert {entity.name for entity in memory.entities(name_prefix="ingrid")} == {"Ingrid", "Ingrid Okafor"}
    assert ("Ingrid", "be born in", "Aarhus") in facts(memory)


def now() -> datetime:
    """A moment after all that was answered, and before what follows."""
    time.sleep(0.005)
    moment = datetime.now(UTC)
    time.sleep(0.005)
    return moment
