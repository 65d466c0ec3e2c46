"""A real Seedbed server for the tests of those who build on it.

    with seedbed.testing.server() as address, Client(address) as client:
        ...

The server is a process of its own, listens on a free loopback port, keeps its
data in a folder that goes when it ends, and is the one that `seedbed-server`
installs: what passes here passes in production. POSIX only.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

# After SIGTERM: the server drains its calls within 10 s, and is killed after that.
STOP_TIMEOUT = 15.0


class ServerNotInstalledError(RuntimeError):
    """There is no ``seedbed-server`` in this Python environment."""


class ServerNotStartedError(RuntimeError):
    """The server ended, or stayed silent, before it took writes; the message ends with what it printed."""


@contextmanager
def server(
    *arguments: str, data_dir: Path | None = None, timeout: float = 60.0, command: Sequence[str] | None = None
) -> Iterator[str]:
    """Run a server and yield its address, such as "127.0.0.1:40123", once it takes writes.

    ``arguments`` are appended to ``seedbed serve``. ``data_dir`` keeps the data
    after the end; ``timeout`` is the patience in seconds. ``command`` is how the
    server is started, by default with this Python. Raises
    `ServerNotInstalledError` and `ServerNotStartedError`.
    """
    if command is None and find_spec("seedbed_server") is None:
        raise ServerNotInstalledError("seedbed.testing.server needs the server: pip install seedbed-server")
    start = command or (sys.executable, "-m", "seedbed_server")
    with TemporaryDirectory(prefix="seedbed-test-") as scratch:
        folder = data_dir or Path(scratch, "data")
        log = Path(scratch, "output")
        listen = ("serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder))
        process, ready = _start([*start, *listen, *arguments], log)
        try:
            yield _address(process, ready, time.monotonic() + timeout, log)
        finally:
            os.close(ready)
            _stop(process)


def _start(command: Sequence[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The started process, and the end of a pipe on which it will say its address."""
    ready, told = os.pipe()
    try:
        with log.open("wb") as output:
            full = [*command, "--ready-fd", str(told)]
            process = subprocess.Popen(full, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=(told,))  # noqa: S603
    except OSError:
        os.close(ready)
        raise
    finally:
        os.close(told)
    return process, ready


def _address(process: subprocess.Popen[bytes], ready: int, deadline: float, log: Path) -> str:
    """The line that the server writes when it takes writes."""
    said = b""
    while not said.endswith(b"\n"):
        patience = max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([ready], [], [], patience)
        chunk = os.read(ready, 256) if readable else b""
        if not chunk:
            raise ServerNotStartedError(_why(process, log, silent=not readable))
        said += chunk
    return said.decode("ascii").strip()


def _why(process: subprocess.Popen[bytes], log: Path, *, silent: bool) -> str:
    if not silent:
        # The pipe is closed: the process has ended, or is about to.
        with suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
    ended = "gave no address in time" if process.returncode is None else f"ended with exit code {process.returncode}"
    return f"the server {ended}; its last output:\n{log.read_text(errors='replace')[-4_000:]}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
