"""What is cleared or deleted is gone from every answer at once, and a new memory of the same name is empty."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from seedbed import Buffer, Custom, Entity, Hybrid, KnowledgeGraph, Message, Seed, Summary, Variant, Vector, Window
from seedbed.errors import MemoryNotFoundError
from tests.on_disk import files_with
from tests.serving import Serving, said

SECRET = "quibblewort"
_names = (f"erased-{n}" for n in itertools.count())

VARIANTS: tuple[Variant, ...] = (
    Buffer(),
    Vector(),
    Entity(),
    KnowledgeGraph(),
    Summary(threshold=1),
    Custom("shout", {"n": 50}),
    Hybrid(Window(3), Vector(), Entity(), KnowledgeGraph(), Summary(threshold=1), Custom("shout")),
)


def filled(ready: Serving) -> str:
    """A memory whose secret has reached every store and every cache."""
    name = next(_names)
    memory = ready.client.memory(name, Summary(threshold=1), system="Be kind.")
    memory.write([said(f"Maya lives in Porto. Maya likes {SECRET} and Tom Hale of Quibble Works.", "Maya")])
    memory.write([said(f"Tom Hale sells {SECRET} number {n}.", "Tom Hale") for n in range(9)])
    ready.applied(name)
    for variant in VARIANTS:
        assert SECRET in spoken(memory.seed(f"Who sells {SECRET}? Maya or Tom Hale?", variant=variant)), variant
    return name


def spoken(seed: Seed) -> str:
    """All that a seed says, in lower case, since a custom variant shouts."""
    return " ".join([*(entry.text for entry in seed.entries), *(i.text for e in seed.entries for i in e.items)]).lower()


@pytest.mark.parametrize("how", ["clear", "delete"])
def test_nothing_of_it_is_in_any_answer(ready: Serving, how: str) -> None:
    """Asked at once after the erasure, before any store can have followed; and again when all have."""
    name = filled(ready)
    memory = ready.client.memory(name, Buffer(), system="Be kind.")
    if how == "clear":
        assert memory.clear() == 10
    else:
        assert ready.client.delete_memory(name) == 10
        with pytest.raises(MemoryNotFoundError):
            ready.client.memory(name).read()
        ready.client.create_memory(name, Buffer(), system="Be kind.")
    for _ in range(2):
        assert memory.read() == []
        assert memory.recall(SECRET, k=100).hits == ()
        for variant in VARIANTS:
            seed = memory.seed(f"Who sells {SECRET}? Maya or Tom Hale?", variant=variant)
            assert seed.messages == [{"role": "system", "content": "Be kind."}], variant
            assert "shout" not in seed.degraded_parts
        assert list(memory.entities()) == []
        assert list(memory.triples(include_superseded=True)) == []
        ready.applied(name)


def test_forget_takes_what_the_recall_log_showed_of_it(ready: Serving) -> None:
    """Every entry that showed the message, with its query; counted in the receipt, and out of every file."""
    memory = ready.client.memory(next(_names), Window(1))
    memory.write([said("I love gorse and figs.", id="recalled-m1"), said("Noted.", id="recalled-m2")])
    memory.recall("Who loves gorse, ask Frobisher?", k=10)
    memory.seed("Frobisher again", variant=Buffer())
    memory.seed("Only the newest")
    entries = list(memory.recalls(with_messages=True))
    assert [entry.query for entry in entries][:2] == ["Only the newest", "Frobisher again"]
    assert entries[1].shown[0].message_ids == ("recalled-m1",)
    assert [message.text for message in entries[1].messages] == ["I love gorse and figs.", "Noted."]
    assert "recall_log.db-wal" in files_with(ready.folder / "data", "Frobisher")
    memory.seed("Frobisher, unwritten", variant=Buffer())  # still in the queue
    receipt = memory.forget(["recalled-m1"])
    (store,) = [store for store in receipt.stores if store.store == "recall_log"]
    assert (store.erased, store.files_rewritten) == (3, True)
    assert files_with(ready.folder / "data", "Frobisher") == []
    assert [entry.query for entry in memory.recalls()] == ["Only the newest"]
    held = [name for name in files_with(ready.folder / "data", "recalled-m") if name.startswith("recall_log")]
    assert held == []  # it holds no ids at all


@pytest.mark.parametrize("how", ["clear", "session", "delete"])
def test_what_was_asked_goes_with_what_is_cleared_or_deleted(ready: Serving, how: str) -> None:
    """Whatever was shown; written already or still in the queue; in the moment the call returns."""
    name, query = next(_names), f"Marzipanwort {how}"
    memory = ready.client.memory(name, Window(1), session="one")
    memory.write([said("Hello.")])
    memory.seed(query)
    assert [entry.query for entry in memory.recalls(session="one")] == [query]
    memory.seed(f"{query}, and not written yet")
    memory.seed(f"{query}, of a session without messages", session="two" if how != "session" else "one")
    calls: dict[str, Callable[[], int]] = {
        "clear": memory.clear,
        "session": lambda: memory.clear(session="one"),
        "delete": lambda: ready.client.delete_memory(name),
    }
    assert calls[how]() == 1
    assert files_with(ready.folder / "data", query) == []
    assert list(ready.client.memory(name, Window(1)).recalls()) == []


def test_a_cleared_memory_goes_on(ready: Serving) -> None:
    """The pin stays, seq goes on counting, and what is written next is found."""
    name = filled(ready)
    memory = ready.client.memory(name)
    memory.clear()
    assert memory.write([Message.user("I moved to Braga.", name="Maya")]).first_seq == 11
    assert [hit.message.text for hit in memory.recall("Braga").hits] == ["I moved to Braga."]
    ready.applied(name)
    assert {entity.name for entity in memory.entities()} == {"Maya", "Braga"}
    seed = memory.seed("Where is Maya?", variant=KnowledgeGraph())
    assert seed.messages[0]["content"].startswith("Be kind.")
    assert SECRET not in spoken(seed)


def test_clearing_a_session_leaves_the_others(ready: Serving) -> None:
    """Recall, facts and custom instances of the other session are as they were."""
    name = next(_names)
    for session, town in (("one", "Porto"), ("two", "Braga")):
        memory = ready.client.memory(name, Buffer(), session=session)
        memory.write([said(f"Maya lives in {town}.", "Maya"), said(f"{session} {SECRET}", "Tom")])
    ready.applied(name)
    assert ready.client.memory(name).clear(session="one") == 2
    memory = ready.client.memory(name)
    assert [hit.message.session for hit in memory.recall(SECRET).hits] == ["two", "two"]
    assert f"one {SECRET}" not in spoken(memory.seed(variant=Custom("shout", {"n": 50}), session="one"))
    assert f"two {SECRET}" in spoken(memory.seed(variant=Custom("shout", {"n": 50}), session="two"))
    ready.applied(name)
    assert [(t.subject, t.predicate, t.object) for t in memory.triples()] == [("Maya", "live in", "Braga")]
