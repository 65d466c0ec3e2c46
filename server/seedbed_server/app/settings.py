"""Settings: defaults, then a file, then the environment, then flags.

Every field is a key of the TOML file, an environment variable with the prefix
``SEEDBED_``, and a flag of ``seedbed serve``. Secrets are marked, and never
printed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any

PREFIX = "SEEDBED_"
_SECRET: Mapping[str, Any] = {"secret": True}


class SettingsError(Exception):
    """A setting is not acceptable; the text says which and why, for the operator."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator can set. Relative paths are relative to the working directory."""

    listen: str = "127.0.0.1:7700"
    """Address and port; port 0 takes a free one."""
    data_dir: Path = Path("data")
    """The one directory that holds everything stored."""
    models_dir: Path | None = None
    """Where the models' weights are; default: ``models/weights`` of the checkout, else in the data directory."""
    tokens_file: Path | None = None
    """TOML file of access tokens: ``[tokens]``, each ``name = { sha256 = "…", namespaces = ["…"] }``."""
    tls_cert: Path | None = None
    """Certificate chain (PEM); with ``tls_key`` the server speaks TLS."""
    tls_key: Path | None = None
    """Private key (PEM)."""
    tls_client_ca: Path | None = None
    """CA (PEM) that client certificates must be signed by: mutual TLS."""
    max_calls: int = 256
    """Calls under way at once; one more is refused at once."""
    max_message_mb: int = 16
    """The largest request and response, in MiB."""
    drain_seconds: float = 10.0
    """How long calls under way may take to finish on a stop."""
    hot_memory_mb: int = 512
    """Memories kept loaded for recall, in MiB."""
    min_free_mb: int = 256
    """Below this much free disk, in MiB, derived stores take no more writes."""
    worker_threads: int = 1
    """Threads of the encoder and of the tagger, each."""
    llm_url: str = ""
    """OpenAI-compatible endpoint for summaries, such as ``http://127.0.0.1:8080/v1``; empty: extractive summaries."""
    llm_model: str = ""
    """Model to ask for at that endpoint."""
    llm_api_key: str = field(default="", repr=False, metadata=_SECRET)
    """Key for that endpoint."""
    log_format: str = "text"
    """``text`` or ``json``."""

    def __post_init__(self) -> None:
        """Refuse combinations that would be unsafe or cannot work."""
        if self.log_format not in ("text", "json"):
            raise SettingsError('log_format: must be "text" or "json"')
        if bool(self.tls_cert) != bool(self.tls_key):
            raise SettingsError("tls_cert and tls_key: set both or neither")
        if self.tls_client_ca and not self.tls_cert:
            raise SettingsError("tls_client_ca: needs tls_cert and tls_key")
        if not self.tokens_file and not self.tls_client_ca and not _on_loopback(self.listen):
            raise SettingsError("listen: without access tokens the server listens on loopback only; set tokens_file")
        for name in ("max_calls", "max_message_mb", "worker_threads"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: must be at least 1")

    def shown(self) -> dict[str, str]:
        """All settings as text, secrets hidden."""
        return {f.name: _shown(getattr(self, f.name), secret="secret" in f.metadata) for f in fields(self)}


def _on_loopback(listen: str) -> bool:
    host = listen.rpartition(":")[0]
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        # A name may look like an address, and be anywhere.
        return False


def _shown(value: object, *, secret: bool) -> str:
    if secret:
        return "(set)" if value else "(not set)"
    return "" if value is None else str(value)


def load(config: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings. Flags that are None count as not given. Raises SettingsError."""
    values: dict[str, Any] = {}
    if config is not None:
        values |= _from_file(config)
    values |= {f.name: os.environ[key] for f in fields(Settings) if (key := PREFIX + f.name.upper()) in os.environ}
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    unknown = sorted(given.keys() - {f.name for f in fields(Settings)})
    if unknown:
        raise SettingsError(f"flags: unknown settings: {', '.join(unknown)}")
    values |= given
    return Settings(
        **{f.name: _typed(f.name, str(f.type), values[f.name]) for f in fields(Settings) if f.name in values}
    )


def _from_file(config: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingsError(f"config: {config} cannot be read as TOML") from None
    unknown = sorted(values.keys() - {f.name for f in fields(Settings)})
    if unknown:
        raise SettingsError(f"config: {config} has unknown keys: {', '.join(unknown)}")
    return values


def _typed(name: str, kind: str, value: Any) -> Any:
    """Read a value as its field's type; the file and the environment give text and plain numbers."""
    try:
        if kind.startswith("Path"):
            return Path(value) if str(value) else None
        if kind in ("int", "float"):
            return {"int": int, "float": float}[kind](value)
        return str(value)
    except (TypeError, ValueError):
        raise SettingsError(f"{name}: is not {'a whole number' if kind == 'int' else 'a number'}") from None


def read_tokens(path: Path | None) -> dict[str, tuple[str, ...]]:
    """Read the access tokens as {SHA-256 of the token, in hexadecimal: its namespaces}.

    A file without tokens is refused: to the server, no tokens means that
    everything is open. Raises SettingsError.
    """
    if path is None:
        return {}
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["tokens"]
        tokens = [(entry["sha256"].lower(), entry["namespaces"]) for entry in entries.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SettingsError(f"tokens_file: {path} is not a table [tokens] of sha256 and namespaces") from None
    for digest, namespaces in tokens:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise SettingsError(f"tokens_file: {path} has a sha256 that is not 64 hexadecimal digits")
        if not isinstance(namespaces, list) or not all(isinstance(name, str) and name for name in namespaces):
            raise SettingsError(f"tokens_file: {path} has namespaces that are not a list of names")
        if not namespaces:
            raise SettingsError(f"tokens_file: {path} has a token without namespaces")
    opened = {digest: tuple(namespaces) for digest, namespaces in tokens}
    if not opened or len(opened) < len(tokens):
        raise SettingsError(f"tokens_file: {path} has {'a token twice' if opened else 'no tokens'}")
    return opened


def models_dir(settings: Settings) -> Path:
    """Where the models' weights are: as set, else in the checkout that this package runs from, else with the data."""
    if settings.models_dir is not None:
        return settings.models_dir
    checkout = Path(__file__).resolve().parents[3] / "models"
    return checkout / "weights" if (checkout / "manifest.toml").exists() else settings.data_dir / "models"
