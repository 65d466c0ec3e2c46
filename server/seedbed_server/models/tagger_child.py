"""The start of the tagger's child process: spaCy, and what it runs on, without torch.

Where torch is installed, spaCy's numerical library imports it and then only asks
whether it is there. That would take as long as loading the encoder, and a hundred
megabytes and more. A module that is None in ``sys.modules`` cannot be imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seedbed_server.models.tagger_worker import TaggerWorker


def create(settings: Mapping[str, Any]) -> TaggerWorker:
    """Load the pipeline, as :func:`seedbed_server.models.tagger_worker.create` does."""
    sys.modules["torch"] = None  # type: ignore[assignment]

    from seedbed_server.models import tagger_worker

    return tagger_worker.create(settings)
