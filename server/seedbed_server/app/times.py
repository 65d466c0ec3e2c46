"""Times on the command line: a day or a moment in ISO 8601, of UTC where it names no zone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer


def _moment(given: str) -> datetime:
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        raise typer.BadParameter("is no day or moment such as 2026-04-30 or 2026-04-30T12:00:00Z") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


ValidAt = Annotated[
    datetime | None, typer.Option(parser=_moment, metavar="TIME", help="What held then, such as 2026-04-30 (UTC).")
]
KnownAt = Annotated[
    datetime | None, typer.Option(parser=_moment, metavar="TIME", help="What was recorded by then (UTC).")
]
