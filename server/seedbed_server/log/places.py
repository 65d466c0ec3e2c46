"""Where the log of each memory stands, inside a writing transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from sqlalchemy import bindparam, delete, insert, select

from seedbed_server.errors import MemoryNotFoundError
from seedbed_server.log import rows
from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.inserting import insert_all
from seedbed_server.log.lookups import named, one_of, one_of_pairs, portions
from seedbed_server.log.records import NewMemory
from seedbed_server.log.schema import head, memory

# Namespace and name, as bytes.
Address = tuple[bytes, bytes]


@dataclass(slots=True)
class Place:
    """The end of one memory's log; ``created`` says that this transaction made the memory."""

    key: int
    last_seq: int
    message_count: int
    recorded_at: int
    created: bool = False

    def clock(self) -> int:
        """The time of a write: the server's clock, held so that it never goes back within a memory."""
        return max(rows.now(), self.recorded_at)


_MAKE = Statement(
    insert(memory)
    .values({name: bindparam(name) for name in ("namespace", "name", "variant", "system", "created_at", "revision")})
    .returning(memory.c.key)
)


def address(namespace: str, name: str) -> Address:
    """Return the address of a memory; InvalidFieldError where a part of it is not UTF-8."""
    return rows.exact(namespace, "namespace"), rows.exact(name, "memory")


def find_all(c: Connection, addresses: Collection[Address]) -> dict[Address, Place]:
    """Return the places of those memories that exist, and hold them until the end of the transaction."""
    found: dict[Address, Place] = {}
    for some in portions(list(addresses)):
        for namespace, name, *place in c.all(_find(len(some)), **named(part for one in some for part in one)):
            found[namespace, name] = Place(*place)
    return found


def existing(c: Connection, namespace: str, name: str) -> Place:
    """Return the place of a memory; MemoryNotFoundError."""
    found = find_all(c, [address(namespace, name)])
    if not found:
        raise MemoryNotFoundError
    return next(iter(found.values()))


def make(c: Connection, at: Address, new: NewMemory) -> Place:
    """Make a memory where there is none."""
    moment = rows.now()
    made = c.one(
        _MAKE,
        namespace=at[0],
        name=at[1],
        variant=rows.variant_bytes(new.variant),
        system=rows.system_bytes(new.system),
        created_at=moment,
        revision=1,
    )
    assert made is not None
    place = Place(made[0], 0, 0, moment, created=True)
    save(c, [place])
    return place


def save(c: Connection, places: Iterable[Place]) -> None:
    """Write down where these memories stand now."""
    heads = [(place.key, place.last_seq, place.message_count, place.recorded_at) for place in places]
    for some in portions([row[0] for row in heads]):
        c.change(_forget(len(some)), **named(some))
    insert_all(c, head, heads)


@cache
def _find(size: int) -> Statement:
    wanted = one_of_pairs(memory.c.namespace, memory.c.name, size)
    columns = (memory.c.namespace, memory.c.name, *head.c)
    # Held where several servers share a database; SQLite has one writer anyway.
    return Statement(select(*columns).join(head).where(wanted).with_for_update())


@cache
def _forget(size: int) -> Statement:
    return Statement(delete(head).where(one_of(head.c.memory_key, size)))
