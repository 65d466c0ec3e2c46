"""What is kept of the requests that a memory has seen, and what goes of it with the messages.

A request is known by its id until its memory is deleted: a late retry stores
nothing again. Beside the id stand a digest of what it stored, so that another
payload under the same id is told from a retry, and its first answer. A digest of
what was erased could be tested against guesses. So it goes in the transaction
that erases a message or a statement of the request; from then on a retry is
taken at its word if it holds as much as the request did. The answer holds no id
that a caller gave: a retry brings those along.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, select, update

from seedbed_server.log.connection import Connection, Statement
from seedbed_server.log.schema import request

ERASED = b""
"""Stands where a digest was."""

_r = request.c
_OF_MEMORY = _r.memory_key == bindparam("key")
_NEXT = Statement(
    select(_r.request_id, _r.first_seq, _r.last_seq)
    .where(_OF_MEMORY, _r.last_seq >= bindparam("seq"))
    .order_by(_r.last_seq)
    .limit(1)
)
_BLANK = update(request).where(_OF_MEMORY).values(digest=bindparam("new_digest"))
_BLANK_ONE = Statement(_BLANK.where(_r.request_id == bindparam("request")))
_BLANK_STATED = Statement(_BLANK.where(_r.last_seq == 0))
_BLANK_ALL = Statement(_BLANK)


def is_same(kept: bytes, digest: bytes) -> bool:
    """Whether a payload with this digest may be the one whose digest was kept."""
    return kept in (ERASED, digest)


def erase(c: Connection, key: int, seqs: Sequence[int], *, stated: bool) -> None:
    """Erase the digests of the requests that stored these messages, ascending; with ``stated``, of all statements."""
    upto = 0
    for seq in seqs:
        if seq <= upto:  # of the same request as the one before
            continue
        found = c.one(_NEXT, key=key, seq=seq)
        if found is None:
            break
        name, first, last = found
        if first <= seq:
            upto = last
            c.change(_BLANK_ONE, key=key, request=name, new_digest=ERASED)
    if stated:
        c.change(_BLANK_STATED, key=key, new_digest=ERASED)


def erase_all(c: Connection, key: int) -> None:
    """Erase the digests of all requests of a memory."""
    c.change(_BLANK_ALL, key=key, new_digest=ERASED)
