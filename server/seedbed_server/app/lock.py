"""The lock on the data directory: two servers on one directory would corrupt it silently."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TextIO


class DataDirTakenError(Exception):
    """Another server holds the data directory."""


def lock_data_dir(path: Path) -> TextIO:
    """Create the directory if needed and lock it; the lock goes with the returned file.

    Raises DataDirTakenError when another process holds it; nothing is touched then.
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = (path / "lock").open("a+", encoding="ascii")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise DataDirTakenError from None
    handle.truncate(0)
    handle.write(f"{os.getpid()}\n")
    handle.flush()
    return handle
