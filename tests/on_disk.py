"""What stands in the files of a data directory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def files_with(folder: Path, word: str) -> list[str]:
    """The names of the files below a folder that hold a word; a server may be running on them."""
    found = []
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # a database's journal comes and goes
            if word.encode() in file.read_bytes():
                found.append(file.name)
    return found
