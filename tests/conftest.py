"""What many tests share: the real models, loaded once for all of them."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from seedbed_server.models import weights
from seedbed_server.models.encoder import Encoder
from tests.serving import Serving, serving

MODELS_DIR = Path(os.environ.get("SEEDBED_MODELS_DIR", Path(__file__).parent.parent / "models" / "weights"))

# The same examples on every run: what fails is the change under test. `HYPOTHESIS_PROFILE=explore` looks for new ones.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


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


@pytest.fixture(scope="session")
def served(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One real server for all tests that leave it as they found it; its models may still be loading."""
    with serving(tmp_path_factory.mktemp("served"), models_dir, "--set", "recall_log=1000") as running:
        yield running


@pytest.fixture(scope="session")
def ready(served: Serving) -> Serving:
    """The same server, once all its models are loaded."""
    served.ready()
    return served
