"""``python -m benchmarks.stand_in serve …``: the server, with the encoder's child replaced by the stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

from seedbed_server.app.cli import main
from seedbed_server.models import encoder
from seedbed_server.processes import Child


def _child(name: str, _target: str, settings: Mapping[str, Any], **options: Any) -> Child:
    return Child(name, "benchmarks.stand_in_encoder:create", settings, **options)


if __name__ == "__main__":
    with patch.object(encoder, "Child", _child):
        main()
