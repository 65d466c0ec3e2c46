"""A log on every kind of database it can be kept in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from seedbed_server.log import Log


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, for each backend."""
    addresses: dict[str, Callable[[], str]] = {"sqlite": lambda: f"sqlite:///{tmp_path / 'log.db'}"}
    return addresses[request.param]()


@pytest.fixture
async def log(url: str) -> AsyncIterator[Log]:
    """An open, empty log."""
    opened = await Log.open(url)
    yield opened
    await opened.close()
