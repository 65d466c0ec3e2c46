"""Five years of two people's lives, and what was so, and was known, when.

Moves, jobs, a marriage, a death, a new name and a contradiction. Run it against a
server on this machine: ``.venv/bin/python clients/python/examples/lives.py``.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from seedbed import Client, KnowledgeGraph, Message, Statement
from seedbed.client import RemoteMemory

LINES = (Path(__file__).parent / "lives.jsonl").read_text(encoding="utf-8").splitlines()
HOME = {"live in", "moved to"}


def message(line: str) -> Message:
    """Return the message of a line."""
    row = json.loads(line)
    row["parts"], row["time"] = (row.pop("content"),), datetime.fromisoformat(row["time"])
    return Message(**row)


def known(memory: RemoteMemory, name: str, at: datetime | None = None) -> str:
    """Return the facts that a seed shows of somebody, as of a moment."""
    variant = KnowledgeGraph(max_facts=8, recent=0)
    seed = memory.seed(f"What do you know about {name}?", valid_at=at, variant=variant)
    return "".join(f"\n  {item.text}" for entry in seed.entries for item in entry.items)


def day(time: datetime | None) -> str:
    """Return a day, or "…" for an open end."""
    return "…" if time is None else f"{time:%Y-%m-%d}"


def run(client: Client, print: Callable[[str], object] = print) -> None:  # noqa: A002
    """Tell the story, correct what was read of it, and ask."""
    memory = client.memory("lives", KnowledgeGraph())
    memory.import_messages(map(message, LINES))
    while any(projection.applied_seq < len(LINES) for projection in client.status("lives").projections):
        time.sleep(0.1)

    entities = list(memory.entities())
    ids = {entity.name: entity.id for entity in entities}
    for entity in entities:
        for merge in entity.merges:
            print(f"{entity.name} is {', '.join(entity.aliases)} too: {merge.reason}")
    if "Anders" in ids:  # not yet merged by an earlier run
        same = memory.merge(ids["Anders Lindqvist"], ids["Anders"])
        print(f"Anders is Anders Lindqvist: merged by hand, {same.triples_moved} facts moved")
    before = datetime.now(UTC)
    memory.add_triples(
        [
            Statement(
                "Anders Lindqvist", "live in", "Lillehammer", ("l09",), valid_from=datetime(2017, 1, 1, tzinfo=UTC)
            )
        ],
        request_id="lillehammer",
    )

    print(f"\nNora now{known(memory, 'Nora Okafor')}")
    print(f"\nNora in June 2019{known(memory, 'Nora Okafor', datetime(2019, 6, 1, tzinfo=UTC))}")
    print(f"\nNora in January 2021{known(memory, 'Nora Okafor', datetime(2021, 1, 1, tzinfo=UTC))}")
    print(f"\nAstrid now{known(memory, 'Astrid Berg')}")

    print("\nWhere Anders lived")
    anders = ids["Anders Lindqvist"]
    for fact in memory.triples(entity_id=anders, include_superseded=True):
        if fact.predicate in HOME and not fact.negated:
            print(f"  {day(fact.valid_from)} to {day(fact.valid_to)}: {fact.object} {list(fact.source_ids)}")
    then = memory.triples(entity_id=anders, known_at=before, include_superseded=True)
    lived = [fact.object for fact in then if fact.predicate in HOME and not fact.negated]
    print(f"  as known before Lillehammer was added: {', '.join(lived)}")


if __name__ == "__main__":
    with Client("localhost:7700") as client:
        run(client)
