"""Log lines: the fields that were given, and never the text of an exception."""

import json
import logging

import pytest

from seedbed_server.app.logs import JsonFormatter, TextFormatter


def record(event, extra=(), exc_info=None):
    logger = logging.getLogger("seedbed_server.test")
    return logger.makeRecord(logger.name, logging.INFO, __file__, 1, event, (), exc_info, extra=dict(extra))


def failure():
    try:
        raise ValueError("words of a user")
    except ValueError as error:
        return type(error), error, error.__traceback__


def test_json_has_the_fields():
    """Event, level, timestamp, and what came as extra, numbers as numbers."""
    line = json.loads(JsonFormatter().format(record("call", {"code": "OK", "ms": 1.5})))
    assert line.pop("timestamp").endswith("+00:00")
    assert line == {"event": "call", "level": "info", "code": "OK", "ms": 1.5}


def test_text_is_one_line():
    """A value with spaces or line breaks is quoted: nobody can add a line or a field."""
    line = TextFormatter().format(record("call", {"code": "OK", "request_id": "a\nb code=NO"}))
    assert line.endswith(' info    call code=OK request_id="a\\nb code=NO"')
    assert "\n" not in line


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_exception_without_its_text(formatter):
    """The type and the place of an exception are logged, its text is not."""
    line = formatter.format(record("fault", exc_info=failure()))
    assert "ValueError at failure:" in line
    assert "words" not in line
