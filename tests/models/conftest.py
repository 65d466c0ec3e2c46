"""The real model, loaded once for all tests of this room that read texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from seedbed_server.models.contract import Extraction, Turn
from seedbed_server.models.tagger_worker import TaggerWorker, create

Read = Callable[..., Extraction]


def models_dir() -> Path:
    """Where the weights lie: SEEDBED_MODELS_DIR, or the folder of the repository."""
    default = Path(__file__).parents[2] / "models" / "weights"
    return Path(os.environ.get("SEEDBED_MODELS_DIR", default))


def finish(worker: TaggerWorker, turns: Sequence[Any]) -> list[dict[str, Any] | None]:
    """Runs the generator to its end, as the child's loop does, and returns its reply."""
    reading = worker.extract(turns)
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            reply: list[dict[str, Any] | None] = stop.value
            return reply


@pytest.fixture(scope="session")
def worker() -> TaggerWorker:
    return create({"model_dir": str(models_dir() / "en_core_web_md")})


@pytest.fixture(scope="session")
def read(worker: TaggerWorker) -> Read:
    """Reads one message, said by Maya to Sam."""

    def read_one(text: str, speaker: str = "Maya", listener: str = "Sam", time: datetime | None = None) -> Extraction:
        (wire,) = finish(worker, [Turn(text, speaker, listener, time).to_wire()])
        assert wire is not None
        return Extraction.from_wire(wire)

    return read_one
