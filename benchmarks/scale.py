"""Many memories: what searches, memory, disk and a start cost at two sizes, and what that comes to at a million.

The vectors of messages are stand-ins (:mod:`benchmarks.stand_in_encoder`); all else is
real, queries and processes too. Reading facts takes far longer than all the
rest, and no recall needs them: the tagger rests while all is written, and is held
still while latencies are measured with the server idle, at both sizes alike. Beside
each latency stands the processor time of all processes: that hardly changes on a
busy machine.
"""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks.outcome import Bar, Outcome
from benchmarks.serving import Served, server, wait_applied, wait_ready
from benchmarks.texts import conversation, questions
from seedbed import Client, Hybrid, Vector, Window
from seedbed.errors import NotFoundError, UnavailableError

BASE = (10_000, 100)
"""Messages and memories that the larger size is compared with."""

MILLION = 1_000_000
_VARIANT = Hybrid(Window(10), Vector(k=10))
_SEARCHABLE = ("vectors", "lexical")
_WRITE = 50
_WRITERS = 4
_IN_USE = 30
_FIRST = 61
_MANY = 1_000
"""Memories that are asked at the end, so that the hot set is full when memory is measured."""
_AT_ONCE = 15
"""Calls while the tagger is held: the server's watchdog would replace it after a minute."""
_REST, _WAKE = 20.0, 2.0
"""Seconds that the tagger is held in turn while all is written, and seconds between for the watchdog."""
_CHILDREN = {"encoder": "stand_in_encoder", "tagger": "tagger_child", "vectors": "chroma_worker"}
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class _Calls:
    """Seconds of each call, and processor seconds of the whole server for one of them."""

    seconds: Sequence[float]
    processor: float


@dataclass(frozen=True, slots=True)
class _Found:
    """What one size gave: seconds of single calls, MiB of processes and of files."""

    messages: int
    per_second: float
    start: float
    ready: float
    first: _Calls
    recall: _Calls
    seed: _Calls
    busy: Sequence[float]
    written: float
    started_rss: dict[str, float]
    rss: dict[str, float]
    files: dict[str, float]


def run(folder: Path, *, messages: int, memories: int, base: tuple[int, int] = BASE) -> Outcome:
    """Measure ``base``, then ``messages`` over ``memories``, with the server's own settings.

    What an earlier run has written in ``folder`` is not written again.
    """
    small = _measure(folder / "small", *base)
    large = _measure(folder / "large", messages, memories)
    size = f"{messages:,} messages over {memories:,} memories"
    return Outcome(
        (
            _ratio(
                f"Recall p50 of memories in use, {size}, against {base[0]:,} over {base[1]:,}", small, large, "recall"
            ),
            _ratio("Seed p50 of memories in use, the same", small, large, "seed"),
            _ratio("first Recall p50 of a memory after a start, the same", small, large, "first"),
            Bar(
                "Recall p99 while ingesting, against idle p50, there",
                "≤",
                5,
                _p(large.busy, 99) / _p(large.recall.seconds, 50),
            ),
            Bar("all processes, resident, there", "≤", 1536, sum(large.rss.values()), "MiB"),
        ),
        [*_figures(small), *_figures(large), *_extrapolated(small, large)],
    )


def _measure(data: Path, messages: int, memories: int) -> _Found:
    """Write, start again on what is there, then ask."""
    with server(data, module="benchmarks.stand_in") as served, Client(served.address) as client:
        wait_ready(client)
        with _resting(served, "tagger"):
            per_second = _fill(client, messages, memories)
    with server(data, module="benchmarks.stand_in") as served, Client(served.address) as client:
        start = _listening(served, client)
        wait_ready(client)
        ready = time.perf_counter() - served.started
        started_rss = _rss(served)
        names = _sample(memories, _FIRST)
        used = names[:_IN_USE]
        ask = questions(3)
        client.memory(names[-1]).recall(next(ask))  # the first call of all pays for what the libraries put off
        first = _idle(served, names[:-1], lambda name: client.memory(name).recall(next(ask)))
        for name in used:
            client.memory(name).recall(next(ask))
        recall = _idle(served, used * 2, lambda name: client.memory(name).recall(next(ask)))
        seed = _idle(served, used * 2, lambda name: client.memory(name).seed(next(ask)))
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            writing = process.submit(_write_on, served.address, memories, 30.0)
            busy: list[float] = []
            while not writing.done():
                busy += _timed(used[:10], lambda name: client.memory(name).recall(next(ask)))
                random.Random(len(busy)).shuffle(used)
        for name in _sample(memories, _MANY):
            client.memory(name).recall("What did you say?")
        return _Found(
            messages,
            per_second,
            start,
            ready,
            first,
            recall,
            seed,
            busy,
            writing.result(),
            started_rss,
            _rss(served),
            _files(data),
        )


def _fill(client: Client, messages: int, memories: int) -> float:
    """Write all memories, some at a time, until words and vectors are applied; returns messages a second."""
    each = messages // memories

    def write(number: int) -> int:
        memory = client.memory(_name(number), _VARIANT)
        there = _last_seq(client, number)
        for first in range(there, each, _WRITE):
            memory.write(conversation(number, min(_WRITE, each - first), first=first))
        return max(each - there, 0)

    began = time.perf_counter()
    with ThreadPoolExecutor(_WRITERS) as pool:
        written = sum(pool.map(write, range(memories)))
    for number in range(memories):
        wait_applied(client, _name(number), _SEARCHABLE, patience=24 * 3600.0)
    return written / (time.perf_counter() - began)


