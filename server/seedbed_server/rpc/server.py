"""The gRPC server: services, guards, health, reflection, and the options that a good server sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from seedbed.v1 import admin_service_pb2, knowledge_service_pb2, memory_service_pb2
from seedbed.v1.admin_service_pb2_grpc import add_AdminServiceServicer_to_server
from seedbed.v1.knowledge_service_pb2_grpc import add_KnowledgeServiceServicer_to_server
from seedbed.v1.memory_service_pb2_grpc import add_MemoryServiceServicer_to_server
from seedbed_server.rpc.admin_servicer import AdminServicer
from seedbed_server.rpc.interceptor import Guards
from seedbed_server.rpc.knowledge_servicer import KnowledgeServicer
from seedbed_server.rpc.memory_servicer import MemoryServicer

SERVICES = (
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"].full_name,
    knowledge_service_pb2.DESCRIPTOR.services_by_name["KnowledgeService"].full_name,
    admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"].full_name,
)


class AddressTakenError(Exception):
    """The address cannot be listened on."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificate chain and key (PEM); with ``client_ca``, clients must show a certificate that it signed."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Read the files."""
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        ca = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_credentials([pair], root_certificates=ca, require_client_auth=ca is not None)


class Server:
    """A gRPC server, not yet started. ``port`` is the one it listens on."""

    def __init__(self, listen: str, guards: Guards, *, max_message_bytes: int, tls: Tls | None = None) -> None:
        """Bind the address. Raises AddressTakenError."""
        self._grpc = grpc.aio.server(interceptors=[guards], options=_options(max_message_bytes))
        self._health = health.aio.HealthServicer()
        credentials = tls.credentials() if tls else None
        try:
            self.port = (
                self._grpc.add_secure_port(listen, credentials) if credentials else self._grpc.add_insecure_port(listen)
            )
        except RuntimeError:
            raise AddressTakenError from None

    async def start(self, servicers: tuple[MemoryServicer, KnowledgeServicer, AdminServicer]) -> None:
        """Take calls, and say so to health checks."""
        memory, knowledge, admin = servicers
        add_MemoryServiceServicer_to_server(memory, self._grpc)
        add_KnowledgeServiceServicer_to_server(knowledge, self._grpc)
        add_AdminServiceServicer_to_server(admin, self._grpc)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._grpc)
        await self._grpc.start()
        for service in ("", *SERVICES):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace: float) -> None:
        """Take no new calls, give those under way ``grace`` seconds, then cut them off."""
        await self._health.enter_graceful_shutdown()
        await self._grpc.stop(grace)


def _options(most: int) -> Sequence[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", most),
        ("grpc.max_send_message_length", most),
        # Two servers would bind one port in silence, and share its calls.
        ("grpc.so_reuseport", 0),
        # Clients may ping every 10 s, also without calls under way; dead ones are found within 40 s.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 3),
        ("grpc.max_concurrent_streams", 1024),
    ]
