"""Statements written in SQLAlchemy Core, run with as little as possible in between.

A statement is compiled once for each kind of database and then given straight
to the driver's cursor: SQLAlchemy's own execution costs several times what
SQLite itself needs for a row. Only plain integers, bytes and text pass through,
which every driver takes and gives as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ClauseElement
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection

Row = tuple[Any, ...]


class _Compiled(NamedTuple):
    """SQL, the names of its parameters in order, and those values that the dialect put in itself."""

    sql: str
    order: tuple[str, ...]
    fixed: dict[str, Any]


class Statement:
    """A Core statement whose every value is a named ``bindparam``."""

    __slots__ = ("_compiled", "_element")

    def __init__(self, element: ClauseElement) -> None:
        self._element = element
        self._compiled: dict[str, _Compiled] = {}

    def on(self, dialect: Dialect) -> _Compiled:
        """Return the SQL for ``dialect``, whose parameters must be positional."""
        found = self._compiled.get(dialect.name)
        if found is None:
            compiled: Any = self._element.compile(dialect=dialect)
            fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
            found = _Compiled(str(compiled), tuple(compiled.positiontup or ()), fixed)
            self._compiled[dialect.name] = found
        return found


class Connection:
    """One connection to the database, used by one thread at a time.

    Transactions are begun and ended by ``command``: the driver is in its
    autocommit mode. Every result is fetched whole, so that no statement stays
    open over a commit.
    """

    __slots__ = ("_cursor", "_dialect", "_driver")

    def __init__(self, driver: DBAPIConnection, dialect: Dialect) -> None:
        self._driver = driver
        self._dialect = dialect
        self._cursor = driver.cursor()

    def command(self, sql: str) -> list[Row]:
        """Run a command without parameters, such as BEGIN."""
        self._cursor.execute(sql)
        return list(self._cursor.fetchall()) if self._cursor.description else []

    def change(self, statement: Statement, /, **values: Any) -> int:
        """Run a statement that returns no rows; returns how many it changed."""
        self._execute(statement, values)
        return self._cursor.rowcount

    def put(self, statement: Statement, values: Sequence[Any]) -> None:
        """Run a statement with its values in the order in which it names them."""
        self._cursor.execute(statement.on(self._dialect).sql, values)

    def all(self, statement: Statement, /, **values: Any) -> Sequence[Row]:
        """Return all rows."""
        self._execute(statement, values)
        return self._cursor.fetchall()

    def one(self, statement: Statement, /, **values: Any) -> Row | None:
        """Return the first row, if there is one."""
        self._execute(statement, values)
        rows = self._cursor.fetchall()
        return rows[0] if rows else None

    def close(self) -> None:
        """Close it; an open transaction is rolled back."""
        self._driver.close()

    def _execute(self, statement: Statement, values: dict[str, Any]) -> None:
        sql, order, fixed = statement.on(self._dialect)
        if fixed:
            values |= fixed
        self._cursor.execute(sql, [values[name] for name in order])
