"""What a model folder may hold: data only.

The manifest's hashes already say which bytes are loaded. This stands behind them
for the day when somebody adds a model: no code, no pickles, no weights but
safetensors, and no reference that has a library import something.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CODE = frozenset({".py", ".pyc", ".so"})
_PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".h5", ".msgpack", ".npy", ".npz"})
_MODULES = frozenset(f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling", "Normalize"))


class UnsafeModelError(Exception):
    """A model folder holds what could run as code; the message is a fixed sentence."""


def refuse_code(folder: Path) -> None:
    """Raise UnsafeModelError unless the folder of an encoder holds data only."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    if not any(path.suffix == ".safetensors" for path in files):
        raise UnsafeModelError("the model has no safetensors")
    for path in files:
        _refuse_file(path)


def _refuse_file(path: Path) -> None:
    if path.suffix in _CODE:
        raise UnsafeModelError("the model folder holds code")
    if path.suffix in _PICKLES:
        raise UnsafeModelError("the model folder holds a format that can run code")
    if path.suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        if _mentions(content, "auto_map"):
            raise UnsafeModelError("the model asks for code of its own")
        if path.name == "modules.json" and not all(module.get("type") in _MODULES for module in content):
            raise UnsafeModelError("the model asks for a module that is not known")


def _mentions(content: Any, key: str) -> bool:
    if isinstance(content, dict):
        return key in content or any(_mentions(value, key) for value in content.values())
    return isinstance(content, list) and any(_mentions(value, key) for value in content)
