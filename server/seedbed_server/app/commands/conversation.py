"""What an agent does with a memory: write, read, seed, recall; and why it said what it said."""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from seedbed_server.app.codes import USAGE
from seedbed_server.app.screen import fail, moment, note, out, say
from seedbed_server.app.target import Target, calling
from seedbed_server.app.times import KnownAt, ValidAt

if TYPE_CHECKING:
    from seedbed import Message
    from seedbed.variants import Variant

app = typer.Typer()

Session = Annotated[str, typer.Option("--session", help="Session.")]


@app.command()
@calling
def write(
    target: Target,
    memory: str,
    text: Annotated[str, typer.Argument(help="What was said; - reads standard input.")],
    role: Annotated[str, typer.Option(help="user, assistant, system, tool, or any that your chat API takes.")] = "user",
    name: str = "",
    session: Session = "default",
) -> None:
    """Write one message."""
    from seedbed import Message

    said = sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text
    with target.client() as client:
        written = client.memory(memory, session=session).write([Message(role, (said,), name)])
        say(f"seq {written.last_seq}")


@app.command()
@calling
def seed(
    target: Target,
    memory: str,
    query: Annotated[str, typer.Argument(help="What the agent is about to answer.")] = "",
    max_tokens: int | None = None,
    session: Session = "default",
    variant: Annotated[str, typer.Option(help="Read through this variant, such as window; else the memory's.")] = "",
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
) -> None:
    """Print the seed, as the messages that a chat API takes."""
    through = _variant(variant) if variant else None
    with target.client() as client:
        handle = client.memory(memory, session=session)
        found = handle.seed(query, max_tokens=max_tokens, variant=through, valid_at=valid_at, known_at=known_at)
        out.print_json(json.dumps(found.messages, ensure_ascii=False))
        cut = ", truncated" if found.truncated else ""
        degraded = f", degraded: {', '.join(found.degraded_parts)}" if found.degraded else ""
        note(f"{found.tokens} tokens{cut}{degraded}")


def _variant(name: str) -> Variant:
    """One of the nine, with its own defaults; a Hybrid is of recent turns, recall and knowledge."""
    from seedbed import (
        Buffer,
        Entity,
        Hybrid,
        KnowledgeGraph,
        Summary,
        SummaryBuffer,
        TokenBuffer,
        Vector,
        Window,
    )

    hybrid = Hybrid(Window(), Vector(), KnowledgeGraph(recent=0), Entity(recent=0))
    nine = (Buffer(), Window(), TokenBuffer(), Summary(), SummaryBuffer(), Entity(), KnowledgeGraph(), Vector(), hybrid)
    by_name = {type(one).__name__.lower(): one for one in nine}
    wanted = name.lower().replace("_", "").replace("-", "")
    if wanted not in by_name:
        fail(USAGE, "--variant", f" is none of {', '.join(type(one).__name__ for one in nine)}")
    return by_name[wanted]


@app.command()
@calling
def recall(
    target: Target,
    memory: str,
    query: str,
    k: int = 10,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each leg gave.")] = False,
) -> None:
    """Print the ranked search behind the seed."""
    with target.client() as client:
        found = client.memory(memory).recall(query, k=k, valid_at=valid_at, known_at=known_at, explain=explain)
        for hit in found.hits:
            say(f"{hit.score:.3f}  {_line(hit.message)}")
            if explain:
                legs = "  ".join(f"{leg.leg} {leg.contribution:+.3f} (#{leg.rank})" for leg in hit.legs if leg.rank)
                say(f"       {legs}", style="dim")
        if found.below_floor:
            note(f"nothing is about that; of {found.below_floor} left out the best has {found.best_below_floor:.3f}")
        if found.degraded:
            note(f"degraded: without {', '.join(found.degraded_legs)}")


@app.command()
@calling
def recalls(
    target: Target,
    memory: str,
    session: Annotated[str, typer.Option("--session", help="Only calls about this session.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="The most calls.")] = 20,
    texts: Annotated[bool, typer.Option("--texts", help="Show the messages, as the log has them now.")] = False,
) -> None:
    """Print what was asked of a memory and what it showed, newest first: the server's recall log."""
    from seedbed_server.app.recalls import told

    with target.client() as client:
        entries = client.memory(memory).recalls(session=session, with_messages=texts, page_size=min(limit, 1000))
        for entry in islice(entries, limit):
            for line in told(entry):
                say(line)
        if not any(part.part == "recall_log" for part in client.status().parts):
            note("the recall log is off: the server's setting recall_log turns it on")


@app.command()
@calling
def read(
    target: Target,
    memory: str,
    session: Annotated[str, typer.Option("--session", help="Only this session.")] = "",
    ids: Annotated[bool, typer.Option("--ids", help="Show the messages' ids, which ``forget`` takes.")] = False,
) -> None:
    """Print the stored messages."""
    with target.client() as client:
        for message in client.memory(memory).messages(session=session):
            say(f"{message.seq:>5}  {f'{message.id}  ' if ids else ''}{_line(message)}")


def _line(message: Message) -> str:
    return f"{moment(message.time)}  {message.name or message.role}: {message.text}"
