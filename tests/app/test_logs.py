"""Log lines: the fields that were given, and never the text of an exception."""

import json
import logging
from collections.abc import Mapping
from types import TracebackType

import pytest

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
