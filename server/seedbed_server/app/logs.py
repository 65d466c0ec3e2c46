"""Structured logs, to standard error. They hold names, codes and counts, never content.

A line is an event and its fields, those that a call of the logger gave as
``extra``. Of an exception it has the type and the places, not the text, which
may hold a user's words.

Lines are written by a thread of their own: whoever reads them slowly, or not at
all, must not hold up the event loop. When too many wait, new ones are dropped.
"""

from __future__ import annotations

import atexit
import json
import logging
import queue
import re
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

# What every record has; the rest came as ``extra``.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MOST_WAITING = 10_000
_PATIENCE = 1.0  # seconds for the last lines, at the end of the process
_PLAIN = re.compile(r"[\w./:+-]+")


class JsonFormatter(logging.Formatter):
    """A line of JSON: event, level, timestamp and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return json.dumps(_fields(record), ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """A line for people: timestamp, level, event, then the fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = _fields(record)
        head = f"{fields.pop('timestamp')} {fields.pop('level'):<7} {_one_line(fields.pop('event'))}"
        return " ".join([head, *(f"{name}={_value(value)}" for name, value in fields.items())])


def configure(log_format: str) -> None:
    """Send every log line of this process through one formatter, ``text`` or ``json``."""
    writer = logging.StreamHandler(sys.stderr)
    writer.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [_Aside(writer)]
    root.setLevel(logging.WARNING)
    logging.getLogger("seedbed_server").setLevel(logging.INFO)


class _Aside(logging.Handler):
    """Has a thread hand records to ``writer``, in order."""

    def __init__(self, writer: logging.Handler) -> None:
        super().__init__()
        self._writer = writer
        self._waiting: queue.Queue[logging.LogRecord | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def emit(self, record: logging.LogRecord) -> None:
        """Put the record in line, unless that is full."""
        with suppress(queue.Full):
            self._waiting.put_nowait(record)

    def _write(self) -> None:
        while (record := self._waiting.get()) is not None:
            self._writer.handle(record)

    def _end(self) -> None:
        """Write what waits, if somebody reads it."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=_PATIENCE)
            self._thread.join(_PATIENCE)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "event": record.getMessage(),
        "level": record.levelname.lower(),
        "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
    }
    fields |= _extra(vars(record))
    if record.exc_info and record.exc_info[0] is not None:
        kind, _, trace = record.exc_info
        places = (f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(trace))
        fields["exception"] = f"{kind.__name__} at {' '.join(places)}"
    return fields


def _extra(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in _OWN}


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)
