"""How soon a server takes its first write, how soon all of it works, and how much memory its gRPC process takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import grpc

from benchmarks.outcome import Bar, Outcome
from benchmarks.serving import free_address, server, wait_applied, wait_ready
from benchmarks.texts import conversation, questions
from seedbed import Client, Entity, Hybrid, KnowledgeGraph, Vector, Window
from seedbed.v1 import memory_service_pb2 as pb
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceStub

# A client that is there before the server tries again this often, in milliseconds.
_RETRY = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 50),
    ("grpc.enable_http_proxy", 0),
]
_TRANSCRIPT = 16
_SEEDS = 20


@dataclass(frozen=True, slots=True)
class _Start:
    """One start: seconds until a write was acknowledged and until all was applied, and MiB then."""

    write: float
    ready: float
    rss: float


def run(folder: Path, *, rounds: int, messages: int) -> Outcome:
    """Start ``rounds`` times on a new data directory, and each time once more on what is then there."""
    new: list[_Start] = []
    again: list[_Start] = []
    for at in range(rounds):
        data = folder / f"start-{at}"
        new.append(_start(data))
        again.append(_start(data))
    rss, children = _in_use(folder / "start-0", messages)
    slower = {name: max(median(getattr(s, name) for s in kind) for kind in (new, again)) for name in ("write", "ready")}
    rss_idle = median(start.rss for start in (*new, *again))
    return Outcome(
        (
            Bar("first Write acknowledged after the start", "≤", 1.5, slower["write"], "s"),
            Bar("every projection ready after the start", "≤", 15, slower["ready"], "s"),
            Bar("gRPC process, resident, in use", "≤", 150, max(rss, rss_idle), "MiB"),
        ),
        (
            ("first Write, new data directory", _spread([start.write for start in new])),
            ("first Write, existing data directory", _spread([start.write for start in again])),
            ("all projections ready, new data directory", _spread([start.ready for start in new])),
            ("all projections ready, existing data directory", _spread([start.ready for start in again])),
            ("gRPC process when ready", f"{rss_idle:.0f} MiB"),
            (f"gRPC process after {messages} messages and {2 * _SEEDS} seeds and recalls", f"{rss:.0f} MiB"),
            ("encoder, tagger and vector processes together", f"{children:.0f} MiB"),
        ),
    )


def _start(data: Path) -> _Start:
    """Start a server to which a client is already trying to write, and stop it when all works."""
    address = free_address()
    with grpc.insecure_channel(address, _RETRY) as channel, Client(address) as client:
        request = pb.WriteRequest(memory="start", request_id=f"{time.time_ns()}")
        message = request.messages.add(role="user")
        message.parts.add(text="Hi, I'm Maya, and I moved to Lisbon.")
        write = MemoryServiceStub(channel).Write.future(request, wait_for_ready=True, timeout=60)
        with server(data, address) as served:
            write.result()
            acknowledged = time.perf_counter() - served.started
            wait_ready(client)
            wait_applied(client, "start")
            return _Start(acknowledged, time.perf_counter() - served.started, served.rss())


def _in_use(data: Path, messages: int) -> tuple[float, float]:
    """MiB of the gRPC process, and of its children, once it has been worked with."""
    variant = Hybrid(Window(10), Vector(k=10), Entity(), KnowledgeGraph())
    with server(data) as served, Client(served.address) as client:
        wait_ready(client)
        memory = client.memory("in use", variant)
        for first in range(0, messages, _TRANSCRIPT):
            memory.write(conversation(1, min(_TRANSCRIPT, messages - first), first=first))
        wait_applied(client, "in use")
        for _, question in zip(range(_SEEDS), questions(1), strict=False):
            memory.seed(question)
            memory.recall(question)
        return served.rss(), served.rss_of_children()


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
