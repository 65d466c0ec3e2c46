"""The server for users' tests: started as a process, found by its ready line, stopped for sure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seedbed import testing
from seedbed.client import Client
from seedbed.errors import UnavailableError
from seedbed.messages import Message
from seedbed.variants import Window

COMMAND = (sys.executable, str(Path(__file__).with_name("scripted.py")))


def test_a_server_is_up_inside_the_block_and_gone_after_it() -> None:
    """The address can be called at once; afterwards nobody listens there."""
    with testing.server(command=COMMAND) as address, Client(address) as client:
        assert client.memory("maya", Window()).write([Message.user("Hi")]).last_seq == 1
    with Client(address, timeout=60.0) as client, pytest.raises(UnavailableError):
        client.create_memory("maya")


def test_a_server_that_ends_is_reported_with_its_output() -> None:
    """The user sees why, not a time-out."""
    with (
        pytest.raises(testing.ServerNotStartedError, match=r"exit code 3; its last output:\nno such luck"),
        testing.server("--fate", "end", command=COMMAND),
    ):
        pass


def test_a_server_that_stays_silent_is_given_up() -> None:
    """Patience ends at the time given."""
    with (
        pytest.raises(testing.ServerNotStartedError, match="no address in time"),
        testing.server("--fate", "silent", command=COMMAND, timeout=1.5),
    ):
        pass


def test_a_missing_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without seedbed-server installed, the error says what to install."""
    monkeypatch.setitem(sys.modules, "seedbed_server", None)
    monkeypatch.delitem(sys.modules, "seedbed_server")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    with pytest.raises(testing.ServerNotInstalledError, match="pip install seedbed-server"), testing.server():
        pass
