"""The manifest of models, read from ``manifest.toml`` beside this module.

It lies inside the package, so that an installed wheel and a checkout find it in
the same way; the folder ``models/`` at the top of the repository links to it.

An operator may add encoders of their own: a ``manifest.toml`` of the same form
in the folder of the weights. Their files are verified as all others are.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

ENCODER = "encoder"
OWN = "manifest.toml"


class ManifestError(Exception):
    """The operator's own manifest cannot be used; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its path in the model's folder, size in bytes, and sha256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what it is for, its licence, and the packages that carry its files.

    ``packages`` is more than one where the files are one zip archive, cut into
    as many pieces. An ``optional`` model is fetched only when it is asked for.
    ``dimensions`` and ``max_tokens`` are 0 for a model that makes no vectors.
    """

    name: str
    role: str
    version: str
    licence: str
    source: str
    packages: tuple[str, ...]
    package_version: str
    package_folder: str
    download_size: int
    files: tuple[ModelFile, ...]
    dimensions: int = 0
    max_tokens: int = 0
    optional: bool = False

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
    """All models of the package's manifest, in its order."""
    return tuple(_model(entry) for entry in _manifest()["model"])


def by_role(role: str) -> Model:
    """The model of this role, ``encoder`` or ``tagger``, that is used unless another is chosen; KeyError for any other.

    It is the first one in the manifest.
    """
    return {model.role: model for model in reversed(models())}[role]


def known(root: Path) -> tuple[Model, ...]:
    """The models of the manifest, and the operator's own encoders in ``root``/manifest.toml. Raises ManifestError."""
    try:
        entries = tomllib.loads((root / OWN).read_text(encoding="utf-8"))["model"]
        own = tuple(_own(entry) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        own = ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ManifestError(f"{root / OWN} is not a manifest of models") from None
    both = (*models(), *own)
    if len({model.name for model in both}) < len(both):
        raise ManifestError(f"{root / OWN} names a model that there is already")
    return both


@cache
def labeller() -> ModelFile:
    """The labeller's weights, which lie in this package."""
    entry = _manifest()["labeller"]
    return ModelFile(entry["path"], entry["size"], entry["sha256"])


def _model(entry: Mapping[str, Any]) -> Model:
    fields = {name: value for name, value in entry.items() if name not in ("file", "packages")}
    return Model(**fields, packages=tuple(entry["packages"]), files=tuple(ModelFile(**file) for file in entry["file"]))


def _own(entry: Mapping[str, Any]) -> Model:
    """An operator's model: no package carries it. ValueError where it is no encoder, or its name is no folder's."""
    nowhere = {"version": "", "licence": "", "source": "", "packages": [], "package_version": "", "package_folder": ""}
    model = _model({**nowhere, "download_size": 0, **entry, "optional": True})
    if model.role != ENCODER or model.dimensions < 1 or model.max_tokens < 1:
        raise ValueError("no encoder")
    if Path(model.name).name != model.name or model.name.startswith("."):
        raise ValueError("no name of a folder")
    if any(Path(file.path).is_absolute() or ".." in Path(file.path).parts for file in model.files):
        raise ValueError("no path in the folder")
    return model
