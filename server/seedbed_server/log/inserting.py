"""Many rows by few statements.

Each statement makes the writer thread give up Python's lock and wait for it
again, behind whatever the event loop is doing. So rows go in by the dozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Table, bindparam, insert

from seedbed_server.log.connection import Connection, Statement

# Rows of one statement: powers of two, so that few statements are prepared.
# Beyond this SQLite itself takes longer for each row.
_ROWS = 8


def insert_all(c: Connection, table: Table, rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...] = ()) -> None:
    """Insert rows whose values are in the order of ``columns``, or of all of the table's."""
    start = 0
    while start < len(rows):
        count = min(_ROWS, 1 << (len(rows) - start).bit_length() - 1)
        c.put(_insert(table, columns, count), list(chain.from_iterable(rows[start : start + count])))
        start += count


@cache
def _insert(table: Table, columns: tuple[str, ...], count: int) -> Statement:
    names = columns or tuple(column.name for column in table.columns)
    values: list[dict[str, Any]] = [{name: bindparam(f"{name}_{i}") for name in names} for i in range(count)]
    return Statement(insert(table).values(values))
