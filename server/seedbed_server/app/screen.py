"""What commands print: results to standard output, all else to standard error.

What is printed may be anybody's words: they are no markup, no emoji, and no
commands to a terminal.
"""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

out = Console(emoji=False, highlight=False)
err = Console(stderr=True, emoji=False, highlight=False)

# Control characters but tab and newline are shown as U+FFFD.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")


def say(text: str, style: str = "") -> None:
    """Print a line of the result."""
    out.print(text.translate(_CONTROLS), style=style, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a line that is no part of the result."""
    err.print(text.translate(_CONTROLS), markup=False, soft_wrap=True)


def complain(subject: str, why: str) -> None:
    """Print what went wrong, and with what."""
    err.print(Text.assemble((subject.translate(_CONTROLS), "red"), why.translate(_CONTROLS)), soft_wrap=True)


def fail(code: int, subject: str, why: str) -> NoReturn:
    """Print what went wrong, and end the command with an exit code."""
    complain(subject, why)
    raise typer.Exit(code)


def moment(time: datetime | None) -> str:
    """A time to the minute; nothing where there is none."""
    return f"{time:%Y-%m-%d %H:%M}" if time else ""


def counted(count: int, one: str, many: str = "") -> str:
    """How many there are of what."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def day(time: datetime | None) -> str:
    """The day of a time; nothing where there is none."""
    return f"{time:%Y-%m-%d}" if time else ""
