"""What is done to a memory by hand: listed, corrected, forgotten, deleted; and the demonstration that stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import click.testing
import pytest
from typer.testing import CliRunner

from seedbed import Message, Statement, Window
from seedbed_server.app.commands import app
from seedbed_server.app.commands.knowledge import _fact
from seedbed_server.app.demo import MEMORY, SYSTEM, conversation
from tests.serving import Serving

Run = Callable[..., str]
NINE = ("Buffer", "Window", "TokenBuffer", "Summary", "SummaryBuffer", "Entity", "KnowledgeGraph", "Vector", "Hybrid")
_names = (f"hand-{n}" for n in count())


@pytest.fixture
def run(served: Serving) -> Run:
    """Runs a command against the server, and returns what it prints; it is to end with ``code``.

    That is its result or, where it fails, what it says of it; with ``output`` both.
    """

    def invoke(*arguments: str, code: int = 0, output: bool = False, **options: Any) -> str:
        environment = {"SEEDBED_SERVER": served.address, "COLUMNS": "200"}
        result: Any = CliRunner().invoke(app, arguments, env=environment, **options)
        ended = cast("click.testing.Result", result)
        assert ended.exit_code == code, ended.output
        if output:
            return ended.output
        return ended.stdout if code == 0 else ended.stderr

    return invoke


@pytest.fixture
def memory(served: Serving) -> str:
    """A memory with two facts about two people, who are one."""
    name = next(_names)
    handle = served.client.memory(name, Window(2))
    handle.write([Message("user", ("Hm.",), id="m1"), Message("user", ("Hm, hm.",), id="m2")])
    moved = Statement("Kestrel", "live in", "Oslo", ("m1",), valid_from=datetime(2026, 5, 1, tzinfo=UTC))
    handle.add_triples([moved, Statement("Windhover", "like", "rain", ("m2",))])
    return name


def ids(lines: str) -> dict[str, str]:
    """The ids of entities, by name."""
    return {name: one for one, name in re.findall(r"^(\S+)  (\w+) \(", lines, re.MULTILINE)}


def test_memories_are_listed(run: Run, memory: str) -> None:
    """With what each is read through, and how much it holds."""
    line = next(line for line in run("memories").splitlines() if line.startswith(f"{memory} "))
    assert "  Window  2 messages  since 20" in line


def test_a_memory_is_deleted_by_who_means_it(run: Run, memory: str) -> None:
    """It asks, and without an answer deletes nothing."""
    run("delete", memory, code=1, input="n\n")
    run("delete", memory, code=1, input="")
    assert memory in run("memories")
    assert run("delete", memory, "--yes") == "2 messages deleted\n"
    assert memory not in run("memories")
    assert "MEMORY_NOT_FOUND" in run("delete", memory, "--yes", code=5)


def test_what_is_forgotten_is_told_by_a_receipt(run: Run, ready: Serving, memory: str) -> None:
    """The ids are those that ``read`` prints; what was not there is told."""
    ready.applied(memory)
    assert re.search(r"^ +1  m1  20", run("read", memory, "--ids"), re.MULTILINE)
    receipt = run("forget", memory, "m1", "nothing")
    assert receipt.startswith("receipt ")
    assert re.search(r"^  log +1 erased", receipt, re.MULTILINE)
    assert "m1" not in run("read", memory, "--ids")


def test_entities_and_facts_are_listed(run: Run, memory: str) -> None:
    """As of a day too."""
    assert ids(run("entities", memory)).keys() >= {"Kestrel", "Windhover"}
    facts = run("facts", memory)
    assert "Kestrel live in Oslo (since 2026-05-01)" in facts
    assert "Windhover like rain" in facts
    assert "Kestrel" not in run("facts", memory, "--valid-at", "2026-04-30")
    assert run("facts", memory, "--known-at", "2026-04-30") == ""
    for command in ("facts", "entities"):
        shown, rest = run(command, memory, "--limit", "1", output=True).splitlines()
        assert shown in run(command, memory)
        assert rest == "there are more; --limit takes them"


@pytest.mark.parametrize(
    ("modality", "shown"), [("asserted", ""), ("planned", "planned: "), ("possible", "possible: ")]
)
def test_what_is_not_so_yet_is_shown_as_such(modality: str, shown: str) -> None:
    """A plan reads as one."""
    fact: Any = SimpleNamespace(
        id="t1", subject="Ana", predicate="move to", object="Rome", negated=False, valid_from=None, valid_to=None
    )
    fact.modality = modality
    assert _fact(fact) == f"t1  {shown}Ana move to Rome"


def test_a_merge_is_looked_at_done_and_undone(run: Run, memory: str) -> None:
    """A preview changes nothing."""
    before = run("entities", memory)
    known = ids(before)
    pair = (known["Kestrel"], known["Windhover"])
    assert "would change hands" in run("merge", memory, *pair, "--preview")
    assert run("entities", memory) == before
    done = run("merge", memory, *pair)
    merge = done.split()[-1]
    assert "also Windhover" in run("entities", memory)
    assert f"merge {merge}" in run("entities", memory)
    assert "Kestrel like rain" in run("facts", memory)
    assert f"{pair[1]} would be an entity of its own again" in run("split", memory, merge, "--preview")
    assert "also Windhover" in run("entities", memory)
    assert ids(run("split", memory, merge)).keys() == {"Kestrel", "Windhover"}
    assert "no merge in effect" in run("split", memory, merge, "--preview", code=2)
    assert "MERGE_NOT_FOUND" in run("split", memory, merge, code=5)


@pytest.mark.parametrize("variant", NINE)
def test_a_seed_is_read_through_any_of_the_nine(run: Run, memory: str, variant: str) -> None:
    """By its name, however it is written."""
    for name in (variant, variant.lower(), "".join(f"_{c.lower()}" if c.isupper() else c for c in variant)[1:]):
        assert isinstance(json.loads(run("seed", memory, "Hm?", "--variant", name)), list)


def test_a_variant_that_is_none_is_told(run: Run, memory: str) -> None:
    """With those that are."""
    said = " ".join(run("seed", memory, "--variant", "bufer", code=2).split())
    assert f"--variant is none of {', '.join(NINE)}" in said


@pytest.mark.parametrize("system", ["", "You are kind."])
def test_the_demonstration_replaces_no_memory_of_somebody(run: Run, served: Serving, system: str) -> None:
    """It is told apart by its system prompt; nothing of it is touched."""
    served.client.memory(MEMORY, system=system).write([Message.user("Precious.")])
    assert f'The memory "{MEMORY}" was not made by a demonstration' in run("demo", code=2)
    assert [message.text for message in served.client.memory(MEMORY).messages()] == ["Precious."]
    served.client.delete_memory(MEMORY)


def test_the_demonstration_stays_until_the_next(run: Run, ready: Serving) -> None:
    """An earlier one is replaced; at its end it says how to ask it."""
    ready.client.memory(MEMORY, system=SYSTEM).write([Message.user("Of an earlier run.")])
    told = run("demo")
    assert f'It stays in the memory "{MEMORY}"' in told
    assert f"seedbed facts {MEMORY}" in told
    assert [message.text for message in ready.client.memory(MEMORY).messages()] == [m.text for m in conversation()]
    assert "Elena" in run("facts", MEMORY)
