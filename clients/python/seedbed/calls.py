"""The calls of the contract as values: what is sent, and how the reply is read.

All that the blocking and the asyncio client know is here and in
`seedbed.memory_calls`; the two only carry a `Call` out. Nothing here imports gRPC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import uuid4

from google.protobuf.field_mask_pb2 import FieldMask

from seedbed import replies
from seedbed.results import MemoryInfo, ModelInfo, ServerStatus
from seedbed.surrogates import text_for_wire
from seedbed.v1 import admin_service_pb2 as admin_pb2
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.variants import Variant
from seedbed.wire import variant_to_proto

R = TypeVar("R")
T = TypeVar("T")

PAGE_SIZE = 100

# Import and export move whole memories: their deadline is an hour, not seconds.
STREAM_TIMEOUT = 3_600.0


def new_request_id() -> str:
    """A fresh id for a request: 32 hexadecimal digits."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """One call: ``service`` and ``rpc`` by name, what to send, and how to read a reply (each, if it streams).

    ``timeout`` in seconds; None is the connection's own.
    """

    service: str
    rpc: str
    request: Any
    parse: Callable[[Any], R]
    timeout: float | None = None
    request_id: str = field(default_factory=new_request_id)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and the call that gets the next ones; None after the last."""

    items: tuple[T, ...]
    next: Call[Page[T]] | None


def optional_variant(variant: Variant | None) -> Any:
    """The variant on the wire; None stays None, which leaves the field unset."""
    return None if variant is None else variant_to_proto(variant)


@dataclass(frozen=True, slots=True)
class ServerCalls:
    """The calls about a namespace and the server itself."""

    namespace: str

    def create(self, name: str, variant: Variant | None, system: str) -> Call[MemoryInfo]:
        """CreateMemory."""
        request = memory_pb2.CreateMemoryRequest(
            namespace=self.namespace, memory=name, variant=optional_variant(variant), system=text_for_wire(system)
        )
        return Call("MemoryService", "CreateMemory", request, lambda reply: replies.memory_info(reply.memory))

    def get(self, name: str) -> Call[MemoryInfo]:
        """GetMemory."""
        request = memory_pb2.GetMemoryRequest(namespace=self.namespace, memory=name)
        return Call("MemoryService", "GetMemory", request, lambda reply: replies.memory_info(reply.memory))

    def list_memories(self, page_size: int, token: str = "") -> Call[Page[MemoryInfo]]:
        """ListMemories, from ``token`` on."""

        def parse(reply: memory_pb2.ListMemoriesResponse) -> Page[MemoryInfo]:
            following = self.list_memories(page_size, reply.next_page_token) if reply.next_page_token else None
            return Page(tuple(replies.memory_info(each) for each in reply.memories), following)

        request = memory_pb2.ListMemoriesRequest(namespace=self.namespace, page_size=page_size, page_token=token)
        return Call("MemoryService", "ListMemories", request, parse)

    def update(self, name: str, variant: Variant | None, system: str | None, revision: int) -> Call[MemoryInfo]:
        """UpdateMemory; None leaves a setting as it is."""
        changed = {"variant": variant is not None, "system": system is not None}
        request = memory_pb2.UpdateMemoryRequest(
            namespace=self.namespace,
            memory=name,
            variant=optional_variant(variant),
            system=text_for_wire(system or ""),
            update_mask=FieldMask(paths=[path for path, named in changed.items() if named]),
            revision=revision,
        )
        return Call("MemoryService", "UpdateMemory", request, lambda reply: replies.memory_info(reply.memory))

    def delete(self, name: str) -> Call[int]:
        """DeleteMemory."""
        request = memory_pb2.DeleteMemoryRequest(namespace=self.namespace, memory=name)
        return Call("MemoryService", "DeleteMemory", request, lambda reply: int(reply.messages_deleted))

    def status(self, memory: str) -> Call[ServerStatus]:
        """GetStatus."""
        request = admin_pb2.GetStatusRequest(namespace=self.namespace, memory=memory)
        return Call("AdminService", "GetStatus", request, replies.status)

    def models(self) -> Call[tuple[ModelInfo, ...]]:
        """ListModels."""
        return Call("AdminService", "ListModels", admin_pb2.ListModelsRequest(), replies.models)

    def reembed(self, model: str, give_up: bool) -> Call[int]:
        """Reembed."""
        request = admin_pb2.ReembedRequest(model=model, give_up=give_up)
        return Call("AdminService", "Reembed", request, lambda reply: int(reply.messages))
