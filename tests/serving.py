"""A real server for tests: a process of its own, its children, and a record of whom they call.

Every process that is started here runs with an audit hook that writes down each
address that Python code connects to, sends to or looks up, and finds a package
with custom variants installed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from seedbed import Client, Message, Seed
from seedbed.results import Recall
from seedbed.testing import server
from seedbed_server.app.waiting import wait_applied

Answer = TypeVar("Answer", Seed, Recall)

PATIENCE = 100.0  # seconds; models take a while to load on a busy machine
PARTS = ("encoder", "tagger", "vectors")

# Runs first in every Python process that has its folder on the path.
_HOOK = """
import os, sys

_CALLS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
          "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}

def _note(event, args):
    if event in _CALLS:
        target = args[0] if event.startswith("socket.get") else args[1]
        line = f"{os.getpid()}\\t{event}\\t{target!r}\\n".encode(errors="replace")
        out = os.open(os.environ["SEEDBED_TEST_CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(out, line)
        os.close(out)

sys.addaudithook(_note)
"""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that takes calls. ``folder`` holds what the audit hook has noted."""

    address: str
    client: Client
    process: psutil.Process
    folder: Path

    @property
    def processes(self) -> list[psutil.Process]:
        """The server and its children that live now."""
        return [self.process, *self.process.children(recursive=True)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """What the audit hook has noted so far: event and address."""
        noted = calls_file(self.folder)
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [(event, target) for _, event, target in (line.split("\t", 2) for line in lines)]

    @property
    def parts(self) -> dict[str, psutil.Process]:
        """The process that runs each part, of those that have one now."""
        modules = {"encoder": "encoder", "tagger": "tagger", "vectors": "chroma"}
        lines = [(child, _cmdline(child)) for child in self.process.children()]
        return {
            part: child
            for part, module in modules.items()
            for child, line in lines
            if any(module in word for word in line)
        }

    def child(self, part: str) -> psutil.Process:
        """The process that runs a part."""
        return self.parts[part]

    def kill(self) -> None:
        """End the server as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def ready(self) -> None:
        """Wait until every part runs."""
        until(lambda: all(part.state == "ready" for part in self.client.status().parts))

    def applied(self, memory: str) -> None:
        """Wait until all that was written to a memory has reached every derived store."""
        wait_applied(self.client, memory, PATIENCE)


def calls_file(folder: Path) -> Path:
    """Where the audit hook notes what it sees."""
    return folder / "calls"


def hooked(folder: Path) -> dict[str, str]:
    """What the environment of a process needs for the audit hook and the custom variants of ``tests``."""
    (folder / "sitecustomize.py").write_text(_HOOK)
    _install_variants(folder)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "SEEDBED_TEST_CALLS": str(calls_file(folder))}


@contextmanager
def serving(folder: Path, models: Path, *arguments: str) -> Iterator[Serving]:
    """Run a server on ``folder``/data; its models may still be loading when it is yielded."""
    folder.mkdir(exist_ok=True)
    before = dict(os.environ)
    os.environ.update(hooked(folder), SEEDBED_MODELS_DIR=str(models))
    context = server(*arguments, data_dir=folder / "data", timeout=PATIENCE)
    try:
        address = context.__enter__()
    finally:
        os.environ.clear()
        os.environ.update(before)
    try:
        with Client(address, timeout=60.0) as client:
            yield Serving(address, client, _process(folder / "data"), folder)
    finally:
        context.__exit__(None, None, None)


def until(true: Callable[[], bool], patience: float = PATIENCE, why: Callable[[], object] = lambda: "") -> None:
    """Wait until something is true; ``why`` says how things stand where it never is."""
    give_up = time.monotonic() + patience
    while not true():
        assert time.monotonic() < give_up, f"it did not come true in time: {why()}"
        time.sleep(0.05)


def undegraded(ask: Callable[[], Answer]) -> Answer:
    """The first answer that is whole: on a busy machine a part may take longer than an answer waits."""
    answers: list[Answer] = []

    def asked() -> bool:
        answers.append(ask())
        return not answers[-1].degraded

    until(asked, why=lambda: (len(answers), answers[-1]))
    return answers[-1]


def said(text: str, name: str = "", role: str = "user", **fields: object) -> Message:
    """A message with a text."""
    return Message(role, (text,), name, **fields)  # type: ignore[arg-type]


def _process(data: Path) -> psutil.Process:
    children = psutil.Process().children()
    return next(p for p in children if str(data) in _cmdline(p))


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _install_variants(folder: Path) -> None:
    """What pip leaves of a package: its metadata, with entry points into ``tests.memories.variants``."""
    info = folder / "variants_of_tests-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: variants-of-tests\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[seedbed.variants]\n"
        "shout = variants_of_tests:Shout\n"
        "faulty = variants_of_tests:Faulty\n"
        "stuck = variants_of_tests:Stuck\n"
        "absent = variants_of_tests:NoSuchClass\n"
    )
    source = Path(__file__).parent / "memories" / "variants_of_tests.py"
    (folder / "variants_of_tests.py").write_text(source.read_text())
