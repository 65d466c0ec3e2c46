"""AdminService: the server's own state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import grpc

from seedbed.v1 import admin_service_pb2 as pb
from seedbed.v1.admin_service_pb2_grpc import AdminServiceServicer
from seedbed_server import __version__
from seedbed_server.errors import InvalidFieldError, NotServedError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.projections.projector import Projector
from seedbed_server.recall.reembedding import Reembedding
from seedbed_server.rpc import checks
from seedbed_server.rpc.answers import stamp
from seedbed_server.rpc.caller import current_namespaces, open_namespace, require_operator

Context = grpc.aio.ServicerContext[Any, Any]

_PAGE = 1000
_STATES = {
    "starting": pb.PART_STATE_STARTING,
    "ready": pb.PART_STATE_READY,
    "down": pb.PART_STATE_DOWN,
}


class Part(Protocol):
    """A child process, or what else may be down, as status reports it."""

    name: str
    restarts: int

    @property
    def detail(self) -> str:
        """What there is to say of it, in words of our own."""
        ...

    @property
    def state(self) -> str:
        """The words "starting", "ready" or "down"."""
        ...


@dataclass(frozen=True, slots=True)
class AdminServicer(AdminServiceServicer):
    """Reports what runs, sets derived stores back, and changes the model.

    ``parts`` are the processes besides those that the model is made of.
    """

    log: Log
    projector: Projector
    parts: Sequence[Part]
    reembedding: Reembedding
    started_at: datetime

    async def GetStatus(self, request: pb.GetStatusRequest, context: Context) -> pb.GetStatusResponse:
        """Return what runs; with a memory, how far its derived stores are."""
        checks.optional_identifier(request.namespace, "namespace")
        response = pb.GetStatusResponse(version=__version__, started_at=stamp(self.started_at))
        response.parts.add(part="log", state=pb.PART_STATE_READY, detail="sqlite")
        parts: list[Part] = [*await self.reembedding.parts(), *self.parts]
        for part in parts:
            response.parts.add(part=part.name, state=_STATES[part.state], restarts=part.restarts, detail=part.detail)
        if request.memory:
            namespace = open_namespace(checks.optional_identifier(request.namespace, "namespace"))
            record = await self.log.get(namespace, checks.identifier(request.memory, "memory"))
            response.last_seq = record.last_seq
            skipped = self.projector.skipped(record.key)
            applied = self.projector.applied(record.key)
            for one in self.projector.status():
                response.projections.add(
                    projection=one.name,
                    applied_seq=applied[one.name],
                    skipped=skipped[one.name],
                    state=one.state,
                    waiting_for=one.waiting_for,
                )
        return response

    async def Rebuild(self, request: pb.RebuildRequest, context: Context) -> pb.RebuildResponse:
        """Set derived stores of one memory, or of all that the caller may see, to the beginning of the log."""
        names = list(request.projections)
        for at, name in enumerate(names):
            if name not in self.projector.names:
                raise InvalidFieldError(f"projections[{at}]", "names no derived store")
        response = pb.RebuildResponse()
        if request.memory:
            namespace = open_namespace(checks.optional_identifier(request.namespace, "namespace"))
            record = await self.log.get(namespace, checks.identifier(request.memory, "memory"))
            await self.projector.rebuild(record.key, names)
            response.messages = record.message_count
            return response
        if not request.namespace and current_namespaces() is None:
            response.messages = sum([record.message_count async for record in self._memories()])
            await self.projector.rebuild(None, names)
            return response
        records = [record async for record in self._memories(request.namespace)]
        await asyncio.gather(*(self.projector.rebuild(record.key, names) for record in records))
        response.messages = sum(record.message_count for record in records)
        return response

    async def _memories(self, requested: str = "") -> AsyncIterator[MemoryRecord]:
        for namespace in await self._namespaces(requested):
            after = ""
            while page := await self.log.list(namespace, after, _PAGE):
                for record in page:
                    yield record
                after = page[-1].name

    async def _namespaces(self, requested: str) -> Sequence[str]:
        if requested:
            return [open_namespace(checks.optional_identifier(requested, "namespace"))]
        opened = current_namespaces()
        return await self.log.namespaces() if opened is None else opened

    async def ListModels(self, request: pb.ListModelsRequest, context: Context) -> pb.ListModelsResponse:
        """List the models of the manifest, and the operator's own."""
        response = pb.ListModelsResponse()
        here = await self.reembedding.available()
        for model in self.reembedding.models:
            response.models.add(
                name=model.name,
                role=model.role,
                licence=model.licence,
                dimensions=model.dimensions,
                fingerprint=model.fingerprint(),
                available=model.name in here,
                in_use=model.name == self.reembedding.in_use,
            )
        return response

    async def Check(self, request: pb.CheckRequest, context: Context) -> pb.CheckResponse:
        """Planned."""
        raise NotServedError

    async def Reembed(self, request: pb.ReembedRequest, context: Context) -> pb.ReembedResponse:
        """Change the embedding model, or give that up; returns when it is decided."""
        model = checks.identifier(request.model, "model")
        require_operator()
        if request.give_up:
            await self.reembedding.give_up(model)
            return pb.ReembedResponse()
        return pb.ReembedResponse(messages=await self.reembedding.begin(model))

    async def Backup(self, request: pb.BackupRequest, context: Context) -> pb.BackupResponse:
        """Planned."""
        raise NotServedError
