"""Nothing connects outward: not the server, not its children, through a whole life of a memory.

Two watchers: an audit hook in every process, which sees each address that Python
code connects to, sends to or looks up; and the operating system's own table of
sockets, which also shows those of native libraries.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil

from seedbed import Hybrid, KnowledgeGraph, Message, Summary, SummaryBuffer, Vector, Window
from tests.serving import Serving, calls_file, hooked, undegraded

# Addresses as the hook notes them: a path, a tuple, the bytes or the text of a host.
_LOCAL = re.compile(r"""\(?['"]?b?['"]?(/|127\.|::1|localhost|\(?'127\.)|b?''|None""")


def _host(address: Any) -> str:
    """The host of a socket's end, "" for none; IPv4 written as IPv6 is still IPv4."""
    return address.ip.removeprefix("::ffff:") if address else ""


@contextmanager
def sockets_of(served: Serving) -> Iterator[set[tuple[str, str, str]]]:
    """Look again and again at the sockets of all processes: (status, local, remote address)."""
    seen: set[tuple[str, str, str]] = set()
    done = threading.Event()

    processes = served.processes  # none is replaced while it goes well

    def look() -> None:
        while not done.wait(0.05):
            for process in processes:
                try:
                    found = process.net_connections("inet")
                except psutil.Error:
                    continue
                seen.update((c.status, _host(c.laddr), _host(c.raddr)) for c in found)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def test_no_process_connects_outward(ready: Serving) -> None:
    """Write, recall, every heavy variant, erasure: no address beyond this machine, in any process."""
    memory = ready.client.memory("outbound", Summary(threshold=2), system="Be kind.")
    with sockets_of(ready) as seen:
        for n in range(12):
            memory.write(
                [Message.user(f"Maya met Tom Hale in Porto on day {n}. See https://example.org/{n}", name="Maya")]
            )
        ready.applied("outbound")
        assert memory.recall("Who met Tom Hale?").hits
        hybrid = Hybrid(Window(2), Vector(), KnowledgeGraph(), Summary(threshold=2))
        for variant in (hybrid, SummaryBuffer(150), Summary(threshold=2)):
            seed = partial(memory.seed, "Where is Maya?", variant=variant)
            assert undegraded(seed).entries
        assert memory.clear() == 12
    # The watcher saw the server itself: it listens, on loopback, and holds our connection.
    assert {("LISTEN", "127.0.0.1", ""), ("ESTABLISHED", "127.0.0.1", "127.0.0.1")} <= seen
    assert [peer for _, _, peer in seen if peer and not ip_address(peer).is_loopback] == []
    assert [host for status, host, _ in seen if status == "LISTEN" and not ip_address(host).is_loopback] == []
    assert [call for call in ready.calls if not _LOCAL.match(call[1])] == []


def test_the_hook_sees_each_process(ready: Serving) -> None:
    """It runs in the server and in each child: their environment says so, and nothing in it was replaced."""
    for process in ready.processes:
        environment = process.environ()
        assert environment["SEEDBED_TEST_CALLS"] == str(calls_file(ready.folder))
        assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(ready.folder)


def test_the_hook_would_tell(tmp_path: Path) -> None:
    """A datagram socket that is connected to a distant address sends nothing, and is noted; so is a look-up."""
    script = (
        "import socket\n"
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))\n"
        "try: socket.getaddrinfo('example.invalid\\0', 9)\n"
        "except (OSError, ValueError): pass\n"
    )
    environment = {**os.environ, **hooked(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    noted = [line.split("\t", 2)[1:] for line in calls_file(tmp_path).read_text().splitlines()]
    assert noted[0] == ["socket.connect", "('192.0.2.1', 9)"]
    assert not any(_LOCAL.match(target) for _, target in noted)


def test_loopback_is_told_from_the_rest() -> None:
    """The pattern that the test rests on."""
    assert all(
        _LOCAL.match(a) for a in ("('127.0.0.1', 7700)", "'127.0.0.1'", "b'localhost'", "'/run/x'", "('::1', 1, 0, 0)")
    )
    assert not any(
        _LOCAL.match(a) for a in ("('192.0.2.1', 9)", "'example.org'", "b'example.org'", "('2001:db8::1', 1, 0, 0)")
    )
