"""Which messages are alive, looked up once: a message stays what it is until something is erased."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from seedbed_server.log import Log, MemoryRecord

# Ids that are remembered, over all memories, some 20 MB; and memories.
MOST = 200_000
MEMORIES = 1024


@dataclass(slots=True)
class _Remembered:
    erased: int
    ids: dict[int, str] = field(default_factory=dict)


class Living:
    """The ids of messages that are in the log. For one event loop.

    seq has no gaps, so what is missing between ``last_seq`` and the count is what
    was erased: when that number has grown, all that is remembered of the memory is
    dropped. An erasure that was acknowledged before a call is seen by that call.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._memories: OrderedDict[int, _Remembered] = OrderedDict()

    async def ids(self, record: MemoryRecord, seqs: Iterable[int]) -> dict[int, str]:
        """Return the ids, by seq, of those of the messages that are in the log."""
        wanted = sorted(set(seqs))
        ids = self._remembered(record).ids
        unknown = [seq for seq in wanted if seq not in ids]
        if unknown:
            ids.update(await self._log.alive(record.key, unknown))
        self._evict(keep=record.key)
        return {seq: ids[seq] for seq in wanted if seq in ids}

    def _remembered(self, record: MemoryRecord) -> _Remembered:
        erased = record.last_seq - record.message_count
        found = self._memories.get(record.key)
        if found is None or found.erased < erased:
            found = self._memories[record.key] = _Remembered(erased)
        self._memories.move_to_end(record.key)
        return found

    def _evict(self, *, keep: int) -> None:
        """Drop the memories that were least recently asked about; one alone may be as large as it is."""
        total = sum(len(memory.ids) for memory in self._memories.values())
        while (total > MOST and len(self._memories) > 1) or len(self._memories) > MEMORIES:
            key = next(iter(self._memories))
            if key == keep:
                self._memories.move_to_end(key)
                continue
            total -= len(self._memories.pop(key).ids)
