"""A server that fails as it is told, with one memory, for the tests of commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seedbed import Client, Message
from tests.client.scripted import Scripted, serving


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture
def address(script: Scripted) -> Iterator[str]:
    with serving(script) as address:
        with Client(address) as client:
            client.memory("maya").write([Message.user("I live in Oslo.")])
        yield address
