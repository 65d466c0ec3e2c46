"""A small real gRPC server for the client's tests: it keeps messages in a dict and fails as it is told.

Run as a program it stands in for ``python -m seedbed_server`` and says its
address the same way.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from seedbed.v1 import admin_service_pb2 as admin_pb2
from seedbed.v1 import admin_service_pb2_grpc as admin_grpc
from seedbed.v1 import knowledge_service_pb2 as knowledge_pb2
from seedbed.v1 import knowledge_service_pb2_grpc as knowledge_grpc
from seedbed.v1 import memory_service_pb2 as memory_pb2
from seedbed.v1 import memory_service_pb2_grpc as memory_grpc
from seedbed.v1 import message_pb2


@dataclass
class Failure:
    """How one call is to fail: before or after it did its work, or by waiting until it is let go."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    reason: str = ""
    stored: str = "no"
    fields: tuple[tuple[str, str], ...] = ()
    after: bool = False
    held: threading.Event | None = None

    def abort(self, context: Any) -> Any:
        info = ErrorInfo(domain="seedbed", reason=self.reason, metadata={"stored": self.stored})
        violations = [BadRequest.FieldViolation(field=path, description=why) for path, why in self.fields]
        status = Status(code=self.code.value[0], message="as told")
        for detail in (info, BadRequest(field_violations=violations)):
            any_ = any_pb2.Any()
            any_.Pack(detail)
            status.details.append(any_)
        if self.reason:
            context.abort_with_status(rpc_status.to_status(status))
        context.abort(self.code, "as told")


@dataclass
class Seen:
    """A call as the server saw it."""

    rpc: str
    request: Any
    metadata: dict[str, str]
    seconds_left: float | None
    ended: threading.Event = field(default_factory=threading.Event)


