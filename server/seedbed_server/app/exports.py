"""What other programs export, as messages: chat API lists, ChatGPT's and Claude's ``conversations.json``.

Every message gets an id that is the same whenever the file is read: the export's
own where there is one, together with its conversation where there are several,
since each may count from zero; else a digest of what it says and where it stands.
So an import that broke off is repeated, and stores nothing twice. A conversation
becomes a session. Conversations come by their age, whatever the order of the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from seedbed import Message
from seedbed.messages import Media, ToolCall, is_blank_text

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)[;,]")
_SENDERS = {"human": "user", "assistant": "assistant"}
# What ChatGPT keeps beside the conversation: its own thoughts, and what it was told about the user.
_NOT_SAID = frozenset({"thoughts", "reasoning_recap", "model_editable_context", "user_editable_context"})


class UnknownFormatError(ValueError):
    """The document is no export that is known here."""


def messages(document: Any) -> Iterator[Message]:
    """Yield the messages of a parsed JSON document, conversation by conversation.

    Raises UnknownFormatError for a document of another kind. A conversation that
    does not have the form of its kind raises ValueError, TypeError, KeyError or
    AttributeError when it is reached.
    """
    if isinstance(document, dict):
        document = [document]
    if not isinstance(document, list) or not document or not all(isinstance(one, dict) for one in document):
        raise UnknownFormatError
    if all("mapping" in one for one in document):
        for conversation in sorted(document, key=lambda one: float(one.get("create_time") or 0)):
            yield from _chatgpt(conversation)
    elif all("chat_messages" in one for one in document):
        for conversation in sorted(document, key=lambda one: str(one.get("created_at") or "")):
            yield from _claude(conversation)
    elif all("messages" in one for one in document):
        for number, conversation in enumerate(document, 1):
            yield from conversation_messages(conversation, number if len(document) > 1 else 0)
    elif all("role" in one for one in document):
        yield from api_messages(document, "default")
    else:
        raise UnknownFormatError


def conversation_messages(conversation: Mapping[str, Any], number: int) -> Iterator[Message]:
    """Yield what stands in ``messages``, as files for fine-tuning have it; ``number``, from 1, tells several apart."""
    named = _string(conversation, "id", "") or (f"conversation {number}" if number else "default")
    return api_messages(conversation["messages"], named)


def api_messages(rows: Sequence[Mapping[str, Any]], session: str, first: int = 0) -> Iterator[Message]:
    """Yield messages as chat APIs take them; what says nothing and calls nothing is left out.

    ``first`` is where the first one stands. A row may have an id, a session and a time of its own.
    """
    for at, row in enumerate(rows, first):
        content, when = row.get("content"), row.get("time")
        if isinstance(content, list) and not all(isinstance(part, dict) for part in content):
            raise TypeError("content")
        known = json.dumps([session, at, row], sort_keys=True)
        message = Message(
            role=_string(row, "role"),
            parts=tuple(_parts(content)),
            name=_string(row, "name", ""),
            tool_calls=tuple(_tool_calls(row.get("tool_calls") or ())),
            tool_call_id=_string(row, "tool_call_id", ""),
            time=datetime.fromisoformat(when) if when else None,
            id=_own(row, session) or hashlib.sha256(known.encode()).hexdigest()[:32],
            session=_string(row, "session", "") or session,
        )
        if message.parts or message.tool_calls or message.tool_call_id:
            yield message


def _own(row: Mapping[str, Any], session: str) -> str:
    """The row's own id; of one conversation among several, with the conversation: its ids may be mere numbers."""
    own = _string(row, "id", "")
    if not own or session == "default":
        return own
    return hashlib.sha256(json.dumps([session, own]).encode()).hexdigest()[:32]


def _chatgpt(conversation: Mapping[str, Any]) -> Iterator[Message]:
    """The branch of the tree that was shown last, from its root to its leaf."""
    session = _string(conversation, "conversation_id", "") or _string(conversation, "id")
    mapping = conversation["mapping"]
    branch: dict[str, Any] = {}
    at = conversation.get("current_node") or _last_leaf(mapping)
    while at is not None and at not in branch:
        branch[at] = mapping[at]
        at = mapping[at].get("parent")
    for node_id, node in reversed(branch.items()):
        said = node.get("message") or {}
        content, metadata = said.get("content") or {}, said.get("metadata") or {}
        if content.get("content_type") in _NOT_SAID or metadata.get("is_visually_hidden_from_conversation"):
            continue
        parts = tuple(_parts(content.get("parts") or content.get("text") or content.get("result")))
        if parts:
            author, when = said["author"], said.get("create_time")
            yield Message(
                role=_string(author, "role"),
                parts=parts,
                name=author.get("name") or "",
                time=datetime.fromtimestamp(when, UTC) if when else None,
                id=hashlib.sha256(json.dumps([session, said.get("id") or node_id]).encode()).hexdigest()[:32],
                session=session,
            )


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    leaves = [node_id for node_id, node in mapping.items() if not node.get("children")]
    return leaves[-1] if leaves else None


def _claude(conversation: Mapping[str, Any]) -> Iterator[Message]:
    for said in conversation["chat_messages"]:
        texts = [block.get("text") for block in said.get("content") or () if block.get("type") == "text"]
        attached = [file.get("extracted_content") for file in said.get("attachments") or ()]
        parts = tuple(_parts([*(texts or [said.get("text")]), *attached]))
        if parts:
            sender, when = _string(said, "sender"), said.get("created_at")
            yield Message(
                role=_SENDERS.get(sender, sender),
                parts=parts,
                time=datetime.fromisoformat(when) if when else None,
                id=_string(said, "uuid"),
                session=_string(conversation, "uuid"),
            )


def _parts(content: Any) -> Iterator[str | Media]:
    """The parts of a message's content, in any of the forms; of what holds neither text nor an address, nothing."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            text, uri = part, ""
        elif isinstance(part, dict):
            image = part.get("image_url")
            text = part.get("text") or ""
            uri = (image.get("url") if isinstance(image, dict) else image) or part.get("asset_pointer") or ""
        elif part is None:
            continue
        else:
            raise TypeError("content")
        if text and not is_blank_text(text):
            yield text
        if uri:
            data = _DATA_URI.match(uri)
            yield Media(data[1] if data else "image/*", uri=uri)


def _tool_calls(calls: Sequence[Mapping[str, Any]]) -> Iterator[ToolCall]:
    for call in calls:
        function = call["function"]
        yield ToolCall(_string(call, "id", ""), _string(function, "name"), _string(function, "arguments", ""))


def _string(row: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = row[key] if default is None else row.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TypeError(key)
    return value
