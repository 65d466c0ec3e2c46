"""Many rows by few statements.

Each statement makes the writer thread give up Python's lock and wait for it
again, behind whatever the event loop is doing; and it costs about as much as
three rows. So rows go in by the dozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Table, bindparam, insert

from seedbed_server.log.connection import Connection, Statement

# Rows of one statement: databases limit its parameters, and more gains nothing.
_ROWS = 64


def insert_all(c: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows whose values are in the order of the table's columns."""
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        statement, names = _insert(table, len(some))
        c.change(statement, **dict(zip(names, chain.from_iterable(some), strict=True)))


@cache
def _insert(table: Table, count: int) -> tuple[Statement, list[str]]:
    columns = [column.name for column in table.columns]
    named = [{column: f"{column}_{i}" for column in columns} for i in range(count)]
    values: list[dict[str, Any]] = [{column: bindparam(name) for column, name in row.items()} for row in named]
    return Statement(insert(table).values(values)), [name for row in named for name in row.values()]