class Scripted:
    """The server: its memories, what it saw, and what it is to do next."""

    def __init__(self) -> None:
        self.memories: dict[str, memory_pb2.Memory] = {}
        self.messages: dict[str, list[message_pb2.Message]] = {}
        self.requests: dict[str, tuple[bytes, memory_pb2.WriteResponse]] = {}
        self.seen: list[Seen] = []
        self.failures: deque[tuple[str, Failure]] = deque()
        self.replies: dict[str, Any] = {}

    def fail(self, rpc: str, *failures: Failure) -> None:
        self.failures.extend((rpc, failure) for failure in failures)

    def rpcs(self) -> list[str]:
        return [seen.rpc for seen in self.seen]

    def last(self, rpc: str) -> Seen:
        return next(seen for seen in reversed(self.seen) if seen.rpc == rpc)

    def handle(self, rpc: str, request: Any, context: Any, work: Any) -> Any:
        seen = Seen(rpc, request, dict(context.invocation_metadata()), context.time_remaining())
        context.add_callback(seen.ended.set)
        self.seen.append(seen)
        failure = self.failures.popleft()[1] if self.failures and self.failures[0][0] == rpc else Failure()
        if failure.held is not None:
            failure.held.wait(100)
        if failure.code is grpc.StatusCode.OK:
            return work(request, context)
        if failure.after:
            work(request, context)
        return failure.abort(context)

    def existing(self, request: Any, context: Any) -> Any:
        if request.memory not in self.memories:
            Failure(grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND").abort(context)
        return self.memories[request.memory]

    def made(self, request: Any) -> Any:
        memory = memory_pb2.Memory(
            namespace=request.namespace or "default", memory=request.memory, system=request.system, revision=1
        )
        memory.variant.buffer.SetInParent()
        if request.HasField("variant"):
            memory.variant.CopyFrom(request.variant)
        memory.created_at.GetCurrentTime()
        self.memories[request.memory] = memory
        self.messages[request.memory] = []
        return memory

    def create_memory(self, request: Any, context: Any) -> Any:
        if request.memory in self.memories:
            Failure(grpc.StatusCode.ALREADY_EXISTS, "MEMORY_EXISTS").abort(context)
        return memory_pb2.CreateMemoryResponse(memory=self.made(request))

    def get_memory(self, request: Any, context: Any) -> Any:
        return memory_pb2.GetMemoryResponse(memory=self.existing(request, context))

    def list_memories(self, request: Any, context: Any) -> Any:
        names = sorted(name for name in self.memories if name > request.page_token)
        page = names[: request.page_size]
        token = page[-1] if len(names) > len(page) else ""
        return memory_pb2.ListMemoriesResponse(memories=[self.memories[name] for name in page], next_page_token=token)

    def update_memory(self, request: Any, context: Any) -> Any:
        memory = self.existing(request, context)
        request.update_mask.MergeMessage(request, memory, True, False)
        memory.revision += 1
        return memory_pb2.UpdateMemoryResponse(memory=memory)

    def delete_memory(self, request: Any, context: Any) -> Any:
        self.existing(request, context)
        del self.memories[request.memory]
        return memory_pb2.DeleteMemoryResponse(messages_deleted=len(self.messages.pop(request.memory)))

    def write(self, request: Any, context: Any) -> Any:
        payload = request.SerializeToString(deterministic=True)
        if request.request_id in self.requests:
            before, answer = self.requests[request.request_id]
            if before != payload:
                Failure(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED").abort(context)
            return answer
        created = request.memory not in self.memories
        if created:
            self.made(request)
        first = len(self.messages[request.memory]) + 1
        for message in request.messages:
            self.add(request.memory, message, request.session)
        answer = memory_pb2.WriteResponse(
            message_ids=[message.id for message in request.messages],
            first_seq=first,
            last_seq=len(self.messages[request.memory]),
            memory_created=created,
        )
        self.requests[request.request_id] = (payload, answer)
        return answer

    def add(self, memory: str, message: message_pb2.Message, session: str) -> None:
        stored = self.messages[memory]
        kept = message_pb2.Message()
        kept.CopyFrom(message)
        kept.seq, kept.session = len(stored) + 1, session
        stored.append(kept)

    def read(self, request: Any, context: Any) -> Any:
        self.existing(request, context)
        found = [
            message
            for message in self.messages[request.memory]
            if message.seq > request.after_seq and request.session in ("", message.session)
        ]
        page = found[: request.page_size]
        return memory_pb2.ReadResponse(messages=page, next_after_seq=page[-1].seq if len(found) > len(page) else 0)

    def seed(self, request: Any, context: Any) -> Any:
        memory = self.existing(request, context)
        answer = memory_pb2.SeedResponse(applied_seq=len(self.messages[request.memory]))
        if memory.system:
            answer.messages.add(role="system", parts=[{"text": memory.system}])
        for message in self.messages[request.memory]:
            answer.messages.add(role=message.role, parts=message.parts)
        return answer

    def clear(self, request: Any, context: Any) -> Any:
        self.existing(request, context)
        stored = self.messages[request.memory]
        kept = [message for message in stored if request.session not in ("", message.session)]
        self.messages[request.memory] = kept
        return memory_pb2.ClearResponse(messages_cleared=len(stored) - len(kept))

    def import_messages(self, requests: Any, context: Any) -> Any:
        elements = list(requests)
        self.last("ImportMessages").request = elements
        first = elements[0]
        if first.memory not in self.memories:
            self.made(first)
        for element in elements:
            for message in element.messages:
                self.add(first.memory, message, message.session)
        count = sum(len(element.messages) for element in elements)
        return memory_pb2.ImportMessagesResponse(imported=count, last_seq=len(self.messages[first.memory]))

    def export_memory(self, request: Any, context: Any) -> Any:
        memory = self.existing(request, context)
        seen = self.last("ExportMemory")

        def stream() -> Any:
            yield memory_pb2.ExportMemoryResponse(memory=memory)
            for message in self.messages[request.memory]:
                if seen.ended.is_set():
                    return
                yield memory_pb2.ExportMemoryResponse(message=message)

        return stream()

    def canned(self, rpc: str, reply: Any) -> Any:
        def work(request: Any, context: Any) -> Any:
            if hasattr(request, "memory") and rpc != "GetStatus":
                self.existing(request, context)
            return self.replies.get(rpc, reply())

        return work


def servicer(base: type, scripted: Scripted, works: dict[str, Any]) -> Any:
    """A servicer of the generated ``base``, each of whose calls goes through the script."""

    def method(rpc: str, work: Any) -> Any:
        return lambda self, request, context: scripted.handle(rpc, request, context, work)

    return type(base.__name__, (base,), {rpc: method(rpc, work) for rpc, work in works.items()})()


@contextmanager
def serving(
    scripted: Scripted, listen: str = "127.0.0.1:0", credentials: grpc.ServerCredentials | None = None
) -> Iterator[str]:
    """Serve on a real socket; yields the address."""
    limit = 64 * 2**20
    options = [("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)]
    server = grpc.server(ThreadPoolExecutor(8), options=[*options, ("grpc.so_reuseport", 0)])
    own = {
        "CreateMemory": scripted.create_memory,
        "GetMemory": scripted.get_memory,
        "ListMemories": scripted.list_memories,
        "UpdateMemory": scripted.update_memory,
        "DeleteMemory": scripted.delete_memory,
        "Write": scripted.write,
        "Read": scripted.read,
        "Seed": scripted.seed,
        "Clear": scripted.clear,
        "ImportMessages": scripted.import_messages,
        "ExportMemory": scripted.export_memory,
        "Recall": scripted.canned("Recall", memory_pb2.RecallResponse),
        "ListRecalls": scripted.canned("ListRecalls", memory_pb2.ListRecallsResponse),
        "Forget": scripted.canned("Forget", memory_pb2.ForgetResponse),
    }
    knowledge = {
        "ListEntities": knowledge_pb2.ListEntitiesResponse,
        "GetEntity": knowledge_pb2.GetEntityResponse,
        "ListTriples": knowledge_pb2.ListTriplesResponse,
        "Explore": knowledge_pb2.ExploreResponse,
        "FindPaths": knowledge_pb2.FindPathsResponse,
        "MergeEntities": knowledge_pb2.MergeEntitiesResponse,
        "SplitEntity": knowledge_pb2.SplitEntityResponse,
        "AddTriples": knowledge_pb2.AddTriplesResponse,
        "RetractTriples": knowledge_pb2.RetractTriplesResponse,
    }
    admin = {"GetStatus": admin_pb2.GetStatusResponse, "ListModels": admin_pb2.ListModelsResponse}
    canned = [{rpc: scripted.canned(rpc, reply) for rpc, reply in group.items()} for group in (knowledge, admin)]
    memory_grpc.add_MemoryServiceServicer_to_server(servicer(memory_grpc.MemoryServiceServicer, scripted, own), server)
    knowledge_grpc.add_KnowledgeServiceServicer_to_server(
        servicer(knowledge_grpc.KnowledgeServiceServicer, scripted, canned[0]), server
    )
    admin_grpc.add_AdminServiceServicer_to_server(
        servicer(admin_grpc.AdminServiceServicer, scripted, canned[1]), server
    )
    port = server.add_secure_port(listen, credentials) if credentials else server.add_insecure_port(listen)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def main(arguments: list[str]) -> None:
    """Serve until killed, as ``seedbed serve`` does."""
    assert arguments[0] == "serve"
    options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    if options.get("--fate") == "end":
        sys.stderr.write("no such luck\n")
        sys.exit(3)
    with serving(Scripted(), options["--listen"]) as address:
        if options.get("--fate") != "silent":
            os.write(int(options["--ready-fd"]), f"{address}\n".encode())
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
