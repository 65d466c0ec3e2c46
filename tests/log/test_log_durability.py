"""What was acknowledged is there: after a kill, on the disk, and at what speed."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed_server.log import Log
from tests.log.saying import NEW, named, says

APPENDER = Path(__file__).with_name("appender.py")


def killed_after(seconds: float, url: str) -> list[tuple[int, int, str]]:
    """Kill the appender ``seconds`` after its first dozen of acknowledgements; return all that it acknowledged."""
    command = [sys.executable, str(APPENDER), url, "6", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(12)]
        time.sleep(seconds)
        process.kill()
        lines = [*first, *process.stdout.read().splitlines(keepends=True)]
    found = [line.split() for line in lines if line.endswith("\n")]
    return [(int(key), int(seq), one) for key, seq, one in found]


async def assert_stored(url: str, acknowledged: list[tuple[int, int, str]]) -> None:
    """Open the log: each acknowledged message is at its seq, no seq is missing, no batch is torn."""
    log = await Log.open(url)
    stored: dict[tuple[int, int], str] = {}
    for head in await log.heads():
        messages = await log.read(head.key, limit=10**6)
        assert [message.seq for message in messages] == list(range(1, head.last_seq + 1))
        assert head.last_seq % 3 == 0
        record = await log.record(head.key)
        assert record is not None
        assert record.message_count == head.last_seq
        stored |= {(head.key, message.seq): message.id for message in messages}
    await log.close()
    assert [stored.get((key, seq)) for key, seq, _ in acknowledged] == [one for _, _, one in acknowledged]


async def test_kill_9_loses_nothing_acknowledged(url: str) -> None:
    """Killed at random moments a few times over, the log keeps every acknowledged message, whole and in order."""
    chance = random.Random(5)
    acknowledged: list[tuple[int, int, str]] = []
    for _ in range(3):
        acknowledged += await asyncio.to_thread(killed_after, chance.uniform(0.02, 0.3), url)
        await assert_stored(url, acknowledged)
    assert len(acknowledged) > 30


async def test_erased_text_is_in_no_file(tmp_path: Path) -> None:
    """After forget, clear and delete were answered, no byte of the text is in the log's files; the rest is."""
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")

    def found(word: str) -> bool:
        return any(word.encode() in file.read_bytes() for file in tmp_path.iterdir())

    for i in range(40):
        small, large = f"canary-{i}-small", f"canary-{i}-large " * 1000
        await log.append("ns", f"m{i % 3}", f"s{i % 2}", [*says(small, large), *named(f"id-{i}")], create=NEW)
    stored = await log.append("ns", "m0", "other", says("canary-kept"))
    assert found("canary-7-large")
    assert found("canary-kept")
    record = await log.get("ns", "m1")
    ids = [message.id for message in await log.read(record.key, limit=1000) if message.seq % 2]
    texts = [message.text[:15] for message in (await log.by_ids(record.key, ids)).values() if "canary" in message.text]
    await log.forget("ns", "m1", ids)
    assert len(texts) > 5
    assert not [text for text in texts if found(text)]
    await log.clear("ns", "m1")
    await log.clear("ns", "m0", session="s0")
    await log.clear("ns", "m0", session="s1")
    await log.delete("ns", "m2")
    assert not [i for i in range(40) if found(f"canary-{i}-")]
    assert found("canary-kept")
    assert len(await log.read(stored.key, limit=10)) == 1
    await log.close()


@pytest.mark.slow
def test_every_commit_is_synced_and_groups_share_it(tmp_path: Path) -> None:
    """Counted by strace: one writer makes a sync per write, sixteen at once make far fewer syncs than writes."""
    strace = shutil.which("strace")
    assert strace, "this test counts system calls: install strace"

    def syncs(writers: int, count: int) -> int:
        trace, file = tmp_path / f"trace-{writers}-{count}", tmp_path / f"log-{writers}-{count}.db"
        run = [sys.executable, str(APPENDER), f"sqlite:///{file}", str(writers), str(count)]
        command = [strace, "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", str(trace), *run]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
        return sum(int(calls) for calls in re.findall(r"(\d+)\s+f(?:data)?sync$", trace.read_text(), re.MULTILINE))

    opening = syncs(1, 0)
    assert syncs(1, 100) - opening >= 100
    together = syncs(16, 50) - opening
    assert 50 <= together < 16 * 50 / 3


@pytest.mark.slow
async def test_writes_of_many_clients_are_fast(log: Log) -> None:
    """Sixteen clients with transcripts of eight store five times the rows of one who writes row by row, or more."""
    turn = Message.user("What was said in this turn. " * 7, "Maya")

    async def rate(clients: int, writes: int, batch: list[Message]) -> float:
        async def client(name: str) -> None:
            for _ in range(writes):
                await log.append("ns", name, "s", batch, create=NEW)

        start = time.perf_counter()
        await asyncio.gather(*(client(f"m{i}") for i in range(clients)))
        return clients * writes * len(batch) / (time.perf_counter() - start)

    await rate(16, 5, [turn] * 8)
    assert await rate(16, 60, [turn] * 8) >= 5 * await rate(1, 300, [turn])


@pytest.mark.slow
async def test_recent_messages_come_fast(log: Log) -> None:
    """Ten of ten thousand messages, by tail or by seq, take less than a millisecond, when nothing else runs."""
    for i in range(10):
        await log.append("ns", "m", "s", says(*(f"message {i} {j}" for j in range(1000))), create=NEW)
    key = (await log.get("ns", "m")).key

    async def fastest(read: str) -> float:
        took = []
        for i in range(200):
            start = time.perf_counter()
            if read == "tail":
                assert len(await log.tail(key, session="s", n=10)) == 10
            else:
                assert len(await log.by_seqs(key, range(i * 7 + 1, i * 7 + 11))) == 10
            took.append(time.perf_counter() - start)
        return min(took)

    assert await fastest("tail") < 0.001
    assert await fastest("by_seqs") < 0.001
