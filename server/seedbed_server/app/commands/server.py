"""Run a server, and ask how it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seedbed_server.app import settings as configuration
from seedbed_server.app.codes import USAGE
from seedbed_server.app.screen import counted, err, fail, out, say
from seedbed_server.app.target import Target, calling

app = typer.Typer()


@app.command()
def serve(
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.")] = None,
    listen: Annotated[str | None, typer.Option(help="Address and port; port 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The directory that holds everything stored.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as NAME=VALUE; repeatable.")
    ] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the settings, secrets hidden.")] = False,
    ready_fd: Annotated[int | None, typer.Option(help="Write the address to this file descriptor when ready.")] = None,
) -> None:
    """Run the server until SIGTERM or Ctrl-C."""
    from seedbed_server.app.serve import run

    flags: dict[str, Any] = dict(_pair(one) for one in setting or [])
    # A flag of its own goes before --set of the same name.
    flags |= {name: value for name, value in (("listen", listen), ("data_dir", data_dir)) if value is not None}
    settings = configuration.load(config, flags)
    if print_config:
        for name, value in settings.shown().items():
            say(f"{name} = {value}")
        return
    raise typer.Exit(run(settings, ready_fd, err))


def _pair(one: str) -> tuple[str, str]:
    name, equals, value = one.partition("=")
    if not equals:
        fail(USAGE, f"--set {name}", " is not NAME=VALUE")
    return name, value


@app.command()
@calling
def demo(
    target: Target,
) -> None:
    """Replay a bundled conversation, and show the seed of each variant for a few questions."""
    from seedbed_server.app.demo import MEMORY, MemoryTakenError, run

    try:
        with target.client() as client:
            run(client, out)
    except MemoryTakenError:
        fail(
            USAGE,
            f'The memory "{MEMORY}"',
            " was not made by a demonstration, which would replace it. Delete it first, or name another --namespace.",
        )


@app.command()
@calling
def status(
    target: Target,
    memory: Annotated[str, typer.Argument(help="Also how far its derived stores are.")] = "",
) -> None:
    """Print what the server runs."""
    with target.client() as client:
        found = client.status(memory)
        say(f"seedbed {found.version}")
        for part in found.parts:
            say(f"  {part.part:<10} {part.state:<9} {part.restarts} restarts  {part.detail}")
        for projection in found.projections:
            skipped = f", {projection.skipped} skipped" if projection.skipped else ""
            waiting = f", waiting for {projection.waiting_for}" if projection.waiting_for else ""
            say(f"  {projection.projection:<10} {projection.applied_seq} of {found.last_seq}{skipped}{waiting}")


@app.command()
@calling
def reembed(
    target: Target,
    model: Annotated[str, typer.Argument(help="An encoder, as named by ``seedbed models list``.")],
    give_up: Annotated[bool, typer.Option("--give-up", help="Give the change to this model up.")] = False,
) -> None:
    """Change the server's embedding model while it serves; ``seedbed status`` tells how far it is."""
    with target.client() as client:
        messages = client.reembed(model, give_up=give_up)
        say("given up" if give_up else f"{counted(messages, 'message')} to embed")
