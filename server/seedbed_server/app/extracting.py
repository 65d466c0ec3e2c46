"""``seedbed extract``: a file of messages in, what each names and says out, without a server.

The messages of a file are one conversation, in order, and are read by the code
that the server runs. All lines are checked before the first is read by a model,
and the result takes its place complete or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from seedbed import Message
from seedbed_server.app.files import writing
from seedbed_server.app.transfer import read_messages
from seedbed_server.models.contract import Extraction
from seedbed_server.models.tagger_child import create
from seedbed_server.projections.rows import turns

CHUNK = 512
"""Messages between two steps of the bar."""


def extract_file(models_dir: Path, source: Path, out: Path, console: Console) -> int:
    """Write one line to ``out`` (``-`` is standard output) for each message of ``source``; returns how many.

    Raises BadFileError, FileError, and WeightsError if the models are not there.
    """
    messages = list(read_messages(source))
    with writing(out) as stream:
        stream.writelines(_lines(models_dir, messages, console))
    return len(messages)


def _lines(models_dir: Path, messages: Sequence[Message], console: Console) -> Iterator[str]:
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    worker = create({"models_dir": str(models_dir)})
    every = list(turns(messages))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("messages", total=len(every))
        for start in range(0, len(every), CHUNK):
            chunk = every[start : start + CHUNK]
            for wire in _finish(worker.extract([turn.to_wire() for turn in chunk])):
                yield json.dumps(_row(wire), ensure_ascii=False) + "\n"
            progress.advance(bar, len(chunk))


def _finish(reading: Any) -> list[dict[str, Any] | None]:
    """Run a worker's generator to its end; its value is the reply."""
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            reply: list[dict[str, Any] | None] = stop.value
            return reply


def _row(wire: dict[str, Any] | None) -> dict[str, Any]:
    """What one message names and says; nothing, if it could not be read."""
    found = Extraction.from_wire(wire) if wire is not None else Extraction((), ())
    return {
        "entities": [
            {"text": span.text, "type": span.type, "start": span.start, "end": span.end} for span in found.entities
        ],
        "triples": [
            {
                "subject": claim.subject,
                "predicate": claim.predicate,
                "object": claim.object,
                "negated": claim.negated,
                "modality": claim.modality,
                "valid_from": claim.valid_from.isoformat() if claim.valid_from else None,
                "valid_to": claim.valid_to.isoformat() if claim.valid_to else None,
            }
            for claim in found.claims
        ],
    }
