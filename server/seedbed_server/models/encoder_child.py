"""The start of the encoder's child process: files are verified before any library reads one.

Apart from the worker, so that altered files are found in a moment, and not after
the seconds that importing torch takes. sentence-transformers imports scikit-learn
too, for one distance that no encoding needs: two seconds of processor and 40 MB,
which this process does without.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from seedbed_server.models import weights
from seedbed_server.models.chunking import Chunking
from seedbed_server.models.folder import refuse_code
from seedbed_server.models.manifest import known

if TYPE_CHECKING:
    from seedbed_server.models.encoder_worker import EncoderWorker


def create(settings: Mapping[str, Any]) -> EncoderWorker:
    """Verify the files and load the model; WeightsError or UnsafeModelError when it must not be."""
    root = Path(settings["models_dir"])
    model = next(model for model in known(root) if model.name == settings["model"])
    weights.require(root, [model])
    refuse_code(root / model.name)
    _stand_in("sklearn")
    _stand_in("sklearn.metrics", pairwise_distances=None)

    from seedbed_server.models.encoder_worker import EncoderWorker

    return EncoderWorker((root / model.name).resolve(), Chunking(window=model.max_tokens), settings["threads"])


def _stand_in(name: str, **attributes: None) -> None:
    """A module that can be imported, with attributes that nothing calls."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, loader=None)
    vars(module).update(attributes)
    sys.modules[name] = module
