"""The loaded memories, least recently used first to go, each kept current with the log.

What a projection has applied is loaded from it, as far as the log still has it:
an erasure may not have come there yet. What it has not applied yet, or cannot
give, is read from the log and analysed here, so that a search sees every message
that was written before it: read-your-writes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from seedbed.messages import Message
from seedbed_server.errors import PartUnavailableError
from seedbed_server.log import Log, MemoryRecord
from seedbed_server.models.encoder import Encoder
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.lexical import Lexical, term_row
from seedbed_server.projections.threads import undivided
from seedbed_server.projections.vectors import Vectors, passage
from seedbed_server.recall.hot import HotMemory, Row

# Messages that no projection has applied yet and that a search encodes itself, before it answers, and the most
# characters they may have: a second of one slow core. More than these are searched by their words alone until the
# projection has them, and the answer is marked as degraded.
TAIL_ENCODED = 32
TAIL_CHARACTERS = 32_768
# How long a search waits for the vectors of a memory, in seconds. What it has got by then is kept, and the next one
# goes on from there: a memory of some 100,000 messages takes longer. Meanwhile answers are marked as degraded.
PATIENCE = 15.0
# Seqs whose vectors are fetched, and added, at a time: some 0.2 s, and 3 MB.
PORTION = 2_000
_PAGE = 1000
_PAGE_BYTES = 8 * 2**20


class Progress(Protocol):
    """How far the projections are."""

    def applied(self, key: int) -> Mapping[str, int]:
        """The last seq that each projection has applied."""
        ...

    def cursors(self, projection: Vectors) -> Cursors:
        """How far one projection is."""
        ...


@dataclass(slots=True)
class _Entry:
    memory: HotMemory
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    nbytes: int = 0


class HotMemories:
    """Loads memories and keeps them, in at most ``limit_bytes``; the one in use always stays.

    ``encoder`` is the one that made ``vectors``. ``indexable`` says of which
    messages anything is made, as for the projections.
    """

    def __init__(
        self,
        log: Log,
        progress: Progress,
        lexical: Lexical,
        vectors: Vectors,
        encoder: Encoder,
        *,
        indexable: Callable[[Message], bool],
        limit_bytes: int,
    ) -> None:
        self._log = log
        self._progress = progress
        self._lexical = lexical
        self._vectors = vectors
        self._encoder = encoder
        self._indexable = indexable
        self._limit = limit_bytes
        self._entries: OrderedDict[int, _Entry] = OrderedDict()

    @asynccontextmanager
    async def current(
        self, record: MemoryRecord, patience: float | None = None
    ) -> AsyncIterator[tuple[HotMemory, bool]]:
        """Lend a memory, current up to the record, and whether all its vectors are there.

        Nobody else has it until it is given back. ``patience`` is for how long its
        vectors are waited for, in seconds; PATIENCE without.
        """
        entry = self._entry(record)
        async with entry.lock:
            await self._catch_up_words(entry.memory, record.last_seq)
            complete = await self._catch_up_vectors(entry.memory, PATIENCE if patience is None else patience)
            entry.nbytes = entry.memory.nbytes
            yield entry.memory, complete
        self._evict(keep=record.key)

    def _entry(self, record: MemoryRecord) -> _Entry:
        """Find the memory's entry; one from before an erasure is thrown away.

        seq has no gaps, so what is missing between last_seq and the count is
        what was erased: the number grows with every erasure.
        """
        erased = record.last_seq - record.message_count
        entry = self._entries.get(record.key)
        if entry is None or entry.memory.erased < erased:
            entry = _Entry(HotMemory(record.key, self._encoder.dimensions, erased))
            self._entries[record.key] = entry
        self._entries.move_to_end(record.key)
        return entry

    def _evict(self, *, keep: int) -> None:
        total = sum(entry.nbytes for entry in self._entries.values())
        for key in list(self._entries):
            if total <= self._limit:
                return
            if key != keep and not self._entries[key].lock.locked():
                total -= self._entries.pop(key).nbytes

    async def _catch_up_words(self, memory: HotMemory, last_seq: int) -> None:
        applied = self._progress.applied(memory.key).get("lexical", 0)
        if memory.words_upto < applied:
            await self._load_words(memory, applied)
        while memory.words_upto < last_seq:
            page = await self._log.read(memory.key, after_seq=memory.words_upto, limit=_PAGE, max_bytes=_PAGE_BYTES)
            upto = page[-1].seq if page else last_seq
            await undivided(partial(self._add_messages, memory, page, upto))

    async def _load_words(self, memory: HotMemory, applied: int) -> None:
        """Load what is applied; nothing when it cannot be read, or was lost meanwhile."""
        try:
            loaded = await self._lexical.load(memory.key, memory.words_upto)
        except PartUnavailableError:
            return
        if self._progress.applied(memory.key).get("lexical", 0) < applied:
            return
        alive = frozenset(await self._log.seqs(memory.key, after_seq=memory.words_upto))
        rows = [Row(*row) for row in loaded if row.seq <= applied and row.seq in alive]
        await undivided(partial(memory.add, rows, applied))

    def _add_messages(self, memory: HotMemory, messages: Sequence[Message], upto: int) -> None:
        memory.add([Row(*term_row(message)) for message in messages if self._indexable(message)], upto)

    async def _catch_up_vectors(self, memory: HotMemory, patience: float) -> bool:
        """Load what is applied, encode a short tail; False when some vectors are missing."""
        try:
            async with asyncio.timeout(patience):
                return await self._vectors_of(memory)
        except (PartUnavailableError, TimeoutError):
            return False

    async def _vectors_of(self, memory: HotMemory) -> bool:
        applied = min(self._progress.cursors(self._vectors).applied.get(memory.key, 0), memory.words_upto)
        while memory.vectors_upto < applied:
            upto = min(applied, memory.vectors_upto + PORTION)
            loaded = await self._vectors.load(memory.key, memory.vectors_upto, upto)
            chunks = np.split(loaded.matrix, loaded.offsets[1:-1])
            await undivided(partial(memory.add_vectors, loaded.seqs.tolist(), chunks, upto))
        return await self._encode_tail(memory)

    async def _encode_tail(self, memory: HotMemory) -> bool:
        """Encode what no projection has applied yet; False when that is too much for a search to wait for."""
        seqs = memory.seqs[memory.seqs > memory.vectors_upto].tolist()
        if len(seqs) > TAIL_ENCODED:
            return False
        upto = memory.words_upto
        if not seqs:
            memory.vectors_upto = upto
            return True
        found = await self._log.by_seqs(memory.key, seqs)
        tail = [found[seq] for seq in seqs if seq in found]
        if sum(len(message.text) for message in tail) > TAIL_CHARACTERS:
            return False
        chunks = await self._encoder.encode_passages([passage(message) for message in tail], urgent=True)
        await undivided(partial(memory.add_vectors, [message.seq for message in tail], chunks, upto))
        return True
