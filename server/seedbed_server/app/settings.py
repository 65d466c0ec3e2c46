"""Settings: defaults, then a file, then the environment, then flags.

Every field is a key of the TOML file, an environment variable with the prefix
``SEEDBED_``, and a flag of ``seedbed serve``. Secrets are marked, and never
printed.
"""

from __future__ import annotations

import math
import os
import ssl
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PREFIX = "SEEDBED_"
_SECRET: Mapping[str, Any] = {"secret": True}
_MOST_EXTRACTION_CALLS = 64
_MOST_PORT = 65535
_MOST_MESSAGE_MB = 2048  # gRPC counts bytes in 31 bits


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
    hot_memory_mb: int = 128
    """Memories kept loaded for recall, in MiB."""
    min_free_mb: int = 256
    """Below this much free disk, in MiB, derived stores take no more writes."""
    recall_log: int = 0
    """Entries of the recall log kept for each memory, the newest ones; 0 keeps none."""
    recall_log_mb: int = 64
    """The recall log of all memories, in MiB; the oldest entries go first."""
    encoder: str = "all-MiniLM-L6-v2"
    """The embedding model of a fresh data directory; later the log names it, and AdminService.Reembed changes it."""
    worker_threads: int = 1
    """Threads of the encoder and of the tagger, each."""
    llm_url: str = ""
    """OpenAI-compatible endpoint, such as ``http://127.0.0.1:8080/v1``; with it, it writes the summaries."""
    llm_model: str = ""
    """Model to ask for at that endpoint."""
    llm_api_key: str = field(default="", repr=False, metadata=_SECRET)
    """Key for that endpoint."""
    llm_extraction_calls: int = 0
    """How many messages at once that endpoint reads for entities and facts; 0: local models read them all."""
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
        _refuse_address(self.listen, is_open=not self.tokens_file and not self.tls_client_ca)
        for name in ("max_calls", "max_message_mb", "recall_log_mb", "worker_threads"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: must be at least 1")
        for name in ("drain_seconds", "hot_memory_mb", "min_free_mb", "recall_log"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SettingsError(f"{name}: must be a number from 0")
        if self.max_message_mb >= _MOST_MESSAGE_MB:
            raise SettingsError(f"max_message_mb: must be less than {_MOST_MESSAGE_MB}")

        if self.llm_url:
            _refuse_url("llm_url", self.llm_url)
        self._check_extraction()

    def _check_extraction(self) -> None:
        if not 0 <= self.llm_extraction_calls <= _MOST_EXTRACTION_CALLS:
            raise SettingsError(f"llm_extraction_calls: must be from 0 to {_MOST_EXTRACTION_CALLS}")
        if self.llm_extraction_calls and not self.llm_url:
            raise SettingsError("llm_extraction_calls: needs llm_url")

    def shown(self) -> dict[str, str]:
        """All settings as text, secrets hidden."""
        return {f.name: _shown(getattr(self, f.name), secret="secret" in f.metadata) for f in fields(self)}


def _refuse_address(listen: str, *, is_open: bool) -> None:
    """Refuse what is no address, and one that others reach while the server is open to all."""
    _, colon, port = listen.rpartition(":")
    # Checked here, since gRPC takes port 65536 for 0, and so on.
    if not (colon and port.isascii() and port.isdigit() and int(port) <= _MOST_PORT):
        raise SettingsError("listen: must be HOST:PORT, the port from 0 to 65535")
    if is_open and not _on_loopback(listen):
        raise SettingsError("listen: without access tokens the server listens on loopback only; set tokens_file")


def _refuse_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an address that is none
        usable = False
    if not usable:
        raise SettingsError(f"{name}: must be an address such as http://127.0.0.1:8080/v1")


def _on_loopback(listen: str) -> bool:
    host = listen.rpartition(":")[0]
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        # A name may look like an address, and be anywhere.
        return False


_NAMES = frozenset(setting.name for setting in fields(Settings))


def _shown(value: object, *, secret: bool) -> str:
    if secret:
        return "(set)" if value else "(not set)"
    return "" if value is None else str(value)


def load(config: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings. Flags that are None count as not given. Raises SettingsError."""
    values: dict[str, Any] = {}
    if config is not None:
        values |= _from_file(config)
    values |= _from_environment()
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    _known("--set", given)
    values |= given
    return Settings(**{f.name: _typed(f.name, f.default, values[f.name]) for f in fields(Settings) if f.name in values})


def _known(where: str, names: Iterable[str]) -> None:
    unknown = sorted(set(names) - _NAMES)
    if unknown:
        raise SettingsError(f"{where}: has unknown keys: {', '.join(name + _meant(name) for name in unknown)}")


def _meant(name: str, prefix: str = "") -> str:
    """A hint at the setting that is nearly called so, if there is one."""
    meant = get_close_matches(name.lower(), _NAMES, 1, 0.8)
    return f" ({prefix}{meant[0].upper() if prefix else meant[0]} may be meant)" if meant else ""


def _from_environment() -> dict[str, str]:
    """The variables that are settings. Others may have the prefix too; one that is nearly a setting is refused."""
    found = {key[len(PREFIX) :].lower(): value for key, value in os.environ.items() if key.startswith(PREFIX)}
    for name in found.keys() - _NAMES:
        if meant := _meant(name, PREFIX):
            raise SettingsError(f"{PREFIX}{name.upper()}: is no setting{meant}")
    return {name: value for name, value in found.items() if name in _NAMES}


def _read_toml(name: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{name}: {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise SettingsError(f"{name}: {path} cannot be read as TOML") from None


def _from_file(config: Path) -> dict[str, Any]:
    values = _read_toml("config", config)
    _known(f"config: {config}", values)
    return values


def _typed(name: str, default: Any, value: Any) -> Any:
    """Read a value as its field's type; the file and the environment give text and plain numbers."""
    if value == "":
        if default:
            raise SettingsError(f"{name}: is empty")
        return default
    if isinstance(default, (int, float)):
        kind = type(default)
        try:
            number = None if isinstance(value, bool) else kind(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        # NaN is refused here too: it equals nothing.
        if number is None or number != float(value):
            raise SettingsError(f"{name}: is not {'a whole number' if kind is int else 'a number'}")
        return number
    if not isinstance(value, (str, Path)):
        raise SettingsError(f"{name}: is not a text")
    return str(value) if isinstance(default, str) else Path(value)


def read_tokens(path: Path | None) -> dict[str, tuple[str, ...]] | None:
    """Read the access tokens as {SHA-256 of the token, in hexadecimal: its namespaces}.

    None without a file: then everything is open. A file that opens nothing is
    refused, rather than taken for one that is not there. Raises SettingsError.
    """
    if path is None:
        return None
    values = _read_toml("tokens_file", path)
    try:
        entries = values["tokens"]
        tokens = [(entry["sha256"].lower(), entry["namespaces"]) for entry in entries.values()]
    except (KeyError, TypeError, AttributeError):
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


def read_operators(path: Path | None) -> frozenset[str]:
    """Read which tokens may do what concerns the whole server: those with ``operator = true``, by their SHA-256.

    The file has been read by ``read_tokens``. Raises SettingsError.
    """
    entries = _read_toml("tokens_file", path)["tokens"].values() if path is not None else ()
    if not all(isinstance(entry.get("operator", False), bool) for entry in entries):
        raise SettingsError(f"tokens_file: {path} has an operator that is neither true nor false")
    return frozenset(entry["sha256"].lower() for entry in entries if entry.get("operator"))


def check_tls(settings: Settings) -> None:
    """Read the files of TLS as the server will. Raises SettingsError, with the name of the one that is not usable."""
    named = [(name, getattr(settings, name)) for name in ("tls_cert", "tls_key", "tls_client_ca")]
    for name, path in named:
        try:
            if path is not None:
                path.read_bytes()
        except OSError as error:
            raise SettingsError(f"{name}: {path} cannot be read: {error.strerror}") from None
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if settings.tls_cert and settings.tls_key:
            # A key behind a passphrase is refused: nobody is there to be asked for it.
            context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except (OSError, ValueError):
        raise SettingsError("tls_cert and tls_key: are not a certificate (PEM) and its key, unencrypted") from None
    try:
        if settings.tls_client_ca:
            context.load_verify_locations(settings.tls_client_ca)
    except (OSError, ValueError):
        raise SettingsError("tls_client_ca: is not a certificate (PEM)") from None


def models_dir(settings: Settings) -> Path:
    """Where the models' weights are: as set, else in the checkout that this package runs from, else with the data."""
    if settings.models_dir is not None:
        return settings.models_dir
    checkout = Path(__file__).resolve().parents[3] / "models"
    return checkout / "weights" if (checkout / "manifest.toml").exists() else settings.data_dir / "models"
