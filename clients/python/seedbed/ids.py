"""Message ids: unique, and sorting by the time they were made."""

from __future__ import annotations

import secrets
import time
from threading import Lock
from uuid import UUID

_lock = Lock()
_last = 0


def new_id() -> str:
    """Return a UUID of version 7 (RFC 9562, section 5.7), greater than every one made here before.

    The 12 bits after the milliseconds are a fraction of the millisecond
    (method 3 of section 6.2), stepped by one when two ids fall together.
    """
    global _last  # noqa: PLW0603 - the clock of this process, of which there is one
    with _lock:
        now = (time.time_ns() << 12) // 1_000_000
        _last = now = max(now, _last + 1)
    milliseconds, fraction = now >> 12, now & 0xFFF
    value = milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(UUID(int=value))
