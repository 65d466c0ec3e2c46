"""The graph of a memory as a file: GraphML, node-link JSON, or a page to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seedbed.client import RemoteMemory
from seedbed.results import KnownEntity, Triple
from seedbed_server.app.files import writing
from seedbed_server.projections.exporting import graphml, node_link

FORMATS = (".graphml", ".json", ".html")
PAGE_FACTS = 2000
_PAGE = files("seedbed_server.app") / "graph_page"


class Written(NamedTuple):
    """What a file holds: entities and facts; and how many more facts there are."""

    entities: int
    facts: int
    left_out: int


def write_graph(
    memory: RemoteMemory, file: Path, *, valid_at: datetime | None, known_at: datetime | None, limit: int | None = None
) -> Written:
    """Write the newest ``limit`` facts, and the entities at their ends.

    Without a limit that is all of them, but on a page PAGE_FACTS: a browser lays
    out no more in bearable time. With ``valid_at``, GraphML and JSON hold the facts
    that held then; the page holds ended ones too, and begins at that moment. The
    page says what it leaves out. Raises FileError, and what a call raises.
    """
    with writing(file) as stream:
        text, written = _text(memory, file, valid_at, known_at, limit)
        stream.write(text)
    return written


def _text(
    memory: RemoteMemory, file: Path, valid_at: datetime | None, known_at: datetime | None, limit: int | None
) -> tuple[str, Written]:
    as_page = file.suffix == ".html"
    if as_page and limit is None:
        limit = PAGE_FACTS
    then = None if as_page else valid_at
    found = iter(memory.triples(valid_at=then, known_at=known_at, include_superseded=then is None))
    facts = list(islice(found, limit))
    left_out = sum(1 for _ in found)
    ends = {end for fact in facts for end in (fact.subject_id, fact.object_id)}
    known = {entity.id: entity for entity in memory.entities() if entity.id in ends}
    nodes = [_node(known.get(one), one, facts) for one in sorted(ends)]
    edges = list(_edges(facts))
    if file.suffix == ".graphml":
        text = graphml(nodes, edges)
    elif as_page:
        text = page(memory.name, nodes, edges, _messages(memory, facts), valid_at, left_out)
    else:
        text = json.dumps(node_link(nodes, edges), ensure_ascii=False, indent=1) + "\n"
    return text, Written(len(nodes), len(edges), left_out)


def page(
    memory: str,
    nodes: list[dict[str, Any]],
    edges: list[dict[str, Any]],
    messages: dict[str, dict[str, str]],
    valid_at: datetime | None,
    left_out: int = 0,
) -> str:
    """Return one page that holds all it needs, and asks nothing of any network."""
    data = {
        "memory": memory,
        "nodes": nodes,
        "edges": edges,
        "messages": messages,
        "valid_at": _iso(valid_at),
        "left_out": left_out,
    }
    # In a script element, only "<" could begin its end.
    embedded = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    text = (_PAGE / "page.html").read_text(encoding="utf-8")
    parts = {
        "style": (_PAGE / "page.css").read_text(encoding="utf-8"),
        "library": (_PAGE / "cytoscape.min.js").read_text(encoding="utf-8"),
        "script": (_PAGE / "page.js").read_text(encoding="utf-8"),
        "data": embedded,  # last: no words of a message are ever taken for a place
    }
    for name, part in parts.items():
        before, after = text.split(f"/*{{{name}}}*/", 1)
        text = before + part + after
    return text


def _node(entity: KnownEntity | None, one: str, facts: Iterable[Triple]) -> dict[str, Any]:
    """An entity; where it was written to in between, as its facts name it."""
    if entity is None:
        ends = ((fact.subject_id, fact.subject) for fact in facts), ((fact.object_id, fact.object) for fact in facts)
        name = next(name for pairs in ends for end, name in pairs if end == one)
        return {"id": one, "name": name, "type": "other", "aliases": [], "mention_count": 0}
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "mention_count": entity.mention_count,
        "first_seen": _iso(entity.first_seen),
        "last_seen": _iso(entity.last_seen),
    }


def _edges(facts: Iterable[Triple]) -> Iterable[dict[str, Any]]:
    """An edge for each time in which a fact held; its key is the fact's id, with a number from the second on."""
    times: Counter[str] = Counter()
    for fact in facts:
        times[fact.id] += 1
        again = f"#{times[fact.id]}" if times[fact.id] > 1 else ""
        yield {
            "source": fact.subject_id,
            "target": fact.object_id,
            "key": fact.id + again,
            "predicate": fact.predicate,
            "negated": fact.negated,
            "modality": fact.modality,
            "valid_from": _iso(fact.valid_from),
            "valid_to": _iso(fact.valid_to),
            "known_from": _iso(fact.known_from),
            "known_to": _iso(fact.known_to),
            "source_ids": list(fact.source_ids),
        }


def _messages(memory: RemoteMemory, facts: Iterable[Triple]) -> dict[str, dict[str, str]]:
    wanted = {one for fact in facts for one in fact.source_ids}
    return {
        message.id: {"name": message.name or message.role, "text": message.text, "time": _iso(message.time) or ""}
        for message in memory.messages(page_size=1000)
        if message.id in wanted
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
