"""The projector over the real log, up to a kill in the middle."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Log, NewMemory
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical, term_row
from seedbed_server.projections.projector import Projector

# A server in small: writes, projects, and kills itself without a goodbye once something is applied.
VICTIM = """
import asyncio, os, signal, sys
from pathlib import Path
from seedbed.messages import Message
from seedbed.variants import Buffer
from seedbed_server.log import Log, NewMemory
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical
from seedbed_server.projections.projector import Projector

async def main(folder):
    log = await Log.open(f"sqlite:///{folder / 'log.db'}")
    derived = await Derived.open(folder / "derived", [Lexical.schema])
    projector = Projector(log, derived, [Lexical(derived)])
    log.on_change.append(projector.changed)
    await projector.start()
    for n in range(40):
        batch = [Message.user(f"message number {n} {i}", "Maya") for i in range(50)]
        done = await log.append("default", "maya", "s", batch, create=NewMemory(Buffer(), ""))
    await projector.wait_applied(done.key, 500)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(Path(sys.argv[1])))
"""


class Server:
    def __init__(self, log: Log, derived: Derived) -> None:
        self.log = log
        self.derived = derived
        self.lexical = Lexical(derived)
        self.projector = Projector(log, derived, [self.lexical])
        log.on_change.append(self.projector.changed)

    @classmethod
    async def open(cls, folder: Path) -> Server:
        log = await Log.open(f"sqlite:///{folder / 'log.db'}")
        server = cls(log, await Derived.open(folder / "derived", [Lexical.schema]))
        await server.projector.start()
        return server

    async def close(self) -> None:
        await self.projector.stop()
        await self.derived.close()
        await self.log.close()

    async def complete(self, key: int) -> bool:
        """Whether the rows are those of the messages alive."""
        messages = await self.log.read(key, limit=10_000)
        return await self.lexical.load(key) == [term_row(message) for message in messages]


@pytest.mark.parametrize("cut", ["kill", "derived lost"])
async def test_after_a_kill_the_rows_are_those_of_the_log(tmp_path: Path, cut: str) -> None:
    """A server killed while it applies goes on where it was, with or without its derived files."""
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", VICTIM, str(tmp_path))
    assert await asyncio.wait_for(victim.wait(), 60) == -9
    if cut == "derived lost":
        for file in (tmp_path / "derived").iterdir():
            file.unlink()
    server = await Server.open(tmp_path)
    record = await server.log.get("default", "maya")
    assert record.last_seq == 2000
    assert await server.projector.wait_applied(record.key, 2000)
    assert await server.complete(record.key)
    await server.close()


async def test_erasures_of_the_log_reach_the_rows(tmp_path: Path) -> None:
    """Forget, Clear and Delete take exactly their rows along."""
    server = await Server.open(tmp_path)
    new = NewMemory(Buffer(), "")
    one = await server.log.append("default", "one", "a", [Message.user(f"m {i}") for i in range(10)], create=new)
    await server.log.append("default", "one", "b", [Message.user("kept")])
    two = await server.log.append("default", "two", "a", [Message.user("other")], create=new)
    assert await server.projector.wait_applied(one.key, 11)
    assert await server.projector.wait_applied(two.key, 1)
    erasure = await server.log.forget("default", "one", one.ids[2:4])
    assert erasure is not None
    assert await server.projector.wait_erased(erasure.id) == {"lexical": 2}
    assert await server.complete(one.key)
    await server.log.clear("default", "one", session="a")
    await server.log.delete("default", "two")
    last = (await server.log.erasures(0, 100))[-1]
    assert await server.projector.wait_erased(last.id) is not None
    assert [row.session for row in await server.lexical.load(one.key)] == ["b"]
    assert await server.lexical.load(two.key) == []
    await server.close()