def _last_seq(client: Client, number: int) -> int:
    try:
        return client.status(_name(number)).last_seq
    except NotFoundError:
        return 0


def _write_on(address: str, memories: int, seconds: float) -> float:
    """Write to one memory after another as fast as is answered; returns messages a second."""
    written = 0
    began = time.perf_counter()
    with Client(address) as client:
        while time.perf_counter() - began < seconds:
            number = random.Random(written).randrange(memories)
            client.memory(_name(number)).write(conversation(number, 16, first=100_000 + written))
            written += 16
    return written / (time.perf_counter() - began)


def _listening(served: Served, client: Client) -> float:
    """Seconds from the start to the first answer."""
    while True:
        try:
            client.status()
        except UnavailableError:
            time.sleep(0.02)
        else:
            return time.perf_counter() - served.started


def _timed(names: Sequence[str], call: Callable[[str], object]) -> list[float]:
    taken = []
    for name in names:
        began = time.perf_counter()
        call(name)
        taken.append(time.perf_counter() - began)
    return taken


def _idle(served: Served, names: Sequence[str], call: Callable[[str], object]) -> _Calls:
    """Call while nothing else is done: the tagger may work between some calls and the next ones."""
    seconds: list[float] = []
    processor = 0.0
    for start in range(0, len(names), _AT_ONCE):
        with _still(served.child(_CHILDREN["tagger"])):
            before = _processor(served)
            seconds += _timed(names[start : start + _AT_ONCE], call)
            processor += _processor(served) - before
    return _Calls(seconds, processor / len(seconds))


def _processor(served: Served) -> float:
    """Processor seconds of the server's processes so far."""
    times = [process.cpu_times() for process in (served.process, *served.process.children())]
    return float(sum(one.user + one.system for one in times))


@contextmanager
def _resting(served: Served, child: str) -> Iterator[None]:
    """Hold a child nearly all the time, and the one in its place should it be replaced."""
    done = threading.Event()

    def rest() -> None:
        while not done.is_set():
            with suppress(psutil.NoSuchProcess, StopIteration), _still(served.child(_CHILDREN[child])):
                done.wait(_REST)
            done.wait(_WAKE)

    thread = threading.Thread(target=rest)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def _still(process: psutil.Process) -> Iterator[None]:
    """Hold a process."""
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def _name(number: int) -> str:
    return f"memory {number}"


def _sample(memories: int, most: int) -> list[str]:
    return [_name(number) for number in random.Random("scale").sample(range(memories), min(most, memories))]


def _rss(served: Served) -> dict[str, float]:
    own = {name: served.child(module).memory_info().rss / _MIB for name, module in _CHILDREN.items()}
    return {"gRPC": served.rss(), **own}


def _files(data: Path) -> dict[str, float]:
    def size(*paths: Path) -> float:
        return sum(path.stat().st_size for path in paths if path.is_file()) / _MIB

    return {
        "log": size(*data.glob("log.db*")),
        "words, facts and cursors": size(*(data / "derived").glob("derived.db*")),
        "Chroma": size(*(data / "derived").glob("chroma*/**/*")),
    }


def _ratio(promise: str, small: _Found, large: _Found, what: str) -> Bar:
    return Bar(promise, "≤", 1.3, _p(getattr(large, what).seconds, 50) / _p(getattr(small, what).seconds, 50))


def _figures(found: _Found) -> list[tuple[str, str]]:
    at = f"{found.messages:,}"
    return [
        *(
            [(f"{at}: Write to words and vectors applied", f"{found.per_second:.0f} messages/s")]
            if found.per_second
            else []
        ),
        (f"{at}: first answer after a start, all parts ready", f"{found.start:.1f} s, {found.ready:.1f} s"),
        (f"{at}: first Recall of a memory", _calls(found.first)),
        (f"{at}: Recall, memories in use", _calls(found.recall)),
        (f"{at}: Seed, memories in use", _calls(found.seed)),
        (f"{at}: Recall while {found.written:.0f} messages/s are written", _times(found.busy)),
        (f"{at}: resident after the start", _mib(found.started_rss)),
        (f"{at}: resident after all of this", _mib(found.rss)),
        (f"{at}: on disk", _mib(found.files)),
    ]


def _extrapolated(small: _Found, large: _Found) -> list[tuple[str, str]]:
    """What a message more costs where the sizes differ; in memory, less once what is bounded is full."""
    more = large.messages - small.messages
    if more <= 0:
        return []
    shown = []
    for what, before, after in (("resident", small.rss, large.rss), ("on disk", small.files, large.files)):
        each = ", ".join(f"{name} {(after[name] - before[name]) * _MIB / more:.0f}" for name in after)
        shown.append((f"bytes a message more, {what}", each))
    million = {
        name: size + (size - small.files[name]) / more * (MILLION - large.messages)
        for name, size in large.files.items()
    }
    return [*shown, (f"straight on to {MILLION:,}, on disk", _mib(million))]


def _mib(sizes: dict[str, float]) -> str:
    return ", ".join(f"{name} {size:.0f}" for name, size in sizes.items()) + f"; {sum(sizes.values()):.0f} MiB"


def _calls(calls: _Calls) -> str:
    return f"{_times(calls.seconds)}, {1000 * calls.processor:.1f} ms of processor each"


def _times(seconds: Sequence[float]) -> str:
    return f"p50 {1000 * _p(seconds, 50):.1f} ms, p99 {1000 * _p(seconds, 99):.1f} ms ({len(seconds)} calls)"


def _p(seconds: Sequence[float], percent: float) -> float:
    return float(np.percentile(seconds, percent))
