"""How a client speaks to a server: address, access token, encryption, deadlines, retries.

One value for the blocking and the asyncio client, so that both behave alike.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import grpc

from seedbed.wire import MAX_CALL_BYTES

# Pings only while a call is under way: a dead peer is noticed within 80 s even
# by a stream with no deadline in sight, and an idle client costs nothing.
KEEPALIVE_MS = 60_000
KEEPALIVE_TIMEOUT_MS = 20_000

# The calls that may be sent twice: those that read, and Write, which carries a
# request id. gRPC itself caps maxAttempts at 5; with these figures the retries
# spread over about 3 s, enough for a server to be restarted.
_REPEATABLE = {
    "seedbed.v1.MemoryService": [
        *("GetMemory", "ListMemories", "Write", "Read", "Seed", "Recall", "ListRecalls", "ExportMemory"),
    ],
    "seedbed.v1.KnowledgeService": ["ListEntities", "GetEntity", "ListTriples", "Explore", "FindPaths"],
    "seedbed.v1.AdminService": ["GetStatus", "ListModels"],
}
# gRPC's own forms of an address are left to gRPC. Of a mere name it would take port 443, and of http:// the rest.
_NAMING = ("dns:", "ipv4:", "ipv6:", "unix:", "unix-abstract:", "vsock:", "xds:")
_HOST_AND_PORT = re.compile(r"(\[[^\[\]/\s]+\]|[^\[\]:/@\s]+):\d{1,5}")
_LOOPBACK = re.compile(r"(dns:/*|ipv4:|ipv6:)?(localhost|127\.[\d.]+|\[::1\])(:\d+)?$")

_RETRY = {
    "maxAttempts": 5,
    "initialBackoff": "0.2s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}


@dataclass(frozen=True, slots=True)
class Tls:
    """Encryption settings, each as PEM bytes.

    ``roots`` are the authorities to trust (the system's, if None);
    ``certificate`` and ``key`` are the client's own, for a server that asks for them.
    """

    roots: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how it is spoken to; ``timeout`` is in seconds and holds for every call.

    Raises ValueError for what is no address, and for a token that no header can carry.
    """

    address: str
    token: str = field(default="", repr=False)
    timeout: float = 30.0
    tls: Tls | bool = False

    def __post_init__(self) -> None:
        """Refuse what gRPC would take for something else, or tell of badly."""
        if not (self.address.startswith(_NAMING) or _HOST_AND_PORT.fullmatch(self.address)):
            raise ValueError('address: must be HOST:PORT, such as "localhost:7700", without http://')
        if not (self.token.isascii() and (self.token.isprintable() or not self.token)):
            raise ValueError("token: must be printable ASCII")

    def credentials(self) -> grpc.ChannelCredentials | None:
        """The encryption to use; None for plain text."""
        if not self.tls:
            return None
        tls = Tls() if self.tls is True else self.tls
        return grpc.ssl_channel_credentials(tls.roots, tls.key, tls.certificate)

    def options(self) -> list[tuple[str, Any]]:
        """The options of the channel."""
        options: list[tuple[str, Any]] = [
            ("grpc.max_send_message_length", MAX_CALL_BYTES),
            ("grpc.max_receive_message_length", MAX_CALL_BYTES),
            # What is larger than this buffer is sent once only; gRPC's own 256 KiB would leave out large writes.
            ("grpc.per_rpc_retry_buffer_size", MAX_CALL_BYTES),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
            ("grpc.primary_user_agent", f"seedbed-python/{_version()}"),
            ("grpc.service_config", service_config()),
        ]
        # A machine-wide http_proxy is not meant for the machine itself.
        return [*options, ("grpc.enable_http_proxy", 0)] if _LOOPBACK.match(self.address) else options

    def metadata(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """What accompanies every call."""
        base = (("x-request-id", request_id),)
        return (*base, ("authorization", f"Bearer {self.token}")) if self.token else base


def service_config() -> str:
    """Which calls gRPC repeats by itself, as its service config (JSON)."""
    names = [{"service": service, "method": rpc} for service, rpcs in _REPEATABLE.items() for rpc in rpcs]
    return json.dumps({"methodConfig": [{"name": names, "retryPolicy": _RETRY}]})


def _version() -> str:
    try:
        return version("seedbed")
    except PackageNotFoundError:
        # Run from a source tree that was never installed.
        return "source"
