"""Files that a command reads or writes: what goes wrong with one is told in a line, and none is left half written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


class FileError(Exception):
    """A file cannot be read or written: which, and why in the system's words."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file} {why}")
        self.file = file
        self.why = why


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """The block reads a file, and nothing else that could raise OSError. Raises FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror or 'it is damaged'}") from None


@contextmanager
def writing(file: Path) -> Iterator[TextIO]:
    """The block writes a file, which takes its place when the block has ended well; else all is as it was.

    ``-`` is standard output. Raises FileError, at once for a place that cannot be written to.
    """
    standard = str(file) == "-"
    try:
        if standard:
            yield sys.stdout
            sys.stdout.flush()
        else:
            with _replacing(Path(os.path.realpath(file))) as stream:
                yield stream
    except (TimeoutError, BrokenPipeError):  # a call's, and a reader's that has seen enough
        raise
    except OSError as error:
        raise FileError(Path("standard output") if standard else file, f"cannot be written: {error.strerror}") from None


@contextmanager
def _replacing(target: Path) -> Iterator[TextIO]:
    exists = target.exists()
    if exists and not target.is_file():  # a pipe or a device is what it is; a directory cannot be opened
        with target.open("w", encoding="utf-8") as stream:
            yield stream
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    aside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with aside.open("x", encoding="utf-8") as stream:
            if exists:
                shutil.copymode(target, aside)
            yield stream
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
