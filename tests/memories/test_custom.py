"""Variants of your own: found by name, alone or in a Hybrid, and harmless when they are broken."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest

from seedbed import Buffer, Custom, Hybrid, Memory, Message, Window
from seedbed.errors import MemoryNotFoundError, VariantNotRegisteredError
from seedbed_server.log import Log, NewMemory
from seedbed_server.memories import custom as room
from seedbed_server.memories.custom import CustomPart
from seedbed_server.memories.hands import Hands, NoHandsError
from seedbed_server.memories.view import Ask, View
from tests.memories.variants_of_tests import Shout, Stuck
from tests.serving import Serving, said

_names = (f"custom-{n}" for n in itertools.count())


def talk(served: Serving) -> tuple[str, list[str]]:
    """A memory with three messages, and their texts."""
    name = next(_names)
    texts = ["I like tea.", "It rains.", "Good night."]
    served.client.memory(name, Buffer(), system="Be kind.").write([said(text) for text in texts])
    return name, texts


def test_a_registered_class_is_found_by_name(served: Serving) -> None:
    """It shows what it shows, as data under the pin; its options reach it; it follows the log."""
    name, _ = talk(served)
    memory = served.client.memory(name, Custom("shout"))
    seed = memory.seed()
    assert [entry.role for entry in seed.entries] == ["system"]
    assert seed.entries[0].text.startswith("Be kind.\n\n")
    assert seed.entries[0].text.endswith("> IT RAINS. / GOOD NIGHT.")
    assert [(item.origin, item.kind) for item in seed.entries[0].items] == [("system", "pin"), ("shout", "note")]
    assert "I LIKE TEA." in memory.seed(variant=Custom("shout", {"n": 3})).entries[0].text
    memory.write([said("Wake up.")])
    assert memory.seed().entries[0].text.endswith("> GOOD NIGHT. / WAKE UP.")


def test_it_is_the_memorys_own_variant_too(served: Serving) -> None:
    """Name and options are stored with the memory."""
    memory = served.client.memory(next(_names), Custom("shout", {"n": 1}))
    memory.write([said("one"), said("two")])
    assert served.client.memory(memory.name).seed().entries[0].text.endswith("> TWO")


def test_it_is_a_part_of_a_hybrid(served: Serving) -> None:
    """Its note stands in the one leading system message, beside the recent messages."""
    name, texts = talk(served)
    seed = served.client.memory(name).seed(variant=Hybrid(Window(1), Custom("shout", {"n": 2})))
    assert [entry.role for entry in seed.entries] == ["system", "user"]
    assert "> IT RAINS. / GOOD NIGHT." in seed.entries[0].text
    assert seed.entries[1].text == texts[-1]
    assert not seed.degraded


@pytest.mark.parametrize("variant", [Custom("unheard-of"), Hybrid(Window(1), Custom("unheard-of")), Custom("absent")])
def test_an_unknown_name_is_a_failed_precondition(served: Serving, variant: Custom | Hybrid) -> None:
    """Also for a package whose class is not there: the server runs without it."""
    name, texts = talk(served)
    with pytest.raises(VariantNotRegisteredError) as refused:
        served.client.memory(name).seed(variant=variant)
    assert (refused.value.code, refused.value.stored) == ("FAILED_PRECONDITION", "no")
    assert str(refused.value).endswith("variant: names none of those that are registered: faulty, shout, stuck")
    assert [message.text for message in served.client.memory(name).read()] == texts


def test_no_memory_is_created_that_cannot_be_read(served: Serving) -> None:
    """Whichever call would; nor is one changed so."""
    for unknown in (Custom("unheard-of"), Hybrid(Window(1), Custom("unheard-of"))):
        name = next(_names)
        memory = served.client.memory(name, unknown)
        for create in (
            lambda name=name, unknown=unknown: served.client.create_memory(name, unknown),
            lambda memory=memory: memory.write([said("Hello.")]),
            lambda memory=memory: memory.import_messages([said("Hello.")]),
            lambda memory=memory: memory.seed(),
        ):
            with pytest.raises(VariantNotRegisteredError, match="shout"):
                create()
        with pytest.raises(MemoryNotFoundError):
            served.client.get_memory(name)
    name, _ = talk(served)
    with pytest.raises(VariantNotRegisteredError, match="shout"):
        served.client.update_memory(name, variant=Custom("unheard-of"))
    assert served.client.get_memory(name).variant == Buffer()


def test_a_memory_that_exists_takes_every_write(served: Serving) -> None:
    """An agent whose package the server lacks for now loses no transcript."""
    name, texts = talk(served)
    memory = served.client.memory(name, Custom("unheard-of"))
    memory.write([said("Kept.")])
    memory.import_messages([said("Kept too.")])
    assert [message.text for message in memory.read()] == [*texts, "Kept.", "Kept too."]


@pytest.mark.parametrize("where", ["make", "write", "seed", "nonsense"])
def test_a_class_that_fails_costs_only_its_own_part(served: Serving, where: str) -> None:
    """The rest of the seed stands, the part is named; alone it leaves the pin. Its words reach nobody."""
    name, texts = talk(served)
    broken = Custom("faulty", {"where": where})
    seed = served.client.memory(name).seed(variant=Hybrid(Window(2), broken))
    assert [entry.text for entry in seed.entries] == ["Be kind.", *texts[1:]]
    assert seed.degraded_parts == ("faulty",)
    alone = served.client.memory(name).seed(variant=broken)
    assert [entry.text for entry in alone.entries] == ["Be kind."]
    assert alone.degraded_parts == ("faulty",)


def test_options_that_it_does_not_take_cost_only_its_own_part(served: Serving) -> None:
    """A wrong option is the class's own failure."""
    name, _ = talk(served)
    assert served.client.memory(name).seed(variant=Custom("shout", {"colour": "red"})).degraded_parts == ("shout",)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    yield log
    await log.close()


