"""Files in and out: a memory as JSON Lines, a message a line.

A line is ``{"id", "session", "role", "name", "content", "time"}``; only ``role``
and ``content`` are needed. A message that is more than one text is a line of the
contract's own JSON (``parts``, ``tool_calls``, ``tool_call_id``, ``metadata``), so
nothing is lost. Without an id, a message gets one from what it says and where it
stands, so that repeating an import stores nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import sys
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
from seedbed.results import Imported
from seedbed.v1 import message_pb2 as pb


class BadLineError(ValueError):
    """A line of the file is not a message; the text says which line, and nothing of its content."""


def import_file(memory: RemoteMemory, file: Path, console: Console) -> Imported:
    """Import a file, with a bar. Raises BadLineError; what stood before the bad line is stored."""
    with file.open("rb") as lines:
        total = sum(1 for _ in lines)
    # The bar ends with the block, also when a line is bad.
    with file.open("rb") as lines, Progress(console=console) as progress:
        bar = progress.add_task("messages", total=total)

        def messages() -> Iterator[Message]:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _message(number, line)
                progress.advance(bar)

        return memory.import_messages(messages())


def read_messages(file: Path) -> Iterator[Message]:
    """The messages of a file. Raises BadLineError at the first line that is none, and OSError."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _message(number, line)


def export_file(memory: RemoteMemory, file: Path) -> None:
    """Write a memory's messages to a file, or to standard output for ``-``."""
    lines = (json.dumps(_row(message), ensure_ascii=False) + "\n" for message in memory.export())
    if str(file) == "-":
        sys.stdout.writelines(lines)
        return
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)


def _message(number: int, line: bytes) -> Message:
    try:
        row: dict[str, Any] = json.loads(line.decode())
        message = (
            _simple(row) if "content" in row else wire.message_from_proto(json_format.ParseDict(row, pb.Message()))
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, json_format.ParseError):
        raise BadLineError(f"line {number} is not a message") from None
    if not message.role:
        raise BadLineError(f"line {number} is not a message")
    made = message.id or hashlib.sha256(b"%d\n%b" % (number, line.strip())).hexdigest()[:32]
    return replace(message, id=made, session=message.session or "default")


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
