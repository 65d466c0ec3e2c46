"""Carrying out erasures in one projection. Nothing of it may be in flight meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from seedbed.messages import Message
from seedbed_server.projections import cursors as table
from seedbed_server.projections.contract import Batch, Erasure, Projection, Source
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.isolation import Isolation
from seedbed_server.projections.turns import Turns

ERASURES = 100  # read at once
RECEIPTS = 1000  # counts of erasures remembered


class Erasing:
    """Follows the erasures of the log; ``receipts`` says, by their ids, how many rows each took of what."""

    def __init__(
        self,
        name: str,
        projection: Projection[Any],
        source: Source,
        derived: Derived,
        isolation: Isolation,
        turns: Turns,
        indexable: Callable[[Message], bool],
    ) -> None:
        self.receipts: dict[int, Mapping[str, int]] = {}
        self._name = name
        self._projection = projection
        self._source = source
        self._derived = derived
        self._isolation = isolation
        self._turns = turns
        self._indexable = indexable

    async def carry_out(self) -> bool:
        """Carry out the next erasures; False where there are none."""
        erasures = await self._source.erasures(self._turns.cursors.erasure_id, ERASURES)
        gone: set[int] = set()  # of these memories nothing is left, and the log has nothing of it either
        for erasure in erasures:
            if erasure.key not in gone and await self._erase(erasure):
                gone.add(erasure.key)
        if gone:
            await self._derived.write(partial(table.erased, name=self._name, erasure_id=erasures[-1].id))
        if erasures:
            await self._derived.scrub()
            self._turns.cursors.erasure_id = erasures[-1].id  # only now is no byte of it left
        return bool(erasures)

    async def _erase(self, erasure: Erasure) -> bool:
        """Carry it out; says whether that left nothing of the memory. What is distrusted goes as a whole."""
        cursors = self._turns.cursors
        distrusted = erasure.key <= cursors.clean_after and erasure.key not in cursors.applied
        if erasure.whole:
            counts = await self._projection.drop(erasure.key)
            await self._derived.write(lambda db: table.remove(db, self._name, erasure.key))
            self._turns.unlearn(erasure.key)
        else:
            counts = await self._projection.forget(erasure.key, erasure.seqs)
            if distrusted:
                await self._projection.drop(erasure.key)
            else:
                await self._redo(erasure)
        await self._derived.write(lambda db: table.erased(db, self._name, erasure.id))
        self.receipts[erasure.id] = counts
        if len(self.receipts) > RECEIPTS:
            del self.receipts[next(iter(self.receipts))]
        return erasure.whole or distrusted

    async def _redo(self, erasure: Erasure) -> None:
        """Derive again from the messages whose rows depended on an erased one."""
        reach = self._projection.reach
        applied = self._turns.cursors.applied.get(erasure.key, 0)
        near = {seq + step for seq in erasure.seqs for step in range(1, reach + 1)}
        alive = await self._source.by_seqs(erasure.key, sorted(s for s in near if s <= applied)) if near else {}
        readable = [alive[seq] for seq in sorted(alive) if self._indexable(alive[seq])]
        for run in _runs(readable, self._projection.batch_messages):
            batch = Batch(erasure.key, run, await self._before(erasure.key, run[0].seq - 1))
            await self._isolation.apply(batch)

    async def _before(self, key: int, after: int) -> tuple[Message, ...]:
        """The messages before the next one that its rows depend on."""
        reach = self._projection.reach
        if not reach or not after:
            return ()
        found = await self._source.by_seqs(key, range(max(1, after - reach + 1), after + 1))
        return tuple(found[seq] for seq in sorted(found))


def _runs(messages: Sequence[Message], most: int) -> Iterator[tuple[Message, ...]]:
    """Neighbours together, at most so many: nothing stands between them that their rows might depend on."""
    run: tuple[Message, ...] = ()
    for message in messages:
        if run and (len(run) == most or message.seq != run[-1].seq + 1):
            yield run
            run = ()
        run += (message,)
    if run:
        yield run
