"""``seedbed demo``: a bundled conversation through a running server, and the seed of each variant.

The conversation is eight months of Maya and her agent Juno, written for this
project.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from itertools import groupby

from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import track
from rich.text import Text

from seedbed import (
    Buffer,
    Client,
    Entity,
    Hybrid,
    KnowledgeGraph,
    Message,
    Seed,
    Summary,
    SummaryBuffer,
    TokenBuffer,
    Vector,
    Window,
)
from seedbed.errors import MemoryNotFoundError
from seedbed.variants import Variant
from seedbed_server.app.waiting import wait_applied

MEMORY = "demo"
SYSTEM = "You are Juno, Maya's assistant. Answer from what you know of her; say so when you do not know."
LAST_SESSION = "2026-09-checkin"
VARIANTS: tuple[Variant, ...] = (
    Buffer(),
    Window(4),
    TokenBuffer(max_tokens=120),
    Summary(threshold=6),
    SummaryBuffer(max_tokens=300),
    Entity(max_entities=3, recent=2),
    KnowledgeGraph(max_facts=8, recent=2),
    Vector(k=4),
    Hybrid(Window(4), Vector(k=4), KnowledgeGraph(max_facts=6, recent=0), Entity(max_entities=2, recent=0)),
)
QUESTIONS = (
    "Where does Maya live now?",
    "What did Maya say about Elena?",
    "What is the order number for the backpack?",
)
_LONGEST_SHOWN = 900


class MemoryTakenError(Exception):
    """The memory MEMORY was not made by a demonstration: it has not its system prompt."""


def conversation() -> list[Message]:
    """Return the bundled conversation, oldest first."""
    lines = (files(__package__) / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    return [_message(json.loads(line)) for line in lines]


def _message(row: dict[str, str]) -> Message:
    said = datetime.fromisoformat(row["time"])
    message = Message(row["role"], (row["content"],), row["name"], time=said, session=row["session"])
    return replace(message, id=f"{row['session']}/{said:%H%M%S}")


def run(client: Client, console: Console, questions: tuple[str, ...] = QUESTIONS) -> None:
    """Write the conversation to the memory MEMORY, and show what each variant makes of a few questions.

    A memory of an earlier run is replaced; this one stays, to be asked by hand.
    Raises MemoryTakenError for a memory of that name that is somebody's own.
    """
    with suppress(MemoryNotFoundError):
        if client.get_memory(MEMORY).system != SYSTEM:
            raise MemoryTakenError
        client.delete_memory(MEMORY)
    _replay(client, console, questions)
    console.rule()
    console.print(f'It stays in the memory "{MEMORY}", until the next run. Ask it yourself:', highlight=False)
    for command in (f'recall {MEMORY} "Who is Elena?" --explain', f"facts {MEMORY}", f"delete {MEMORY}"):
        console.print(f"  seedbed {command}", highlight=False)


def _replay(client: Client, console: Console, questions: tuple[str, ...]) -> None:
    messages = conversation()
    sessions = [(name, list(group)) for name, group in groupby(messages, key=lambda message: message.session)]
    for name, group in track(sessions, description="writing sessions", console=console):
        client.memory(MEMORY, VARIANTS[-1], system=SYSTEM, session=name).write(group)
    console.print(f"{len(messages)} messages in {len(sessions)} sessions are durable; models are reading them …")
    wait_applied(client, MEMORY)
    for question in questions:
        console.rule(f"[bold]{question}")
        for variant in VARIANTS:
            console.print(_panel(client, variant, question))


def _panel(client: Client, variant: Variant, question: str) -> Panel:
    seed = client.memory(MEMORY, variant, session=LAST_SESSION).seed(question)
    title = f"{type(variant).__name__}: {len(seed.entries)} messages, {seed.tokens} tokens"
    return Panel(Group(*_lines(seed)), title=title, title_align="left")


def _lines(seed: Seed) -> list[Text]:
    lines = []
    for entry in seed.entries:
        speaker = f"{entry.role} ({entry.name})" if entry.name else entry.role
        line = Text(f"{speaker}: ", style="bold cyan")
        text = entry.text
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + " …"
        lines.append(line.append(shown, style="not bold default"))
    return lines
