"""Files in and out of memories, and through the models without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedbed_server.app import settings as configuration
from seedbed_server.app.codes import MODELS, USAGE
from seedbed_server.app.screen import complain, counted, err, fail, note, say
from seedbed_server.app.target import Target, calling

app = typer.Typer()


@app.command("import")
@calling
def import_(
    target: Target,
    memory: str,
    file: Annotated[
        Path, typer.Argument(help="JSON Lines, a chat API's messages, or the conversations.json of ChatGPT or Claude.")
    ],
) -> None:
    """Import a conversation; repeating it stores nothing twice."""
    from seedbed_server.app.transfer import BadFileError, import_file

    with target.client() as client:
        try:
            done = import_file(client.memory(memory), file, err)
        except BadFileError as error:
            complain(str(file), f": {error}; nothing after that was read")
            note(error.hint)
            raise typer.Exit(USAGE) from None
    say(f"{done.imported} imported, {done.skipped} were there already")
    if done.decisions_imported or done.decisions_skipped:
        say(f"{done.decisions_imported} decisions, {done.decisions_skipped} passed over")


@app.command()
@calling
def export(
    target: Target,
    memory: str,
    file: Annotated[Path, typer.Argument(help="Where to; - is standard output.")] = Path("-"),
) -> None:
    """Export a memory's messages and decisions as JSON Lines, which ``import`` reads."""
    from seedbed_server.app.transfer import export_file

    with target.client() as client:
        export_file(client.memory(memory), file)


@app.command()
def extract(
    file: Annotated[
        Path, typer.Argument(help="JSON Lines of one conversation: role, content, and if known name, time.")
    ],
    to: Annotated[Path, typer.Option("--out", help="Where to; - is standard output.")] = Path("-"),
) -> None:
    """Read messages for the names and triples in them, as the server does; no server is needed."""
    from seedbed_server.app.extracting import extract_file
    from seedbed_server.app.transfer import BadFileError
    from seedbed_server.models.weights import WeightsError

    try:
        count = extract_file(configuration.models_dir(configuration.load()), file, to, err)
    except BadFileError as error:
        complain(str(file), f": {error}; nothing was written")
        note(error.hint)
        raise typer.Exit(USAGE) from None
    except WeightsError as error:
        fail(MODELS, "", str(error))
    note(counted(count, "message"))
