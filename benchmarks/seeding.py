"""The seed of a long memory, against the embedding of its query alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.outcome import Bar, Outcome
from benchmarks.raw import RawEncoder
from benchmarks.serving import server, wait_applied, wait_ready
from benchmarks.texts import conversation, questions
from seedbed import Client, Entity, Hybrid, KnowledgeGraph, Vector, Window
from seedbed.client import RemoteMemory
from seedbed_server.models.encoder import Encoder

_BATCH = 200
_VARIANT = Hybrid(Window(10), Vector(k=10), Entity(), KnowledgeGraph())
_WARM_UP = 10


def run(folder: Path, models: Path, *, messages: int, queries: int) -> Outcome:
    """Write a memory, wait until all is applied, then ask: each query is embedded and asked in turn."""
    with server(folder / "seeds") as served, Client(served.address) as client:
        wait_ready(client)
        memory = client.memory("long", _VARIANT)
        for first in range(0, messages, _BATCH):
            memory.write(conversation(20, min(_BATCH, messages - first), first=first))
        wait_applied(client, "long")
        encoder = Encoder(models)
        with RawEncoder(models / encoder.name) as bare:
            times = asyncio.run(_ask(memory, encoder, bare, queries))
    median = {name: float(np.median(values)) for name, values in times.items()}
    slowest = {name: float(np.percentile(values, 99)) for name, values in times.items()}
    embedding = "SentenceTransformer.encode of its query"
    return Outcome(
        (
            Bar(
                f"Seed of a Hybrid at {messages} messages, p50, against {embedding}",
                "≤",
                1.5,
                median["seed"] / median["raw"],
            ),
            Bar(f"Recall at {messages} messages, p50, against {embedding}", "≤", 1.3, median["recall"] / median["raw"]),
            Bar("Seed, p99, against p50 of that", "≤", 3, slowest["seed"] / median["raw"]),
            Bar("Recall, p99, against p50 of that", "≤", 3, slowest["recall"] / median["raw"]),
            Bar(
                "Seed, p50, against the server's own embedding, which is quicker",
                "≤",
                1.5,
                median["seed"] / median["child"],
            ),
            Bar("Recall, p50, against the server's own embedding", "≤", 1.3, median["recall"] / median["child"]),
        ),
        (
            ("one query embedding, the encoder process", _percentiles(times["child"])),
            ("one query embedding, SentenceTransformer.encode", _percentiles(times["raw"])),
            ("Seed", _percentiles(times["seed"])),
            ("Recall", _percentiles(times["recall"])),
        ),
    )


async def _ask(memory: RemoteMemory, encoder: Encoder, bare: RawEncoder, queries: int) -> dict[str, list[float]]:
    """Seconds of each way, for the same queries, none of them asked twice of the same process."""
    times: dict[str, list[float]] = {"child": [], "raw": [], "seed": [], "recall": []}
    await encoder.child.start()
    try:
        await encoder.child.wait_ready(300)
        asked = list(islice(dict.fromkeys(islice(questions(2), 20 * queries)), 2 * queries + 2 * _WARM_UP))
        for at, (one, other) in enumerate(zip(asked[::2], asked[1::2], strict=True)):
            started = time.perf_counter()
            await encoder.encode_queries([one])
            embedded = time.perf_counter()
            memory.seed(one)
            seeded = time.perf_counter()
            memory.recall(other)
            recalled = time.perf_counter()
            raw = bare.seconds([one])
            if at >= _WARM_UP:
                times["child"].append(embedded - started)
                times["seed"].append(seeded - embedded)
                times["recall"].append(recalled - seeded)
                times["raw"].append(raw)
    finally:
        await encoder.child.stop()
    return times


def _percentiles(seconds: Sequence[float]) -> str:
    p50, p95, p99 = (1000 * float(np.percentile(seconds, p)) for p in (50, 95, 99))
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms"
