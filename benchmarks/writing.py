"""Durable writes: 16 clients over gRPC against rows that are each committed, and fsynced, alone."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import grpc

from benchmarks.outcome import Bar, Outcome
from benchmarks.serving import server, wait_ready
from benchmarks.slow_disk import slow_disk
from benchmarks.texts import conversation
from seedbed import Client
from seedbed.v1.memory_service_pb2 import WriteRequest
from seedbed.v1.memory_service_pb2_grpc import MemoryServiceStub
from seedbed.wire import message_to_proto

CLIENTS = 16
TRANSCRIPTS = (1, 4, 16)
"""Messages of one Write."""

SLOW = 5
"""Milliseconds that an fsync takes longer on the slow disk: what many disks take without a cache of their own."""

_DIFFERENT = 40
"""Transcripts that a client writes in turn, each time under another request id."""


def run(folder: Path, *, rounds: int, seconds: float) -> Outcome:
    """Measure baselines and writes in turn, on the disk as it is and on a slow one: medians over ``rounds``."""
    here = _measure(folder / "as-it-is", rounds, seconds)
    with slow_disk(folder, SLOW) as is_slow:
        slow = _measure(folder / "slow", rounds, seconds) if is_slow else None
    found = _outcome(here, "")
    if slow is None:
        return found
    more = _outcome(slow, f", fsync {SLOW} ms longer")
    return Outcome((*found.bars, *more.bars), (*found.figures, *more.figures))


@dataclass(frozen=True, slots=True)
class _Rates:
    """Medians, each a second: commits of one row by one thread and by many, Writes by the size of transcripts."""

    alone: float
    together: float
    writes: Mapping[int, float]


def _measure(folder: Path, rounds: int, seconds: float) -> _Rates:
    folder.mkdir(parents=True)
    alone: list[float] = []
    together: list[float] = []
    calls: dict[int, list[float]] = {size: [] for size in TRANSCRIPTS}
    with (
        server(folder / "writes") as served,
        Client(served.address) as client,
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
    ):
        wait_ready(client)
        for at in range(rounds):
            alone.append(process.submit(_commits, folder / f"alone-{at}.db", 1, seconds).result())
            for size in TRANSCRIPTS:
                work = process.submit(_write, served.address, f"{at}-{size}", size, seconds)
                calls[size].append(work.result())
            together.append(process.submit(_commits, folder / f"together-{at}.db", CLIENTS, seconds).result())
    return _Rates(median(alone), median(together), {size: median(rates) for size, rates in calls.items()})


def _outcome(rates: _Rates, disk: str) -> Outcome:
    best = max(rates.alone, rates.together)
    return Outcome(
        [
            Bar(f"messages durable, transcripts of {size}, against one-row commits{disk}", "≥", 5, size * rate / best)
            for size, rate in rates.writes.items()
        ],
        (
            (f"one-row commits, 1 thread{disk}", f"{rates.alone:.0f}/s"),
            (f"one-row commits, {CLIENTS} threads{disk}", f"{rates.together:.0f}/s"),
            *(
                (
                    f"{CLIENTS} clients, transcripts of {size}{disk}",
                    f"{rate:.0f} Writes/s, {size * rate:.0f} messages/s",
                )
                for size, rate in rates.writes.items()
            ),
        ),
    )


def _commits(path: Path, threads: int, seconds: float) -> float:
    """Commits a second of threads that each insert a row, and wait for the disk, over and over."""
    texts = [message.text for message in conversation(2, _DIFFERENT)]
    with closing(_connect(path)) as db:
        db.execute("CREATE TABLE message (seq INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    counts = [0] * threads
    stop = time.perf_counter() + seconds

    def insert(worker: int) -> None:
        with closing(_connect(path)) as db:
            while time.perf_counter() < stop:
                db.execute("INSERT INTO message (text) VALUES (?)", (texts[counts[worker] % _DIFFERENT],))
                counts[worker] += 1

    workers = [threading.Thread(target=insert, args=(worker,)) for worker in range(threads)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - started)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=60, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    return db


def _write(address: str, name: str, size: int, seconds: float) -> float:
    """Writes a second of all clients together; runs in a process of its own."""
    return asyncio.run(_write_all(address, name, size, seconds))


async def _write_all(address: str, name: str, size: int, seconds: float) -> float:
    """Each client has its own connection and its own memory, and waits for one answer before the next write."""
    clients = [
        (
            grpc.aio.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]),
            _transcripts(f"{name}-{at}", size),
        )
        for at in range(CLIENTS)
    ]
    started = time.perf_counter()
    counts = await asyncio.gather(*(_client(channel, said, started + seconds) for channel, said in clients))
    took = time.perf_counter() - started
    for channel, _ in clients:
        await channel.close()
    return sum(counts) / took


async def _client(channel: grpc.aio.Channel, transcripts: Sequence[WriteRequest], stop: float) -> int:
    stub: Any = MemoryServiceStub(channel)
    count = 0
    while time.perf_counter() < stop:
        request = transcripts[count % len(transcripts)]
        request.request_id = f"{count}"
        await stub.Write(request)
        count += 1
    return count


def _transcripts(memory: str, size: int) -> list[WriteRequest]:
    return [
        WriteRequest(memory=memory, messages=map(message_to_proto, conversation(3, size, first=at * size)))
        for at in range(_DIFFERENT)
    ]
