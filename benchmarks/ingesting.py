"""From the first Write to searchable, against the bare encoder on the same texts."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from benchmarks.outcome import Bar, Outcome
from benchmarks.raw import RawEncoder
from benchmarks.serving import server, wait_applied, wait_ready
from benchmarks.texts import conversation
from seedbed import Client, Message
from seedbed_server.projections.vectors import header

_TRANSCRIPT = 16
_SEARCHABLE = ("vectors", "lexical")
_KNOWN = ("entities", "triples")


def run(folder: Path, encoder: Path, *, rounds: int, messages: int) -> Outcome:
    """Encode and ingest other texts in every round, in turn; medians over the rounds."""
    raw: list[float] = []
    searchable: list[float] = []
    known: list[float] = []
    with server(folder / "ingest") as served, Client(served.address) as client, RawEncoder(encoder) as bare:
        wait_ready(client)
        for at in range(rounds):
            said = conversation(10 + at, messages)
            raw.append(messages / bare.seconds([header(message) + message.text for message in said]))
            first, then = _ingest(client, f"ingest {at}", said)
            searchable.append(messages / first)
            known.append(messages / then)
    ratio = median(ours / theirs for ours, theirs in zip(searchable, raw, strict=True))
    return Outcome(
        (Bar("ingest to searchable, against the bare encoder", "≥", 0.8, ratio),),
        (
            ("bare encoder, one thread", f"{median(raw):.0f} messages/s"),
            ("Write to vectors and words applied", f"{median(searchable):.0f} messages/s"),
            ("Write to entities and triples applied as well", f"{median(known):.0f} messages/s"),
        ),
    )


def _ingest(client: Client, name: str, said: list[Message]) -> tuple[float, float]:
    """Seconds from the first Write until all is searchable, and until all is known."""
    memory = client.memory(name)
    started = time.perf_counter()
    for at in range(0, len(said), _TRANSCRIPT):
        memory.write(said[at : at + _TRANSCRIPT])
    wait_applied(client, name, _SEARCHABLE)
    searchable = time.perf_counter() - started
    wait_applied(client, name, _KNOWN)
    return searchable, time.perf_counter() - started
