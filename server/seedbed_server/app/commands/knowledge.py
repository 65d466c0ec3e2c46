"""What the conversations of a memory say: its entities and facts, and corrections of who is who."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from seedbed_server.app.codes import USAGE
from seedbed_server.app.screen import counted, day, fail, note, say
from seedbed_server.app.target import Target, calling
from seedbed_server.app.times import KnownAt, ValidAt

if TYPE_CHECKING:
    from seedbed.results import KnownEntity, Triple

app = typer.Typer()
T = TypeVar("T")

Preview = Annotated[bool, typer.Option("--preview", help="Only say what would change.")]


@app.command()
@calling
def entities(
    target: Target,
    memory: str,
    limit: Annotated[int, typer.Option(min=1, help="The most entities.")] = 100,
) -> None:
    """List the entities, most mentioned first: id, name and type, other names, and the merges that made them."""
    with target.client() as client:
        for entity in _some(client.memory(memory).entities(), limit):
            say(_entity(entity))
            for merge in entity.merges:
                say(f"    merge {merge.merge_id}  {merge.reason}", style="dim")


@app.command()
@calling
def facts(
    target: Target,
    memory: str,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that no longer hold.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="The most facts.")] = 100,
) -> None:
    """List the facts, newest first, with the times in which they held."""
    with target.client() as client:
        found = client.memory(memory).triples(valid_at=valid_at, known_at=known_at, include_superseded=every)
        for fact in _some(found, limit):
            say(_fact(fact))


@app.command()
@calling
def merge(target: Target, memory: str, into_id: str, from_id: str, preview: Preview = False) -> None:
    """Make one entity an alias of another, by their ids; ``split`` undoes it."""
    with target.client() as client:
        done = client.memory(memory).merge(into_id, from_id, preview=preview)
        say(_entity(done.entity))
        moved = f"{counted(done.mentions_moved, 'mention')} and {counted(done.triples_moved, 'fact')}"
        say(f"{moved} would change hands" if preview else f"{moved} changed hands; merge {done.merge_id}")


@app.command()
@calling
def split(
    target: Target,
    memory: str,
    merge_id: Annotated[str, typer.Argument(help="A merge, as ``merge`` and ``entities`` print it.")],
    preview: Preview = False,
) -> None:
    """Undo a merge, decided or evident."""
    with target.client() as client:
        handle = client.memory(memory)
        if preview:
            merged = (entity for entity in handle.entities() if merge_id in {one.merge_id for one in entity.merges})
            found = next(merged, None)
            if found is None:
                fail(USAGE, "MERGE_ID", " is no merge in effect")
            part = next(one for one in found.merges if one.merge_id == merge_id)
            say(_entity(found))
            say(f"{part.from_entity_id} would be an entity of its own again")
            return
        for entity in handle.split(merge_id):
            say(_entity(entity))


@app.command()
@calling
def graph(
    target: Target,
    memory: str,
    file: Annotated[Path, typer.Option("--out", help="FILE.graphml, FILE.json (node-link), or FILE.html to look at.")],
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The most facts, newest first: all, but on a page 2,000.")
    ] = None,
) -> None:
    """Export a memory's graph of facts, as files that networkx reads, or as a page on its own."""
    from seedbed_server.app.graph_file import FORMATS, write_graph

    if file.suffix not in FORMATS:
        fail(USAGE, "--out", f" must end with one of {', '.join(FORMATS)}")
    with target.client() as client:
        written = write_graph(client.memory(memory), file, valid_at=valid_at, known_at=known_at, limit=limit)
    say(f"{counted(written.entities, 'entity', 'entities')}, {counted(written.facts, 'fact')}: {file}")
    if written.left_out:
        note(f"left out: {counted(written.left_out, 'older fact')}; --limit takes more")


def _some(items: Iterable[T], limit: int) -> Iterator[T]:
    """As many as asked for; what is left out is told."""
    rest = iter(items)
    yield from islice(rest, limit)
    if next(rest, None) is not None:
        note("there are more; --limit takes them")


def _entity(entity: KnownEntity) -> str:
    also = f"; also {', '.join(entity.aliases)}" if entity.aliases else ""
    return f"{entity.id}  {entity.name} ({entity.type}, {counted(entity.mention_count, 'mention')}{also})"


def _fact(fact: Triple) -> str:
    times = [f"{word} {day(time)}" for word, time in (("since", fact.valid_from), ("until", fact.valid_to)) if time]
    held = f" ({', '.join(times)})" if times else ""
    meant = "" if fact.modality == "asserted" else f"{fact.modality}: "
    negated = "not: " if fact.negated else ""
    return f"{fact.id}  {meant}{negated}{fact.subject} {fact.predicate} {fact.object}{held}"
