"""A server of our own, started and measured from outside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from seedbed import Client
from seedbed.errors import UnavailableError

PATIENCE = 300.0
"""Seconds in which a server has to be ready."""

_PAUSE = 0.05  # asking costs the server a few milliseconds each time
_STOP = 60.0
_MIB = 1024 * 1024
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs; ``started`` is when its process was begun, by time.perf_counter."""

    address: str
    process: psutil.Process
    started: float

    def rss(self) -> float:
        """Resident memory of the gRPC process, in MiB."""
        return float(self.process.memory_info().rss / _MIB)

    def rss_of_children(self) -> float:
        """Resident memory of the model and vector processes together, in MiB."""
        return sum(child.memory_info().rss for child in self.process.children()) / _MIB

    def child(self, of: str) -> psutil.Process:
        """The process whose worker comes from a module of this name, such as ``chroma_worker``."""
        return next(child for child in self.process.children() if any(of in word for word in child.cmdline()))


def free_address() -> str:
    """An address on the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def server(
    data_dir: Path, address: str = "", *, module: str = "seedbed_server", settings: Mapping[str, object] | None = None
) -> Iterator[Served]:
    """Start a server, and stop it at the end; it may not take calls yet when this yields.

    ``module`` is run as ``python -m`` does; it may be one of these benchmarks.
    """
    address = address or free_address()
    command = [sys.executable, "-m", module, "serve", "--listen", address, "--data-dir", str(data_dir)]
    for name, value in (settings or {}).items():
        command += ["--set", f"{name}={value}"]
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(_ROOT))))
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "output.txt").open("ab") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"PYTHONPATH": path}
        )
    try:
        yield Served(address, psutil.Process(process.pid), started)
    finally:
        process.terminate()
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_ready(client: Client) -> None:
    """Return once the server takes calls and every part of it is ready."""
    give_up = time.monotonic() + PATIENCE
    while not _is_ready(client):
        if time.monotonic() > give_up:
            raise TimeoutError
        time.sleep(_PAUSE)


def _is_ready(client: Client) -> bool:
    try:
        return all(part.state == "ready" for part in client.status().parts)
    except UnavailableError:  # does not listen yet
        return False


def wait_applied(client: Client, memory: str, names: tuple[str, ...] = (), patience: float = 3600.0) -> None:
    """Return once these derived stores (none means all) have applied the memory's newest message."""
    give_up = time.monotonic() + patience
    while True:
        status = client.status(memory)
        behind = [p for p in status.projections if p.applied_seq < status.last_seq]
        if not [p for p in behind if not names or p.projection in names]:
            return
        if time.monotonic() > give_up:
            raise TimeoutError
        time.sleep(_PAUSE)
