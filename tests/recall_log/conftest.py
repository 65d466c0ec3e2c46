"""A log with a memory, and the recall log beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Log, NewMemory
from seedbed_server.recall_log import Entry, Piece, RecallLog
from tests.on_disk import files_with

PLACE = "default", "maya"


@dataclass
class Desk:
    """The two logs on one folder, opened and closed as a server would, and words to use them by."""

    folder: Path
    kept: int = 100
    most_bytes: int = 2**24
    key: int = 0
    _numbers: count[int] = field(default_factory=count)

    async def open(self) -> Desk:
        self.log = await Log.open(f"sqlite:///{self.folder / 'log.db'}")
        self.recalls = await RecallLog.open(self.log, self.folder, kept=self.kept, most_bytes=self.most_bytes)
        return self

    async def close(self) -> None:
        await self.recalls.close()
        await self.log.close()

    async def write(self, *ids: str, name: str = PLACE[1], session: str = "s") -> int:
        """Write messages of these ids; returns the memory's key."""
        batch = [Message("user", (f"text of {one}",), id=one) for one in ids]
        stored = await self.log.append(PLACE[0], name, session, batch, create=NewMemory(Buffer(), ""))
        return stored.key

    def note(self, *ids: str, key: int = 0, session: str = "s", query: str = "") -> str:
        """Note a Seed that showed these; returns its query."""
        query = query or f"query number {next(self._numbers)}"
        pieces = tuple(Piece("vector", "recalled", 0.5, 7, (one,)) for one in ids)
        entry = Entry(
            key or self.key,
            datetime.now(UTC),
            "Seed",
            session=session,
            query=query,
            pieces=pieces,
            shown=frozenset(ids),
        )
        self.recalls.note(entry)
        return query

    async def queries(self, key: int = 0, session: str = "") -> list[str]:
        """What is listed, newest first."""
        return [one.entry.query for one in await self.recalls.page(key or self.key, session=session, limit=1000)]

    def files_with(self, word: str) -> list[str]:
        """The names of the files of the folder that hold a word."""
        return files_with(self.folder, word)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """An open desk, with messages m0 to m9."""
    desk = await Desk(tmp_path).open()
    desk.key = await desk.write(*(f"m{n}" for n in range(10)))
    yield desk
    await desk.close()
