"""An in-memory log with the narrow protocol that projections read: for laws of scheduling only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from seedbed.messages import Message
from seedbed.variants import Buffer, Variant
from seedbed_server.log import Decision
from seedbed_server.log.records import Page, Pages

START = datetime(2024, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Head:
    key: int
    last_seq: int


@dataclass(frozen=True)
class Record(Head):
    variant: Variant


@dataclass(frozen=True)
class Erasure:
    id: int
    key: int
    seqs: tuple[int, ...]
    whole: bool = False


class ListLog:
    """Messages per memory in lists; erased ones are None."""

    def __init__(self) -> None:
        self.memories: dict[int, list[Message | None]] = {}
        self.erased: list[Erasure] = []
        self.on_change: list[Callable[[int], None]] = []
        self.variant: Variant = Buffer()
        self.reading: Callable[[], None] = lambda: None  # what happens while messages are read

    def append(self, key: int, *messages: Message | str) -> int:
        """Store messages; a plain string is said by Maya in session "s"."""
        kept = self.memories.setdefault(key, [])
        for message in messages:
            made = Message.user(message, "Maya") if isinstance(message, str) else message
            seq = len(kept) + 1
            time = made.time or START + timedelta(hours=seq)
            placed = replace(made, id=f"{key}-{seq}", seq=seq, session=made.session or "s")
            kept.append(replace(placed, time=time, recorded_at=made.recorded_at or time))
        self._changed(key)
        return len(kept)

    def forget(self, key: int, *seqs: int) -> int:
        for seq in seqs:
            self.memories[key][seq - 1] = None
        self.erased.append(Erasure(len(self.erased) + 1, key, seqs))
        self._changed(key)
        return len(self.erased)

    def delete(self, key: int) -> int:
        del self.memories[key]
        self.erased.append(Erasure(len(self.erased) + 1, key, (), whole=True))
        self._changed(key)
        return len(self.erased)

    def _changed(self, key: int) -> None:
        for listener in self.on_change:
            listener(key)

    async def record(self, key: int) -> Record | None:
        await asyncio.sleep(0)
        return Record(key, len(self.memories[key]), self.variant) if key in self.memories else None

    async def heads(self) -> list[Head]:
        return [Head(key, len(kept)) for key, kept in self.memories.items()]

    async def read(self, key: int, *, after_seq: int = 0, limit: int, session: str = "") -> list[Message]:
        self.reading()
        await asyncio.sleep(0)  # as a real log: others get their turn
        alive = [m for m in self.memories.get(key, [])[after_seq:] if m is not None and session in ("", m.session)]
        return alive[:limit]

    async def pages(self, after: Mapping[int, int], *, share: int, limit: int, reach: int, max_bytes: int) -> Pages:
        found = {}
        for key, seq in after.items():
            if max_bytes <= 0 or limit <= 0:
                break
            kept = self.memories.get(key)
            messages = await self.read(key, after_seq=seq, limit=min(share, limit))
            while len(messages) > 1 and sum(len(m.text) for m in messages) > max_bytes:
                messages.pop()
            limit -= len(messages)
            max_bytes -= sum(len(m.text) for m in messages)
            before = await self.by_seqs(key, range(max(1, seq - reach + 1), seq + 1)) if reach else {}
            found[key] = Page(None if kept is None else len(kept), tuple(messages), tuple(before.values()))
        return Pages(found, len(self.erased))

    async def by_seqs(self, key: int, seqs: Sequence[int]) -> dict[int, Message]:
        kept = self.memories.get(key, [])
        return {s: m for s in seqs if 0 < s <= len(kept) and (m := kept[s - 1]) is not None}

    async def erasures(self, after_id: int, limit: int) -> list[Erasure]:
        return self.erased[after_id : after_id + limit]

    async def decisions(self, key: int, after_id: int = 0) -> list[Decision]:
        return []
