"""The message log: the only truth of the server. Everything else is derived from it.

``Log`` is the whole surface. Behind it: ``writer`` (one thread, group commit),
``readers`` (a small pool of snapshots), ``changes``, ``deciding`` and ``queries``
(what is done inside a transaction), ``schema`` and ``migrations``, and one
module per database for what only that database knows (``sqlite``). This is the
only room that imports SQLAlchemy and Alembic.
"""

from seedbed_server.log.carrying import Carried
from seedbed_server.log.decisions import (
    MOST_WITNESSES,
    Content,
    Decision,
    Merge,
    Retraction,
    Split,
    Statement,
    Witnesses,
)
from seedbed_server.log.log import Log
from seedbed_server.log.records import Appended, Erasure, Head, Imported, MemoryRecord, NewMemory

__all__ = [
    "MOST_WITNESSES",
    "Appended",
    "Carried",
    "Content",
    "Decision",
    "Erasure",
    "Head",
    "Imported",
    "Log",
    "MemoryRecord",
    "Merge",
    "NewMemory",
    "Retraction",
    "Split",
    "Statement",
    "Witnesses",
]
