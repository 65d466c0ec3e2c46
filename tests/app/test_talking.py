"""What a command says when a server does not answer, or not like that."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import click.testing
import grpc
import pytest
from typer.testing import CliRunner

from seedbed import Client, Message
from seedbed_server.app.commands import app
from tests.client.scripted import Failure, Scripted


def told(*arguments: str, code: int = 5) -> str:
    """What a command that fails says on standard error."""
    result: Any = CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})
    ended = cast("click.testing.Result", result)
    assert ended.exit_code == code, ended.output
    assert isinstance(ended.exception, SystemExit)
    return " ".join(ended.stderr.split())


HINTS = ("Is a server running", "Something listens", "token")


@pytest.mark.parametrize("reason", ["STORAGE_FULL", "SHUTTING_DOWN"])
def test_a_server_that_has_answered_is_running(address: str, script: Scripted, reason: str) -> None:
    """So nobody is told to start one."""
    code = grpc.StatusCode.RESOURCE_EXHAUSTED if reason == "STORAGE_FULL" else grpc.StatusCode.UNAVAILABLE
    script.fail("Forget", Failure(code, reason))
    said = told("forget", "maya", "m", "--server", address)
    assert reason in said
    assert not any(hint in said for hint in HINTS)


def test_where_nobody_listens_a_server_is_to_be_started() -> None:
    """By its command; or the address is another."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    said = told("forget", "maya", "m", "--server", address)
    assert f"Is a server running at {address}? `seedbed serve` starts one" in said


def test_a_handshake_that_fails_is_no_missing_server(address: str) -> None:
    """TLS to a server without."""
    said = told("forget", "maya", "m", "--tls", "--server", address)
    assert f"Something listens at {address}" in said
    assert "Is a server running" not in said


def test_a_token_is_missing_or_not_known(address: str, script: Scripted) -> None:
    """One's own; no part of it is shown."""
    script.fail("Read", *[Failure(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")] * 2)
    assert "SEEDBED_TOKEN gives one" in told("read", "maya", "--server", address)
    said = told("read", "maya", "--server", address, "--token", "kanarienvogel")
    assert "The server does not know this token." in said
    assert "kanarienvogel" not in said


@pytest.mark.parametrize("server", ["http://localhost:7700", "localhost", "", "localhost:7700/x"])
def test_what_is_no_address_is_told(server: str) -> None:
    """With one that is."""
    assert 'such as "localhost:7700"' in told("read", "maya", "--server", server, code=2)


def test_a_token_that_no_header_can_carry_is_told() -> None:
    """Before a call."""
    assert "printable ASCII" in told("read", "maya", "--token", "tökén", code=2)


INTERRUPTING = """
import os, signal, sys
def interrupt(event, args):
    if event == "import" and args[0] == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
sys.argv = ["seedbed", "read", "maya"]
from seedbed_server.app.cli import main
main()
"""


@pytest.mark.parametrize(
    "name", ["typer", "rich.console", "seedbed_server.app.commands.models", "seedbed.calls", "grpc"]
)
def test_ctrl_c_ends_a_command_at_any_moment(name: str) -> None:
    """Also while it still imports: exit code 130, and no traceback."""
    code = INTERRUPTING.format(name=name)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "Traceback" not in ended.stderr


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    """As in the background of a script."""
    before = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code = before + INTERRUPTING.format(name="typer").replace("read", "version").replace(', "maya"', "")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_standard_input_of_any_bytes_is_written(address: str, script: Scripted) -> None:
    """What is no UTF-8 is shown as U+FFFD."""
    result: Any = CliRunner().invoke(app, ["write", "maya", "-", "--server", address], input=b"caf\xe9")
    assert result.exit_code == 0, result.output
    assert script.last("Write").request.messages[0].parts[0].text == "caf\ufffd"


@pytest.mark.parametrize(
    "command", [("version",), ("read", "maya"), ("export", "maya"), ("seed", "maya")], ids=" ".join
)
def test_an_output_that_is_full_is_told(address: str, command: tuple[str, ...]) -> None:
    """Whatever was to be printed; no traceback, also none at the end of the process."""
    with Client(address) as client:
        client.memory("maya").write([Message.user("Hi.")])
    program = (sys.executable, "-m", "seedbed_server", *command)
    environment = os.environ | {"SEEDBED_SERVER": address}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "standard output cannot be written: No space left on device\n"
