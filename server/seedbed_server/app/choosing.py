"""Which models a server runs: a setting names the encoder of a fresh data directory, later the log does."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from seedbed_server.app.settings import Settings, SettingsError, models_dir
from seedbed_server.models.manifest import ENCODER, ManifestError, Model, by_role, known

log = logging.getLogger(__name__)

LOG_FILE = "log.db"


def known_models(settings: Settings) -> tuple[Model, ...]:
    """Return the models of the manifest, and the operator's own. Raises SettingsError."""
    try:
        return known(models_dir(settings))
    except ManifestError as error:
        raise SettingsError(f"models_dir: {error}") from None


def needed_at_start(settings: Settings) -> list[Model]:
    """Return the models that have to be here before anything is touched; on a fresh directory also the encoder.

    Which encoder another directory needs is known when its log is open; without its files the server runs degraded, and
    GetStatus says so. Raises SettingsError.
    """
    encoder = chosen_encoder(known_models(settings), settings)
    fresh = not (settings.data_dir / LOG_FILE).exists()
    return [by_role("tagger"), *([encoder] if fresh else [])]


def chosen_encoder(models: Sequence[Model], settings: Settings, in_use: str = "") -> Model:
    """Return the encoder to start with: the one ``in_use`` by the log, else the setting's. Raises SettingsError."""
    encoders = {model.name: model for model in models if model.role == ENCODER}
    if settings.encoder not in encoders:
        raise SettingsError(f"encoder: is none of {', '.join(encoders)}")
    if not in_use:
        return encoders[settings.encoder]
    if in_use not in encoders:
        raise SettingsError("models_dir: the log's vectors are made by an encoder that no manifest names any more")
    if in_use != settings.encoder:
        log.info("the encoder is %s, as the log says; a setting names another", in_use)
    return encoders[in_use]
