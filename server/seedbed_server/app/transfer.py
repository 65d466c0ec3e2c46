"""Files in and out: a memory as JSON Lines, a message a line, then a decision a line.

A line is ``{"id", "session", "role", "name", "content", "time"}``; only ``role``
and ``content`` are needed. A message that is more than one text is a line of the
contract's own JSON (``parts``, ``tool_calls``, ``tool_call_id``, ``metadata``), so
nothing is lost. Without an id, a message gets one from what it says and where it
stands, so that repeating an import stores nothing twice. A line of a decision about
the graph of facts is ``{"decision": …}`` with the contract's JSON.

Read are also the formats of ``exports``: a chat API's list of messages, a line or
a file with one in ``messages``, and what ChatGPT and Claude export.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from rich.console import Console
from rich.progress import Progress

from seedbed import Message, wire
from seedbed.client import RemoteMemory
from seedbed.decisions import Decision, decision_from_proto
from seedbed.results import Imported
from seedbed.v1 import decision_pb2
from seedbed.v1 import message_pb2 as pb
from seedbed_server.app import exports
from seedbed_server.app.files import reading, writing
from seedbed_server.errors import InvalidFieldError
from seedbed_server.rpc import checks


class BadFileError(ValueError):
    """The file, or a line of it, is not messages; the text says which line, and nothing of its content.

    ``hint`` says what would be.
    """

    hint = (
        'Read are: JSON Lines, each with "role" and "content"; a JSON list of such messages, as chat APIs take it; '
        "conversations.json of ChatGPT or Claude."
    )


def import_file(memory: RemoteMemory, file: Path, console: Console) -> Imported:
    """Import a file, with a bar. Raises BadFileError and FileError; what stood before the bad line is stored."""
    with Progress(console=console) as progress:  # the bar ends with the block, also when a line is bad
        bar = progress.add_task("messages", total=_count(file) if _is_lines(file) else None)

        def counted() -> Iterator[Message | Decision]:
            for place, item in _placed(file):
                if isinstance(item, Message):
                    _check(place, item)
                yield item
                progress.advance(bar)

        return memory.import_messages(counted())


def _is_lines(file: Path) -> bool:
    """Whether the file is a message or a conversation a line: the first line decides, which is then one JSON object."""
    with reading(file), file.open("rb") as lines:
        first = next((line.strip() for line in lines if line.strip()), b"")
    if not first:
        raise BadFileError("it is empty")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return not first.startswith(b"[") and first != b"{"
    return not isinstance(row, list) and not (isinstance(row, dict) and {"mapping", "chat_messages"} & row.keys())


def _count(file: Path) -> int:
    with reading(file), file.open("rb") as lines:
        return sum(1 for _ in lines)


def _placed(file: Path) -> Iterator[tuple[str, Message | Decision]]:
    """The messages and decisions of a file, each with its place in words."""
    if _is_lines(file):
        yield from _lines(file)
    else:
        yield from ((f"message {number}", message) for number, message in enumerate(_document(file), 1))


def _lines(file: Path) -> Iterator[tuple[str, Message | Decision]]:
    with reading(file), file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield from ((f"line {number}", item) for item in _line_items(number, line))


def _document(file: Path) -> Iterator[Message]:
    with reading(file):
        content = file.read_bytes()
    try:
        yield from exports.messages(json.loads(content))
    except exports.UnknownFormatError:
        raise BadFileError("it holds no conversation of a known form") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise BadFileError("it cannot be read as conversations") from None


def read_messages(file: Path) -> Iterator[Message]:
    """Return an iterator over a file's messages. Raises BadFileError at what is none, and FileError."""
    return (item for _, item in _placed(file) if isinstance(item, Message))


def _check(place: str, message: Message) -> None:
    """Hold a message against the contract, as the server will: it cannot know the line. Raises BadFileError."""
    try:
        checks.message(wire.message_to_proto(message), "")
    except (InvalidFieldError, wire.WireError) as error:
        raise BadFileError(f"{place}: {error.path.removeprefix('.')} {error.why}") from None


def export_file(memory: RemoteMemory, file: Path) -> None:
    """Write a memory's messages and decisions to a file. Raises FileError, and what a call raises."""
    rows = ({"decision": dict(item.data)} if isinstance(item, Decision) else _row(item) for item in memory.export_all())
    with writing(file) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _line_items(number: int, line: bytes) -> Iterator[Message | Decision]:
    try:
        row: dict[str, Any] = json.loads(line.decode("utf-8-sig"))
        if "decision" in row:
            yield decision_from_proto(json_format.ParseDict(row["decision"], decision_pb2.Decision()))
            return
        if "messages" in row:
            found = [*exports.conversation_messages(row, number)]
        elif isinstance(row.get("content"), str) and "tool_calls" not in row:
            found = [_simple(row)]
        elif "content" in row:
            found = [*exports.api_messages([row], "default", number)]
        else:
            found = [wire.message_from_proto(json_format.ParseDict(row, pb.Message()))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, json_format.ParseError):
        raise BadFileError(f"line {number} is not a message") from None
    for message in found:
        if not message.role:
            raise BadFileError(f"line {number} is not a message")
        made = message.id or hashlib.sha256(b"%d\n%b" % (number, line.strip())).hexdigest()[:32]
        yield replace(message, id=made, session=message.session or "default")


def _simple(row: dict[str, Any]) -> Message:
    return Message(
        role=_text(row, "role"),
        parts=(_text(row, "content"),),
        name=_text(row, "name", ""),
        time=datetime.fromisoformat(row["time"]) if row.get("time") else None,
        session=_text(row, "session", ""),
        id=_text(row, "id", ""),
    )


def _text(row: dict[str, Any], key: str, default: str | None = None) -> str:
    value = row[key] if default is None else row.get(key, default)
    if not isinstance(value, str):
        raise TypeError(key)
    return value


def _row(message: Message) -> dict[str, Any]:
    if (
        len(message.parts) != 1
        or not isinstance(message.parts[0], str)
        or message.tool_calls
        or message.tool_call_id
        or message.metadata
    ):
        # The number and the moment of its storing are the server's own, and not those of a copy.
        bare = replace(message, seq=0, recorded_at=None)
        whole: dict[str, Any] = json_format.MessageToDict(wire.message_to_proto(bare), preserving_proto_field_name=True)
        return whole
    said = {"time": message.time.isoformat()} if message.time else {}
    named = {"name": message.name} if message.name else {}
    return {
        "id": message.id,
        "session": message.session,
        "role": message.role,
        **named,
        "content": message.text,
        **said,
    }
