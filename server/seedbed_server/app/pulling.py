"""``seedbed models pull``, with bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from seedbed_server.app.codes import MODELS
from seedbed_server.models.manifest import Model
from seedbed_server.models.weights import WeightsError, pull


def pull_with_progress(root: Path, console: Console, wanted: Sequence[Model] | None = None) -> int:
    """Fetch what is missing of these models, and verify it; returns the exit code. None is as for ``pull``."""
    bars: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:

        def report(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = progress.add_task(name, total=total)
            progress.update(bars[name], completed=done)

        try:
            fetched = pull(root, report, wanted)
        except WeightsError as error:
            console.print(str(error), highlight=False, markup=False)
            return MODELS
    verified = fetched or [model.name for model in wanted or ()] or ["all"]
    console.print(f"models: {', '.join(verified)} verified by sha256", highlight=False)
    return 0
