"""The whole server, in this process, once for all tests of this room."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from seedbed_server.app.lifecycle import running
from seedbed_server.app.settings import Settings
from seedbed_server.rpc.server import Server

from .calling import Caller, said, written

# A word of each of two tenants whose namespaces begin alike.
ACME, CORP = "Quetzalcoatl", "Ouroboros"

# Token → the namespaces that it opens. A token of one namespace needs to name none.
TOKENS = {
    "checks-token": ("checks",),
    "fuzz-token": ("fuzz",),
    "trips-token": ("trips",),
    "acme-token": ("acme",),
    "corp-token": ("acme-corp",),
    "both-token": ("acme", "acme-corp"),
    "operator-token": ("operators",),
}
OPERATOR = "operator-token"


@pytest.fixture(scope="session")
async def server(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A running server with access tokens; its models load in the background."""
    folder = tmp_path_factory.mktemp("served")
    tokens = folder / "tokens.toml"
    entries = (
        f'{name} = {{ sha256 = "{hashlib.sha256(name.encode()).hexdigest()}", namespaces = {list(namespaces)}'
        f"{', operator = true' if name == OPERATOR else ''} }}"
        for name, namespaces in TOKENS.items()
    )
    tokens.write_text("\n".join(["[tokens]", *entries]), encoding="utf-8")
    settings = Settings(
        listen="127.0.0.1:0", data_dir=folder / "data", models_dir=models_dir, tokens_file=tokens, recall_log=50
    )
    async with running(settings) as started:
        yield started


@pytest.fixture(scope="session")
async def channel(server: Server) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to the server."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=options) as opened:
        yield opened


@pytest.fixture(scope="session")
def as_token(channel: grpc.aio.Channel) -> Callable[[str], Caller]:
    """Makes a caller with a token."""
    return lambda token: Caller(channel, token)


@pytest.fixture(scope="session")
def trips(as_token: Callable[[str], Caller]) -> Caller:
    """A caller for round trips, in a namespace of their own."""
    return as_token("trips-token")


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> str:
    """The name of a memory that no other test uses."""
    name: str = request.node.nodeid
    return hashlib.sha256(name.encode()).hexdigest()[:16]


@pytest.fixture(scope="session")
async def tenants(as_token: Callable[[str], Caller]) -> tuple[Caller, Caller]:
    """Two tenants whose names begin alike, each with a memory of the same name that holds a word of its own."""
    callers = as_token("acme-token"), as_token("corp-token")
    for caller, canary in zip(callers, (ACME, CORP), strict=True):
        messages = [
            said(f"My friend {canary} lives in {canary} City and works for {canary} Inc.", name=canary, id=canary),
            said(f"{canary} likes tea.", role="assistant"),
        ]
        await caller("Write", written("shared", *messages, session="talk", system=f"You know {canary}."))
        await caller("Write", written(f"only-{canary}", *messages))
    return callers
