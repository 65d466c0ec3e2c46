"""The parent's side of a child process: spawn it, call it, watch it, replace it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any, Literal

from seedbed_server.errors import PartUnavailableError
from seedbed_server.processes import wire
from seedbed_server.processes.wire import Priority

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "down"]

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
"""Seconds before a child that ended is replaced: doubled each time, up to the longest."""

STEADY = 60.0
"""Seconds of service after which an end counts as the first again."""

LAST_BREATH = 1.0
"""Seconds in which a child that has closed its socket, or was killed, has to be gone."""

STOP_GRACE = 10.0
"""Seconds that an orderly end may take before the child is killed."""


def child_environment(threads: int) -> dict[str, str]:
    """The environment of a child: this process's own, with every way outward closed.

    It has to stand before the libraries are imported; they read it once. Thread
    counts too: over all processes they must not exceed the cores.
    """
    offline = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "TOKENIZERS_PARALLELISM": "false",
    }
    pools = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    return {**os.environ, **offline, **pools}


class Child:
    """A process that runs the worker ``target`` names, and is replaced when it ends.

    ``target`` is ``"package.module:factory"`` and ``settings`` what the factory is
    given. The process is spawned, never forked: the libraries in it hang after a fork.
    ``niceness`` is how far it gives way to the process that answers calls, where
    they compete for processors.

    ``state``, ``restarts`` and ``detail`` (a fixed sentence) say how it stands;
    ``info`` is what the worker said of itself when it was last ready.
    """

    def __init__(
        self,
        name: str,
        target: str,
        settings: Mapping[str, Any],
        *,
        boot_timeout: float = 300.0,
        stall_timeout: float = 60.0,
        threads: int = 1,
        niceness: int = 0,
    ) -> None:
        self.name = name
        self.state: State = "down"
        self.restarts = 0
        self.detail = "not started"
        self.info: Mapping[str, Any] = {}
        self._target = target
        self._settings = dict(settings)
        self._boot_timeout = boot_timeout
        self._stall_timeout = stall_timeout
        self._threads = threads
        self._niceness = niceness
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._ready = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._heard = 0.0
        self._keeper: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process that runs now."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Begin to keep a child running; does not wait until it is ready."""
        if self._keeper is None:
            self.state, self.detail = "starting", "starting"
            self._keeper = asyncio.create_task(self._keep(), name=f"child {self.name}")

    async def stop(self) -> None:
        """End the child: in order if it does so within STOP_GRACE seconds, else killed."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        if self._ready.is_set() and self._process is not None:
            with contextlib.suppress(OSError, TimeoutError):
                self._send({"stop": True})
                await asyncio.wait_for(self._process.wait(), STOP_GRACE)
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
        self.state, self.detail = "down", "stopped"

    async def wait_ready(self, timeout: float) -> None:  # noqa: ASYNC109 - part of the error it raises
        """Return when the child is ready; PartUnavailableError when it is not after ``timeout`` seconds."""
        try:
            await asyncio.wait_for(self._ready.wait(), timeout)
        except TimeoutError:
            raise PartUnavailableError(self.name) from None

    async def call(
        self,
        op: str,
        payload: Mapping[str, Any],
        *,
        priority: Priority = Priority.BULK,
        timeout: float,  # noqa: ASYNC109 - more than a deadline: it decides about the child
    ) -> Any:
        """Have the worker do ``op(**payload)`` and return its result; arrays in it are read-only.

        PartUnavailableError is raised at once when the child is not ready, and
        when it ends, fails or takes longer than ``timeout`` seconds. A failure
        with a name of its own, such as StorageFullError, is raised as that.
        Whether the work was done is then unknown: calls are idempotent.

        A child that answers nothing at all for ``timeout`` seconds is taken as
        hanging and replaced; one that is only busy keeps its other calls. Cancel
        the call for any shorter deadline: that costs the child nothing.
        """
        if not self._ready.is_set() or self._writer is None:
            raise PartUnavailableError(self.name)
        call_id = next(self._ids)
        sent = asyncio.get_running_loop().time()
        reply = self._pending[call_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                self._send({"id": call_id, "op": op, "priority": int(priority), "payload": payload})
                await self._writer.drain()
                return await reply
        except TimeoutError:
            if self._heard <= sent:
                self._kill("a call was not answered")
            raise PartUnavailableError(self.name) from None
        except OSError:
            raise PartUnavailableError(self.name) from None
        finally:
            del self._pending[call_id]
            if reply.cancelled() or not reply.done():
                self._drop(call_id)

    def _send(self, frame: Mapping[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(wire.pack(frame))

    def _drop(self, call_id: int) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._send({"drop": call_id})

    def _kill(self, why: str) -> None:
        if self._process is not None and self._process.returncode is None:
            log.warning("child %s killed: %s", self.name, why)
            self.detail = why
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _keep(self) -> None:
        """Run one child after another; the wait between two grows while they do not last."""
        loop = asyncio.get_running_loop()
        delay = FIRST_DELAY
        while self._keeper is not None:
            began = loop.time()
            try:
                await self._run()
            finally:
                await self._bury()
            if self._keeper is None:
                return
            if loop.time() - began > STEADY:
                delay = FIRST_DELAY
            self.restarts += 1
            log.warning("child %s ended: %s; replaced in %.1f s", self.name, self.detail, delay)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)
            self.state, self.detail = "starting", "starting"

    async def _run(self) -> None:
        """Spawn a child and serve it until it ends; ``detail`` says why it did."""
        watch: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(self._boot_timeout):
                reader = await self._spawn()
                self._send({"settings": self._settings, "niceness": self._niceness})
                if not self._accept(await _read(reader)):
                    return
            watch = asyncio.create_task(self._watch(), name=f"watch {self.name}")
            while True:
                self._answer(await _read(reader))
        except TimeoutError:
            self.detail = "took too long to start"
        except (asyncio.IncompleteReadError, OSError, ValueError):
            if self.detail in {"starting", "ready"}:  # else it was killed, and that says why
                self.detail = "ended by itself"
        finally:
            if watch is not None:
                watch.cancel()

    async def _spawn(self) -> asyncio.StreamReader:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # what lies in the working directory is not imported
                "-m",
                "seedbed_server.processes.child",
                self._target,
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                env=child_environment(self._threads),
            )
        reader, self._writer = await asyncio.open_connection(sock=ours)
        return reader

    def _accept(self, frame: wire.Frame) -> bool:
        """Take the first frame of a child: whether its worker is ready."""
        if "failed" in frame:
            self.detail = f"could not start: {frame['failed']}"
            return False
        self.info = frame["ready"]
        self.state, self.detail = "ready", "ready"
        self._ready.set()
        return True

    def _answer(self, frame: wire.Frame) -> None:
        """Hand a reply to the call that waits for it; one that nobody waits for is ignored."""
        self._heard = asyncio.get_running_loop().time()
        reply = self._pending.get(frame["id"])
        if reply is None or reply.done():
            return
        if "error" in frame:
            reply.set_exception(wire.error_of(frame["error"]) or PartUnavailableError(self.name))
        else:
            reply.set_result(frame["result"])

    async def _watch(self) -> None:
        """Ping the child; kill it when it has not answered for ``stall_timeout`` seconds."""
        while True:
            await asyncio.sleep(self._stall_timeout / 6)
            with contextlib.suppress(PartUnavailableError):
                await self.call(wire.PING, {}, priority=Priority.URGENT, timeout=self._stall_timeout)

    async def _bury(self) -> None:
        """See that the child is dead and that nobody waits for it; two never run at once."""
        self.state = "down"
        self._ready.clear()
        process, self._process = self._process, None
        writer, self._writer = self._writer, None
        if process is not None:
            try:  # what has ended is not killed: that would take its exit code from asyncio, which says so in the log
                await asyncio.wait_for(process.wait(), LAST_BREATH)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if writer is not None:
            writer.close()
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(PartUnavailableError(self.name))


async def _read(reader: asyncio.StreamReader) -> wire.Frame:
    length = wire.length_of(await reader.readexactly(wire.HEADER.size))
    return wire.unpack(await reader.readexactly(length))
