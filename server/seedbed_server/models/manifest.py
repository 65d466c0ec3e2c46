"""The manifest of models, read from ``manifest.toml`` beside this module.

It lies inside the package, so that an installed wheel and a checkout find it in
the same way; the folder ``models/`` at the top of the repository links to it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its path in the model's folder, size in bytes, and sha256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what it is for, its licence, and the package that carries its files.

    ``dimensions`` and ``max_tokens`` are 0 for a model that makes no vectors.
    """

    name: str
    role: str
    version: str
    licence: str
    source: str
    package: str
    package_version: str
    package_folder: str
    download_size: int
    files: tuple[ModelFile, ...]
    dimensions: int = 0
    max_tokens: int = 0

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    def fingerprint(self, *parameters: object) -> str:
        """Sha256 in hex over the name, the hashes of all files, and how the model is used.

        Whatever was derived under another fingerprint has to be derived again.
        """
        words = [self.name, *(f"{file.path}={file.sha256}" for file in self.files), *map(str, parameters)]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()


@cache
def _manifest() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("manifest.toml").read_text(encoding="utf-8"))


@cache
def models() -> tuple[Model, ...]:
    """All models, in the order of the manifest."""
    return tuple(_model(entry) for entry in _manifest()["model"])


def by_role(role: str) -> Model:
    """The model of this role, ``encoder`` or ``tagger``; KeyError for any other."""
    return {model.role: model for model in models()}[role]


@cache
def labeller() -> ModelFile:
    """The labeller's weights, which lie in this package."""
    entry = _manifest()["labeller"]
    return ModelFile(entry["path"], entry["size"], entry["sha256"])


def _model(entry: Mapping[str, Any]) -> Model:
    fields = {name: value for name, value in entry.items() if name != "file"}
    return Model(**fields, files=tuple(ModelFile(**file) for file in entry["file"]))
