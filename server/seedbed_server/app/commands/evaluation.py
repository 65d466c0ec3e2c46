"""Measure a running server on labelled data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from seedbed_server.app.codes import USAGE
from seedbed_server.app.screen import err, fail, say
from seedbed_server.app.target import Target, calling

app = typer.Typer()
eval_app = typer.Typer(no_args_is_help=True, help=__doc__)
app.add_typer(eval_app, name="eval")


@eval_app.command("recall")
@calling
def eval_recall(
    target: Target,
    dataset: Annotated[Path, typer.Argument(help="JSON Lines, gzipped or not, a conversation a line.")],
    rankings: Annotated[Path, typer.Option(help="Where the rankings go, as JSON Lines.")],
    max_tokens: Annotated[int, typer.Option(help="Budget of each seed.")] = 2000,
    limit: Annotated[int, typer.Option(help="Hits per question.")] = 50,
    unrelated: Annotated[Path | None, typer.Option(help="Questions that should find nothing, one a line.")] = None,
) -> None:
    """Write every conversation, ask every question, and keep what came back."""
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    from seedbed_server.app.evaluate import BadDatasetError, Options, evaluate

    started = time.perf_counter()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with target.client() as client, Progress(*columns, console=err) as progress:
            found = evaluate(client, Options(dataset, rankings, limit, max_tokens, unrelated), progress)
    except BadDatasetError as error:
        fail(USAGE, str(dataset), f": {error}")
    say(f"{found.answered} questions in {time.perf_counter() - started:.0f} s: {rankings}")
    if found.unrelated:
        say(f"{found.nothing} of {found.unrelated} unrelated questions found nothing")
