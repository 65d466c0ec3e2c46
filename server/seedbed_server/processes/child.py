"""The main loop inside a child process.

    python -m seedbed_server.processes.child package.module:factory DESCRIPTOR

``factory(settings)`` returns the worker: an object whose public methods are the
operations. One that is a generator gives way at each ``yield``: more urgent calls
go first, then it is taken up again; what it returns is the reply. All work
happens in the main thread, one step at a time, since the libraries that run here
are not made for more. A worker may have ``describe()``, whose dictionary goes to
the parent when the worker is ready, ``close()``, called on an orderly end, and
``fatal``, classes of errors after which it is not to be trusted and a new process
has to look at what it left.

The process ends with its parent, however the parent ends. Nothing that a library
prints leaves it: standard error carries only the fixed lines written here.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from seedbed_server.processes import wire

log = logging.getLogger("seedbed_server.processes.child")

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_FIRST = -1  # before every Priority: pings must show that work moves on, not wait for it


@dataclass(order=True, slots=True)
class Call:
    """A call under way; ordered by priority, then by arrival."""

    priority: int
    arrival: int
    id: int = field(compare=False)
    op: str = field(compare=False)
    payload: Mapping[str, Any] = field(compare=False)
    steps: Generator[None, None, Any] | None = field(compare=False, default=None)


class Queue:
    """Calls to be worked on, filled by the reader thread and emptied by the main thread."""

    def __init__(self) -> None:
        self._heap: list[Call] = []
        self._open: dict[int, bool] = {}  # id of every unfinished call, and whether it is still wanted
        self._arrivals = itertools.count()
        self._stopping = False
        self._changed = threading.Condition()

    def add(self, frame: wire.Frame) -> None:
        """Take in a call of the parent."""
        priority = _FIRST if frame["op"] == wire.PING else frame["priority"]
        with self._changed:
            self._open[frame["id"]] = True
            call = Call(priority, next(self._arrivals), frame["id"], frame["op"], frame["payload"])
            heapq.heappush(self._heap, call)
            self._changed.notify()

    def drop(self, call_id: int) -> None:
        """Nobody waits for this call any more; it is not begun, or not taken up again."""
        with self._changed:
            if call_id in self._open:
                self._open[call_id] = False

    def stop(self) -> None:
        """Let the main thread leave after its current step."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def take(self) -> Call | None:
        """The call that goes first, waiting for one; None when the process should end."""
        while True:
            with self._changed:
                while not self._heap and not self._stopping:
                    self._changed.wait()
                if self._stopping:
                    return None
                call = heapq.heappop(self._heap)
                if self._open[call.id]:
                    return call
                del self._open[call.id]
            if call.steps is not None:
                call.steps.close()

    def put_back(self, call: Call) -> None:
        """Keep a call with more steps to go at the place its arrival gave it."""
        with self._changed:
            heapq.heappush(self._heap, call)

    def finish(self, call: Call) -> None:
        """Forget a call that has been answered."""
        with self._changed:
            del self._open[call.id]


class Channel:
    """The child's end of the socket pair."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._stream = self._socket.makefile("rb")

    def read(self) -> wire.Frame | None:
        """The next frame; None when the parent is gone."""
        header = self._stream.read(wire.HEADER.size)
        if len(header) < wire.HEADER.size:
            return None
        length = wire.length_of(header)
        body = self._stream.read(length)
        return wire.unpack(body) if len(body) == length else None

    def send(self, frame: bytes) -> None:
        """Send a packed frame; only the main thread does."""
        self._socket.sendall(frame)


def read_calls(channel: Channel, queue: Queue) -> None:
    """Fill the queue until the parent is gone, then end the process on the spot.

    Whatever step is running is not waited for: it may be the one that hangs.
    """
    try:
        while (frame := channel.read()) is not None:
            if "drop" in frame:
                queue.drop(frame["drop"])
            elif "stop" in frame:
                queue.stop()
            else:
                queue.add(frame)
    finally:
        os._exit(0)


def work(worker: object, channel: Channel, queue: Queue) -> None:
    """Answer calls until the parent says stop."""
    while (call := queue.take()) is not None:
        try:
            done, result = _step(worker, call)
            answer = wire.pack({"id": call.id, "result": result}) if done else None
        except Exception as error:  # noqa: BLE001 - whatever a library raises, the other calls go on
            _log_failure(call.op, error)
            channel.send(wire.pack({"id": call.id, "error": wire.word_of(error)}))
            if isinstance(error, getattr(worker, "fatal", ())):
                os._exit(1)
            queue.finish(call)
            continue
        if answer is None:
            queue.put_back(call)
        else:
            queue.finish(call)
            channel.send(answer)


def _step(worker: object, call: Call) -> tuple[bool, Any]:
    """Do the next part of a call: whether that was the last, and if so the result."""
    if call.op == wire.PING:
        return True, None
    if call.steps is None:
        result = _operation(worker, call.op)(**call.payload)
        if not isinstance(result, Generator):
            return True, result
        call.steps = result
    try:
        next(call.steps)
    except StopIteration as end:
        return True, end.value
    return False, None


def _operation(worker: object, op: str) -> Callable[..., Any]:
    if op.startswith("_"):
        raise AttributeError(op)
    operation: Callable[..., Any] = getattr(worker, op)
    return operation


def _log_failure(what: str, error: BaseException) -> None:
    """Say where it failed and with which class of error; its text may hold a user's words."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "seedbed_server" in frame.filename and frame.filename != __file__] or frames
    place = f"{os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else "?"  # noqa: PTH119 - a name, not a file
    log.error("%s failed: %s at %s", what, type(error).__name__, place)


def _die_with_parent() -> None:
    """Have the kernel end this process with its parent, even if a library holds the interpreter.

    The reader thread sees the closed socket on every system; this is for Linux,
    and for the case that no Python code can run any more.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _keep_signals_to_parent() -> None:
    """A Ctrl-C or a service manager signals the whole group; the parent decides when a child ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _silence() -> None:
    """Point standard output and error at nothing, and log fixed lines to what was standard error."""
    stream = os.fdopen(os.dup(2), "w", buffering=1)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    ours = logging.getLogger("seedbed_server")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    ours.propagate = False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _build(target: str, settings: Mapping[str, Any]) -> object:
    module, _, factory = target.partition(":")
    return getattr(import_module(module), factory)(settings)


def main(target: str, descriptor: int) -> int:
    """Build the worker and serve it; the exit code is 1 when it could not be built."""
    _die_with_parent()
    _keep_signals_to_parent()
    _silence()
    channel, queue = Channel(descriptor), Queue()
    first = channel.read()
    if first is None:
        return 0
    os.nice(first["niceness"])
    threading.Thread(target=read_calls, args=(channel, queue), name="reader", daemon=True).start()
    try:
        worker = _build(target, first["settings"])
        description = worker.describe() if hasattr(worker, "describe") else {}
    except Exception as error:  # noqa: BLE001 - the parent decides what to do about any of them
        _log_failure("start", error)
        channel.send(wire.pack({"failed": type(error).__name__}))
        return 1
    channel.send(wire.pack({"ready": description}))
    work(worker, channel, queue)
    if hasattr(worker, "close"):
        worker.close()
    return 0


if __name__ == "__main__":
    status = 1
    try:
        status = main(sys.argv[1], int(sys.argv[2]))
    finally:
        os._exit(status)  # not sys.exit: libraries may hang while the interpreter takes itself down
