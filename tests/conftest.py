"""What many tests share: the real models, loaded once for all of them."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from seedbed_server.models import weights
from seedbed_server.models.encoder import Encoder

MODELS_DIR = Path(os.environ.get("SEEDBED_MODELS_DIR", Path(__file__).parent.parent / "models" / "weights"))


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder of verified model files, fetched when they are not there."""
    weights.pull(MODELS_DIR)
    return MODELS_DIR


@pytest.fixture(scope="session")
async def encoder(models_dir: Path) -> AsyncIterator[Encoder]:
    """The real encoder in its child process."""
    encoder = Encoder(models_dir)
    await encoder.child.start()
    await encoder.child.wait_ready(100)
    yield encoder
    await encoder.child.stop()
