"""The limits on what a request may hold. Every input is bounded; these are the bounds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes of UTF-8, counts in items."""

    id_bytes: int = 256
    """Namespace, memory, session, message id, request id, role, name, tool call id."""
    system_bytes: int = 64 * 1024
    """The pin."""
    query_bytes: int = 100_000
    """The query of Seed and Recall."""
    message_bytes: int = 1024 * 1024
    """One message as it comes over the wire, media included."""
    batch_messages: int = 1000
    """Messages in one Write, or in one element of an import."""
    batch_bytes: int = 8 * 1024 * 1024
    """One Write as it comes over the wire."""
    message_parts: int = 256
    """Content parts of one message; also its tool calls."""
    metadata_entries: int = 64
    """Keys in one message's metadata; also values in one list."""
    metadata_bytes: int = 16 * 1024
    """One message's metadata as it comes over the wire."""
    page: int = 1000
    """The most that one page, or one recall, returns."""
    parts: int = 16
    """Parts of a hybrid."""


LIMITS = Limits()