async def view_of(log: Log) -> View:
    record = await log.get("", "maya")
    return View(log, record, Ask("default"), record.last_seq, None)


async def test_one_that_never_answers_is_given_up(log: Log) -> None:
    """Its part is degraded after its patience, and the threads it holds are no others' loss."""
    await log.append("", "maya", "default", [said("hello")], create=NewMemory(Buffer(), ""))
    part = CustomPart({"stuck": Stuck, "shout": Shout}, patience=0.05)
    for _ in range(3):
        assert (await part.show(await view_of(log), Custom("stuck"))).shown.degraded
    patient = CustomPart({"shout": Shout})
    assert not (await patient.show(await view_of(log), Custom("shout"))).shown.degraded


async def test_threads_are_bounded() -> None:
    """When every thread is taken, the next piece of work is refused at once; a thread that ends is free again."""
    hands = Hands(most=1)
    begun, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(hands.do(lambda: (loop.call_soon_threadsafe(begun.set), gate.wait(60))[1]))
    await begun.wait()
    with pytest.raises(NoHandsError):
        await hands.do(lambda: 1)
    gate.set()
    assert await waiting
    assert await hands.do(lambda: 2) == 2


class Counting(Memory):
    """Keeps the texts it was given."""

    made: ClassVar[list[Counting]] = []

    def __init__(self) -> None:
        self.texts: list[str] = []
        Counting.made.append(self)

    def read(self) -> list[Message]:
        return []

    def write(self, messages: object) -> None:
        self.texts += [message.text for message in messages]  # type: ignore[attr-defined]

    def clear(self) -> None:
        raise AssertionError("the server makes a new one instead")


async def test_it_is_given_each_message_once_in_order(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page by page, also while the log grows under it: what was written after the question comes with the next."""
    monkeypatch.setattr(room, "_PAGE", 3)
    Counting.made.clear()
    part = CustomPart({"counting": Counting})
    written: list[str] = []

    async def write(count: int) -> None:
        batch = [f"message {len(written) + n}" for n in range(count)]
        await log.append("", "maya", "default", [said(text) for text in batch], create=NewMemory(Buffer(), ""))
        written.extend(batch)

    await write(4)
    early = await view_of(log)
    await write(4)  # after the question was asked
    await part.show(early, Custom("counting"))
    assert [made.texts for made in Counting.made] == [written[:4]]
    await part.show(await view_of(log), Custom("counting"))
    assert [made.texts for made in Counting.made] == [written]


async def test_after_an_erasure_it_is_made_anew(log: Log) -> None:
    """An instance that has seen what is erased is thrown away."""
    Counting.made.clear()
    part = CustomPart({"counting": Counting})
    await log.append("", "maya", "default", [said("secret")], create=NewMemory(Buffer(), ""))
    await part.show(await view_of(log), Custom("counting"))
    await log.clear("", "maya")
    await log.append("", "maya", "default", [said("new")])
    await part.show(await view_of(log), Custom("counting"))
    assert [made.texts for made in Counting.made] == [["secret"], ["new"]]
