"""What was decided about the server itself while it ran: names with values, in the log's own database.

It is neither in a message nor in the configuration, and must outlive everything derived: docs/adr/0011.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, select

from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.done import Done
from seedbed_server.log.inserting import insert_all
from seedbed_server.log.schema import setting

_ALL = Statement(select(setting.c.name, setting.c.value))
_REMOVE = Statement(delete(setting).where(setting.c.name == bindparam("of")))


def read(c: Connection) -> dict[str, str]:
    """Return all of them."""
    return dict(c.all(_ALL))


def change(c: Connection, values: Mapping[str, str]) -> Done[None]:
    """Set these, all or none; an empty value removes."""
    for name in values:
        c.change(_REMOVE, of=name)
    insert_all(c, setting, [(name, value) for name, value in values.items() if value])
    return Done(None, None)
