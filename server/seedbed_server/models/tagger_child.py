"""The start of the tagger's child process: files are verified, then spaCy, and what it runs on, without torch.

Where torch is installed, spaCy's numerical library imports it and then only asks
whether it is there. That would take as long as loading the encoder, and a hundred
megabytes and more. A module that is None in ``sys.modules`` cannot be imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedbed_server.models import weights
from seedbed_server.models.manifest import by_role

if TYPE_CHECKING:
    from seedbed_server.models.tagger_worker import TaggerWorker


def create(settings: Mapping[str, Any]) -> TaggerWorker:
    """Verify the files and load the pipeline; WeightsError when it must not be."""
    root, model = Path(settings["models_dir"]), by_role("tagger")
    weights.require(root, [model])
    sys.modules["torch"] = None  # type: ignore[assignment]

    from seedbed_server.models import tagger_worker

    return tagger_worker.create({"model_dir": str((root / model.name).resolve())})
