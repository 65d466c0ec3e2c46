"""Days as people write them, the same in every locale."""

from __future__ import annotations

from datetime import datetime

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def day(time: datetime) -> str:
    """Return the day of a UTC time: "8 May 2023"."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}"


def month(time: datetime) -> str:
    """Return the month of a UTC time: "May 2023"."""
    return f"{_MONTHS[time.month - 1]} {time.year}"
