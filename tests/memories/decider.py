"""A process that decides and forgets until it is killed: run as ``python -m tests.memories.decider FOLDER FIRST``.

It lives one name after the other, two at a time, and writes a line of JSON for
each call that was answered: what it was, the number of the name, and its result.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from seedbed.messages import Message
from tests.memories.deciding import AT, Desk, desk


def name(n: int) -> str:
    return f"Zq{n}kestrel"


async def live(room: Desk, n: int) -> None:
    """Stated on a message of its own, then merged, or merged and split, or retracted; some are forgotten then."""
    await room.log.append(*AT, "s", [Message("user", (f"{name(n)} | likes | thing {n}",), "Teller", id=f"m{n}")])
    (fact,) = await room.state(f"m{n}", f"{name(n)} | owns | kite {n}")
    tell("state", n)
    if n % 4 < 2:
        merge_id = await room.merge("Anchor", name(n))
        tell("merge", n, merge_id)
        if n % 4 == 1:
            await room.split(merge_id)
            tell("split", n)
    elif n % 4 == 2:
        await room.retract(fact)
        tell("retract", n)
    if n % 3 == 0:
        await room.forget(f"m{n}")
        tell("forget", n)


def tell(what: str, n: int, result: Any = None) -> None:
    sys.stdout.write(json.dumps([what, n, result]) + "\n")
    sys.stdout.flush()


async def main(folder: Path, first: int) -> None:
    async with desk(folder) as room:
        if first == 1:
            await room.say("Anchor | likes | rope")
        numbers = itertools.count(first)

        async def work() -> None:
            while True:
                await live(room, next(numbers))

        await asyncio.gather(work(), work())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
