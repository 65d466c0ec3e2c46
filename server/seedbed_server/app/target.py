"""Where a command finds the server, and how it speaks to it: the options that every such command has."""

from __future__ import annotations

import functools
import inspect
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedbed_server.app.codes import CALL, USAGE
from seedbed_server.app.files import reading
from seedbed_server.app.screen import complain, fail, note

if TYPE_CHECKING:  # `seedbed serve` calls nobody, and starts sooner without the client
    from seedbed import Client
    from seedbed.connection import Tls
    from seedbed.errors import SeedbedError

_PROBE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Target:
    """A server, as the options of a command name it."""

    server: Annotated[str, typer.Option(envvar="SEEDBED_SERVER", help="Address of the server.")] = "localhost:7700"
    token: Annotated[str, typer.Option(envvar="SEEDBED_TOKEN", help="Access token.", show_default=False)] = field(
        default="", repr=False
    )
    namespace: Annotated[str, typer.Option(envvar="SEEDBED_NAMESPACE", help="Namespace.")] = ""
    tls: Annotated[bool, typer.Option("--tls", help="Speak TLS, and trust the system's authorities.")] = False
    ca: Annotated[Path | None, typer.Option(envvar="SEEDBED_CA", help="Speak TLS, and trust this (PEM).")] = None
    cert: Annotated[Path | None, typer.Option(envvar="SEEDBED_CERT", help="Own certificate (PEM).")] = None
    key: Annotated[Path | None, typer.Option(envvar="SEEDBED_KEY", help="Its key (PEM).")] = None

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client; an error of a call ends the command with one line."""
        from seedbed import Client
        from seedbed.errors import SeedbedError

        try:
            connected = Client(self.server, token=self.token, namespace=self.namespace, tls=self._tls())
        except ValueError as error:
            fail(USAGE, "The server cannot be called: ", str(error))
        try:
            with connected as client:
                yield client
        except SeedbedError as error:
            complain(type(error).__name__, f": {error}")
            if hint := self._hint(error):
                note(hint)
            raise typer.Exit(CALL) from None
        except TimeoutError:
            fail(CALL, "The derived stores did not catch up in time.", "")

    def _hint(self, error: SeedbedError) -> str:
        """What to do where no server has answered, or the token is wrong; else the server has said it."""
        if error.reason == "UNAUTHENTICATED":
            return "The server does not know this token." if self.token else "--token or SEEDBED_TOKEN gives one."
        if error.code != "UNAVAILABLE" or error.reason:
            return ""
        host, _, port = self.server.rpartition(":")
        try:  # gRPC does not say how far it came
            socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS).close()
        except (OSError, ValueError):
            return f"Is a server running at {self.server}? `seedbed serve` starts one; --server names another."
        return (
            f"Something listens at {self.server}, and is not understood. Does it speak TLS, and as it is spoken to? "
            "See --tls, --ca, --cert and --key."
        )

    def _tls(self) -> Tls | bool:
        from seedbed.connection import Tls

        if bool(self.cert) != bool(self.key):
            fail(USAGE, "--cert and --key", ": give both or neither")
        if not (self.ca or self.cert):
            return self.tls
        return Tls(*(_pem(path) for path in (self.ca, self.cert, self.key)))


def _pem(path: Path | None) -> bytes | None:
    if path is None:
        return None
    with reading(path):
        return path.read_bytes()


def calling(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a target; it gets them as its first argument."""
    _target, *own = inspect.signature(command, eval_str=True).parameters.values()
    options = inspect.signature(Target, eval_str=True).parameters.values()

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(Target(**{option.name: given.pop(option.name) for option in options}), **given)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options)]
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
