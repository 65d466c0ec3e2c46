"""A program that writes until it is killed, and says what was acknowledged.

Run as: appender.py URL WRITERS WRITES. Each line it prints is "KEY SEQ ID" of
an acknowledged message, written only after the log has answered.
"""

from __future__ import annotations

import asyncio
import os
import sys

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Log, NewMemory


async def write(log: Log, name: str, count: int) -> None:
    """Append ``count`` batches of three to one memory."""
    for i in range(count):
        messages = [Message.user(f"{name} {i} {j}") for j in range(3)]
        stored = await log.append("ns", name, "s", messages, create=NewMemory(Buffer(), ""))
        lines = [f"{stored.key} {stored.first_seq + j} {one}\n" for j, one in enumerate(stored.ids)]
        os.write(1, "".join(lines).encode())


async def main(url: str, writers: int, count: int) -> None:
    """Let the writers run at once; two of them share each memory."""
    log = await Log.open(url)
    await asyncio.gather(*(write(log, f"m{i // 2}", count) for i in range(writers)))
    await log.close()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
