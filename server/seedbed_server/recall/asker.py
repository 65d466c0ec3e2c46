"""Whom "I" and "my" mean in a query."""

from __future__ import annotations

import re

from seedbed_server.log import Log
from seedbed_server.projections.rows import speaker

# How one who asks speaks of oneself; "US" is a country, "mine" may be of coal, and "i.e." is nobody.
_SELF = re.compile(r"\b(?:I|i(?!\.)|[Mm]e|[Mm]y|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")
NEWEST = 50
"""Messages that show who asks, the newest: of the session, and where no user has spoken there yet, of all sessions."""
_MOST_BYTES = 2**20


async def asker(log: Log, key: int, query: str, session: str, upto_seq: int) -> str:
    """The user who asks a query in the first person; empty where it is in no such, or nobody can tell.

    That is the user who spoke last in the ``session``; where none has yet, the only user of late.
    """
    if not _SELF.search(query):
        return ""
    for where in (session, ""):
        newest, _ = await log.tail_within(key, session=where, n=NEWEST, upto_seq=upto_seq, max_bytes=_MOST_BYTES)
        users = [speaker(message) for message in reversed(newest) if message.role == "user"]
        if users and (where or len(set(users)) == 1):
            return users[0]
    return ""
