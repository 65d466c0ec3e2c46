"""Whether the vectors of a space are those of the log: before answers are made of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from seedbed.messages import Message
from seedbed_server.projections.contract import Source
from seedbed_server.projections.cursors import Cursors
from seedbed_server.projections.spaces import Space
from seedbed_server.projections.vectors import Held, passage

SAMPLE = 32
"""Messages that are encoded again."""

TOLERANCE = 1e-3
"""Of a component: batch mates change the sixth decimal, another model or text the first."""

_PAGE = 500
_PAGE_BYTES = 8 * 2**20
_PAUSE = 0.1


@dataclass
class Verification:
    """Compares a space with the log, memory by memory, while both go on.

    ``cursors`` are the space's own. ``indexable`` says of which messages anything is made.
    """

    source: Source
    space: Space
    cursors: Callable[[], Cursors]
    indexable: Callable[[Message], bool]
    _sample: list[tuple[int, int]] = field(default_factory=list)
    _seen: int = 0

    async def fault(self) -> str:
        """Say what is wrong, as a phrase for the operator; empty when nothing is. Raises PartUnavailableError."""
        self._sample, self._seen = [], 0
        for head in await self.source.heads():
            fault = await self._memory(head.key)
            if fault:
                return fault
        return await self._encoded_again()

    async def _memory(self, key: int) -> str:
        """Compare one memory: its messages in the log, what is noted of them, and the rows of the index."""
        while True:
            cursors = self.cursors()
            erased, upto = cursors.erasure_id, cursors.applied.get(key, 0)
            expected = await self._expected(key, upto)
            held = await self.space.vectors.held(key, upto)
            # In a thread: of a large memory it takes long.
            fault = await asyncio.to_thread(_difference, expected, held, cursors.skipped.get(key, 0))
            if not fault:
                await asyncio.to_thread(self._take, key, held)
                return ""
            now = self.cursors()
            unmoved = now.erasure_id == erased and now.applied.get(key, 0) >= upto
            if unmoved and not await self.source.erasures(erased, 1):
                return fault
            await asyncio.sleep(_PAUSE)  # an erasure has come between: look again

    async def _expected(self, key: int, upto: int) -> set[int]:
        """The seqs of the messages, up to a seq, of which there have to be vectors."""
        seqs: set[int] = set()
        after = 0
        while after < upto:
            pages = await self.source.pages({key: after}, share=_PAGE, limit=_PAGE, reach=0, max_bytes=_PAGE_BYTES)
            page = pages.by_key.get(key)
            if page is None or not page.messages:
                break
            seqs |= {message.seq for message in page.messages if message.seq <= upto and self.indexable(message)}
            after = page.messages[-1].seq
        return seqs

    def _take(self, key: int, held: Held) -> None:
        """Draw from a memory for the sample, so that in the end every message had the same chance."""
        for seq in held.seqs:
            self._seen += 1
            if len(self._sample) < SAMPLE:
                self._sample.append((key, seq))
            elif (at := random.randrange(self._seen)) < SAMPLE:  # noqa: S311 - nothing is to be guessed here
                self._sample[at] = (key, seq)

    async def _encoded_again(self) -> str:
        """Encode the sample again, and compare; a query is encoded in any case, since queries will be."""
        await self.space.encoder.encode_queries(["How are you?"])
        found = [(key, (await self.source.by_seqs(key, [seq])).get(seq)) for key, seq in self._sample]
        alive = [(key, message) for key, message in found if message is not None]
        encoded = await self.space.encoder.encode_passages([passage(message) for _, message in alive])
        for (key, message), fresh in zip(alive, encoded, strict=True):
            stored = await self.space.vectors.matrix(key, message.seq, len(fresh))
            same = stored.shape == fresh.shape and bool(np.allclose(stored, fresh, atol=TOLERANCE))
            if not same and await self.source.by_seqs(key, [message.seq]):  # it was not erased meanwhile
                return "a vector differs from the message encoded again"
        return ""


def _difference(expected: set[int], held: Held, skipped: int) -> str:
    if held.missing or held.surplus:
        return "the rows of the index differ from those noted"
    if held.seqs - expected:
        return "there are vectors of messages that the log does not have"
    if len(expected - held.seqs) > skipped:
        return "there are messages without vectors"
    return ""
