"""Where a command finds the server, and how it speaks to it: the options that every such command has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from seedbed_server.app.codes import CALL, USAGE

if TYPE_CHECKING:  # `seedbed serve` calls nobody, and starts sooner without the client
    from seedbed import Client
    from seedbed.connection import Tls

err = Console(stderr=True, emoji=False)


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
        from seedbed.errors import SeedbedError, UnavailableError

        try:
            with Client(self.server, token=self.token, namespace=self.namespace, tls=self._tls()) as client:
                yield client
        except SeedbedError as error:
            err.print(f"[red]{type(error).__name__}[/red]: {error}")
            if isinstance(error, UnavailableError):
                err.print(f"Is a server running at {self.server}? `seedbed serve` starts one; no http:// is needed.")
            raise typer.Exit(CALL) from None
        except TimeoutError:
            err.print("[red]The derived stores did not catch up in time.[/red]")
            raise typer.Exit(CALL) from None

    def _tls(self) -> Tls | bool:
        from seedbed.connection import Tls

        if bool(self.cert) != bool(self.key):
            err.print("[red]--cert and --key[/red]: give both or neither")
            raise typer.Exit(USAGE)
        if not (self.ca or self.cert):
            return self.tls
        try:
            roots, certificate, key = (path.read_bytes() if path else None for path in (self.ca, self.cert, self.key))
        except OSError as error:
            err.print(f"[red]{error.filename}[/red] cannot be read: {error.strerror}")
            raise typer.Exit(USAGE) from None
        return Tls(roots, certificate, key)


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
