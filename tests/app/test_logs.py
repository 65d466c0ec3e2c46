"""Log lines: the fields that were given, and never the text of an exception."""

import io
import json
import logging
import threading
from collections.abc import Callable, Mapping
from types import TracebackType

import pytest

from seedbed_server.app import logs
from seedbed_server.app.logs import JsonFormatter, TextFormatter

Caught = tuple[type[BaseException], BaseException, TracebackType | None]


def record(event: str, extra: Mapping[str, object] | None = None, exc_info: Caught | None = None) -> logging.LogRecord:
    logger = logging.getLogger("seedbed_server.test")
    return logger.makeRecord(logger.name, logging.INFO, __file__, 1, event, (), exc_info, extra=extra)


def failure() -> Caught:
    try:
        int("words of a user")
    except ValueError as error:
        return type(error), error, error.__traceback__
    raise AssertionError


def test_json_has_the_fields() -> None:
    """Event, level, timestamp, and what came as extra, numbers as numbers."""
    line = json.loads(JsonFormatter().format(record("call", {"code": "OK", "ms": 1.5})))
    assert line.pop("timestamp").endswith("+00:00")
    assert line == {"event": "call", "level": "info", "code": "OK", "ms": 1.5}


def test_text_is_one_line() -> None:
    """A value with spaces or line breaks is quoted: nobody can add a line or a field."""
    line = TextFormatter().format(record("call", {"code": "OK", "request_id": "a\nb code=NO"}))
    assert line.endswith(' info    call code=OK request_id="a\\nb code=NO"')
    assert "\n" not in line


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_exception_without_its_text(formatter: logging.Formatter) -> None:
    """The type and the place of an exception are logged, its text is not."""
    line = formatter.format(record("fault", exc_info=failure()))
    assert "ValueError at failure:" in line
    assert "words" not in line


class Stuck(io.StringIO):
    """A standard error whose reader has stopped reading."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = threading.Event()

    def write(self, text: str) -> int:
        self.reading.wait(60)
        return super().write(text)


def test_a_reader_that_stops_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging goes on while nothing can be written; what is in line is written once it can, the rest is dropped."""
    stuck = Stuck()
    root = logging.getLogger()
    monkeypatch.setattr("sys.stderr", stuck)
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(logs, "_MOST_WAITING", 100)
    monkeypatch.setattr(logs, "_PATIENCE", 60)
    stops: list[Callable[[], None]] = []
    monkeypatch.setattr("atexit.register", stops.append)
    level = root.level
    try:
        logs.configure("text")
        for n in range(1000):
            root.warning("line %d", n)
        assert stuck.getvalue() == ""
        stuck.reading.set()
        for stop in stops:
            stop()
    finally:
        root.setLevel(level)
        stuck.reading.set()
    lines = stuck.getvalue().splitlines()
    assert lines[0].endswith("line 0")
    assert 100 <= len(lines) <= 102
