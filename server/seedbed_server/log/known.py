"""Records of memories as the last read found them: true until the memory changes.

Every call begins with the record of its memory. A change is told here before
its writer is answered, so whoever asks after a write gets what it left; and a
record that was read while anything changed is not kept.
"""

from __future__ import annotations

from collections import OrderedDict

from seedbed_server.log.records import MemoryRecord

MOST = 1024


class KnownRecords:
    """At most MOST records, the least recently used first to go. For one event loop."""

    def __init__(self) -> None:
        self.changes = 0
        """How many changes there have been."""
        self._records: OrderedDict[tuple[str, str], MemoryRecord] = OrderedDict()
        self._names: dict[int, tuple[str, str]] = {}

    def get(self, namespace: str, name: str) -> MemoryRecord | None:
        """Return the record of a memory, if it is known."""
        record = self._records.get((namespace, name))
        if record is not None:
            self._records.move_to_end((namespace, name))
        return record

    def keep(self, record: MemoryRecord, changes: int) -> None:
        """Keep a record that was read when there had been so many changes, unless there were more meanwhile."""
        if changes != self.changes:
            return
        place = (record.namespace, record.name)
        self._records[place] = record
        self._names[record.key] = place
        if len(self._records) > MOST:
            _, oldest = self._records.popitem(last=False)
            del self._names[oldest.key]

    def changed(self, key: int) -> None:
        """Forget what is known of a memory."""
        self.changes += 1
        place = self._names.pop(key, None)
        if place is not None:
            del self._records[place]
