"""TLS and mutual TLS, with certificates of a small authority of the tests' own (valid until 2120)."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from seedbed.v1 import memory_service_pb2 as pb
from seedbed_server.rpc.server import Server, Tls

from .calling import Caller, failure
from .probe import REQUESTS, probing

HERE = Path(__file__).parent / "tls"
SERVER = Tls(HERE / "server.crt", HERE / "server.key")
MUTUAL = Tls(HERE / "server.crt", HERE / "server.key", HERE / "ca.crt")
# No retries and no back-off in between: the first failed handshake is the answer.
OPTIONS = [("grpc.enable_retries", 0)]


def _pem(name: str) -> bytes:
    return (HERE / name).read_bytes()


async def _call(server: Server, credentials: grpc.ChannelCredentials | None) -> pb.GetMemoryResponse:
    address = f"localhost:{server.port}"
    channel = (
        grpc.aio.secure_channel(address, credentials, OPTIONS)
        if credentials
        else grpc.aio.insecure_channel(address, OPTIONS)
    )
    async with channel:
        answer: pb.GetMemoryResponse = await Caller(channel)("GetMemory", REQUESTS["GetMemory"])
        return answer


async def test_tls_encrypts_for_whoever_trusts_the_authority() -> None:
    """A client that does not, and one that speaks plain text, get nowhere."""
    async with probing(tls=SERVER) as probed:
        assert await _call(probed.server, grpc.ssl_channel_credentials(_pem("ca.crt"))) == pb.GetMemoryResponse()
        for other in (grpc.ssl_channel_credentials(_pem("stranger.crt")), None):
            assert (await failure(_call(probed.server, other))).code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("who", ["client", "stranger", None])
async def test_mutual_tls_lets_in_those_whom_the_authority_knows(who: str | None) -> None:
    """A certificate of somebody else's authority counts as none."""
    pair = (_pem(f"{who}.key"), _pem(f"{who}.crt")) if who else (None, None)
    credentials = grpc.ssl_channel_credentials(_pem("ca.crt"), *pair)
    async with probing(tls=MUTUAL) as probed:
        if who == "client":
            assert await _call(probed.server, credentials) == pb.GetMemoryResponse()
        else:
            assert (await failure(_call(probed.server, credentials))).code() is grpc.StatusCode.UNAVAILABLE
