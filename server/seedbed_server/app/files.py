"""Files that a command reads or writes: what goes wrong with one is told in a line, and none is left half written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast


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


class Output:
    """A file or stream that is being written. Only what goes wrong with it is told as such: raises FileError."""

    def __init__(self, file: Path, stream: TextIO) -> None:
        self._file = file
        self._stream = stream

    def write(self, text: str) -> None:
        """Write a text, or keep it until there is more."""
        with _telling(self._file):
            self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, which bring their own ends, as they come."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what was kept."""
        with _telling(self._file):
            self._stream.flush()


@contextmanager
def writing(file: Path) -> Iterator[Output]:
    """The block writes a file, which takes its place when the block has ended well; else all is as it was.

    ``-`` is standard output. Raises FileError, at once for a place that cannot be written to.
    """
    with _telling(file):
        in_place = file.exists() and not file.is_file()  # a pipe or a device is what it is; a folder cannot be opened
    if str(file) == "-":
        output = Output(Path("standard output"), sys.stdout)
        yield output
        output.flush()
    elif in_place:
        with _opened(file, file, "w") as stream:
            output = Output(file, stream)
            yield output
            output.flush()
    else:
        with _replacing(file) as output:
            yield output


@contextmanager
def _replacing(file: Path) -> Iterator[Output]:
    target = Path(os.path.realpath(file))
    aside = target.with_name(f".{secrets.token_hex(8)}.part")
    with _telling(file):
        exists = target.exists()
        if exists and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        with _opened(file, aside, "x") as stream:
            with _telling(file):
                if exists:
                    shutil.copymode(target, aside)
            output = Output(file, stream)
            yield output
            output.flush()
            with _telling(file):
                os.fsync(stream.fileno())  # or a power failure after the replacement could leave an empty file
        with _telling(file):
            aside.replace(target)
    finally:
        with _telling(file):
            aside.unlink(missing_ok=True)


@contextmanager
def _opened(file: Path, place: Path, mode: str) -> Iterator[TextIO]:
    """Open a place for what is told to be ``file``; closing writes what is left, and may fail as writing may."""
    with _telling(file):
        stream = place.open(mode, encoding="utf-8")
    try:
        yield cast("TextIO", stream)
    finally:
        with _telling(file):
            stream.close()


@contextmanager
def _telling(file: Path) -> Iterator[None]:
    """The block does something with a file that is written, and nothing else that could raise OSError."""
    try:
        yield
    except BrokenPipeError:  # a reader's that has seen enough
        raise
    except OSError as error:
        raise FileError(file, f"cannot be written: {error.strerror}") from None
