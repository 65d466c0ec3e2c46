"""Seedbed: long-term memory for LLM agents.

Everything public is here. The memories in process and the agent need no server;
the names of the client are imported at first use, since they bring gRPC along.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seedbed.agent import Agent, AgentBuilder, AsyncAgent, Reply
from seedbed.local import LocalMemory, MemberWriteError, NeedsServerError
from seedbed.memory import AsyncMemory, Memory
from seedbed.messages import Media, Message, ToolCall
from seedbed.seeds import Item, Seed, SeedMessage
from seedbed.statements import Statement
from seedbed.variants import (
    Buffer,
    Custom,
    Entity,
    Hybrid,
    KnowledgeGraph,
    Summary,
    SummaryBuffer,
    TokenBuffer,
    Variant,
    Vector,
    Window,
)

if TYPE_CHECKING:
    from seedbed.aio import AsyncClient, AsyncRemoteMemory
    from seedbed.client import Client, RemoteMemory

__all__ = [
    "Agent",
    "AgentBuilder",
    "AsyncAgent",
    "AsyncClient",
    "AsyncMemory",
    "AsyncRemoteMemory",
    "Buffer",
    "Client",
    "Custom",
    "Entity",
    "Hybrid",
    "Item",
    "KnowledgeGraph",
    "LocalMemory",
    "Media",
    "MemberWriteError",
    "Memory",
    "Message",
    "NeedsServerError",
    "RemoteMemory",
    "Reply",
    "Seed",
    "SeedMessage",
    "Statement",
    "Summary",
    "SummaryBuffer",
    "TokenBuffer",
    "ToolCall",
    "Variant",
    "Vector",
    "Window",
]

_CLIENT = {
    "AsyncClient": "seedbed.aio",
    "AsyncRemoteMemory": "seedbed.aio",
    "Client": "seedbed.client",
    "RemoteMemory": "seedbed.client",
}


def __getattr__(name: str) -> Any:
    if name in _CLIENT:
        return getattr(import_module(_CLIENT[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
