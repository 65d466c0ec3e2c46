"""What is left of requests whose messages were erased: enough for a retry to store nothing, and nothing to guess by."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import text

from seedbed.messages import Message
from seedbed_server.errors import RequestIdReusedError
from seedbed_server.log import Log, Statement, rows
from seedbed_server.log.database import database
from seedbed_server.log.migrate import prepare
from tests.log.saying import NEW, named, says


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    opened = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    yield opened
    await opened.close()


def kept(folder: Path) -> dict[str, tuple[bytes, bytes]]:
    """Digest and answer of every request."""
    with sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True) as connection:
        found = connection.execute("SELECT request_id, digest, answer FROM request").fetchall()
    return {name.decode(): (digest, answer) for name, digest, answer in found}


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.glob("log.db*")))


@pytest.mark.parametrize("how", ["forget one", "clear the session", "clear"])
async def test_an_erasure_takes_the_digest_with_it(log: Log, tmp_path: Path, how: str) -> None:
    """No byte of the digest, nor of an id that the caller gave, is left in the files; a retry stores nothing again."""
    pin = [Message("user", ("My PIN is 4821",), id="pin-4821"), Message("user", ("and more",))]
    first = await log.append("ns", "m", "s", pin, request_id="secret", create=NEW)
    await log.append("ns", "m", "t", says("before", "after"), request_id="other")
    digest, _ = kept(tmp_path)["secret"]
    assert digest == rows.digest("s", rows.drafts(pin, "s"))
    if how == "forget one":
        await log.forget("ns", "m", ["pin-4821"])
    else:
        await log.clear("ns", "m", session="s" if how == "clear the session" else "")
    assert log.scrubbed
    assert digest not in everything(tmp_path)
    assert b"pin-4821" not in everything(tmp_path)
    assert (kept(tmp_path)["other"][0] != b"") == (how != "clear")
    seqs = await log.seqs(1)
    assert await log.append("ns", "m", "s", pin, request_id="secret") == first
    assert await log.seqs(1) == seqs
    for other in (says("one"), says("two", "messages"), [*named("a"), *named("b")]):
        with pytest.raises(RequestIdReusedError):
            await log.append("ns", "m", "s", other, request_id="secret")
    with pytest.raises(RequestIdReusedError):
        await log.state("ns", "m", [(Statement("Maya", "like", "figs"), [first.ids[1]])], request_id="secret")
    if how != "clear":
        with pytest.raises(RequestIdReusedError):
            await log.append("ns", "m", "t", says("before", "else"), request_id="other")


async def test_what_is_not_erased_keeps_its_digest(log: Log, tmp_path: Path) -> None:
    """Only requests of erased messages lose it, wherever these stand, in gaps and at the ends of a batch."""
    await log.append("ns", "m", "s", named("w"), create=NEW)
    for at in range(6):
        await log.append("ns", "m", "s", named(f"a{at}", f"b{at}", f"c{at}"), request_id=f"r{at}")
        await log.append("ns", "m", "s", named(f"w{at}"))
    await log.forget("ns", "m", ["w", "c0", "w1", "a2", "b3", "c3", "w3", "a4"])
    assert {name for name, (digest, _) in kept(tmp_path).items() if not digest} == {"r0", "r2", "r3", "r4"}


async def test_statements_lose_their_digest_with_any_of_their_messages(log: Log, tmp_path: Path) -> None:
    """Repeated, they are not stored again."""
    await log.append("ns", "m", "s", named("a", "b"), create=NEW)
    stated = [(Statement("Maya", "like", "figs"), ["a"])]
    await log.state("ns", "m", stated, request_id="r")
    await log.forget("ns", "m", ["b"])
    assert kept(tmp_path)["r"][0]
    await log.forget("ns", "m", ["a"])
    assert kept(tmp_path)["r"][0] == b""
    await log.state("ns", "m", stated, request_id="r")
    assert await log.decisions(1) == []
    with pytest.raises(RequestIdReusedError):
        await log.append("ns", "m", "s", says("x"), request_id="r")


async def test_requests_of_an_older_release(tmp_path: Path) -> None:
    """Digests of what was erased go when the log is opened, ids of callers too; retries are answered as ever."""
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    mine, made, gone = named("mine"), says("made"), named("gone")
    first = [
        await log.append("ns", "m", "s", batch, request_id=name, create=NEW)
        for name, batch in (("mine", mine), ("made", made), ("gone", gone))
    ]
    await log.forget("ns", "m", ["gone"])
    await log.append("ns", "whole", "s", named("x"), create=NEW)
    await log.state("ns", "whole", [(Statement("Maya", "like", "figs"), ["x"])], request_id="stated")
    await log.close()
    chosen = database(f"sqlite:///{tmp_path / 'log.db'}")
    with chosen.engine.begin() as connection:
        found = connection.execute(
            text("SELECT memory_key, request_id, recorded_at, digest, answer FROM request")
        ).all()
        connection.execute(text("DROP TABLE request"))
        connection.execute(
            text(
                "CREATE TABLE request (memory_key INTEGER NOT NULL, request_id BLOB NOT NULL, recorded_at INTEGER NOT "
                "NULL, digest BLOB NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (memory_key, request_id), "
                "FOREIGN KEY(memory_key) REFERENCES memory (key) ON DELETE CASCADE)"
            )
        )
        answers = {
            one: b"".join(b"\n%c%b" % (len(i), i.encode()) for i in done.ids) + b"\x10%c\x18%c" % (at, at)
            for at, (one, done) in enumerate(zip((b"mine", b"made", b"gone"), first, strict=True), 1)
        }
        for key, name, at, digest, answer in found:
            row = {"k": key, "n": name, "at": at, "d": digest or sha256(b"guess").digest()}
            row["a"] = answers.get(name, answer)
            connection.execute(text("INSERT INTO request VALUES (:k, :n, :at, :d, :a)"), row)
        connection.execute(text("UPDATE alembic_version SET version_num = '0003'"))
    prepare(chosen.engine)
    chosen.engine.dispose()
    now = kept(tmp_path)
    assert {name: bool(digest) for name, (digest, _) in now.items()} == {
        "mine": True, "made": True, "gone": False, "stated": True,
    }  # fmt: skip
    assert b"mine" not in now["mine"][1]
    assert first[1].ids[0].encode() in now["made"][1]
    log = await Log.open(f"sqlite:///{tmp_path / 'log.db'}")
    for (name, batch), done in zip((("mine", mine), ("made", made), ("gone", gone)), first, strict=True):
        again = await log.append("ns", "m", "s", batch, request_id=name)
        assert (again.ids, again.first_seq) == (done.ids, done.first_seq)
    assert await log.seqs(1) == [1, 2]
    await log.close()
