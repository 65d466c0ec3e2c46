"""The lexical projection, through a real projector and a real SQLite file."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedbed.messages import Message
from seedbed_server.projections.derived import Derived
from seedbed_server.projections.lexical import Lexical, TermRow
from seedbed_server.projections.projector import Projector

from .source import ListLog


async def begin(log: ListLog, folder: Path) -> tuple[Derived, Lexical, Projector]:
    derived = await Derived.open(folder, [Lexical.schema])
    lexical = Lexical(derived)
    projector = Projector(log, derived, [lexical])
    log.on_change.append(projector.changed)
    await projector.start()
    return derived, lexical, projector


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def end(log: ListLog, derived: Derived, projector: Projector) -> None:
    log.on_change.clear()
    await projector.stop()
    await derived.close()


async def test_terms_are_loaded_as_analysed(tmp_path: Path) -> None:
    """What is loaded are the terms of text and name, by seq, with the session and the time."""
    log = ListLog()
    derived, lexical, projector = await begin(log, tmp_path)
    log.append(1, "Cats and cats", Message.assistant(""), Message.user("東京", "Žofie"))
    assert await projector.wait_applied(1, 3, timeout=60)
    rows = await lexical.load(1)
    first, _, second = (said.time.timestamp() for said in await log.read(1, limit=3) if said.time)
    assert rows == [
        TermRow(1, "s", "user", ("maya",), ("cat", "and", "cat", "1", "januari", "2024"), first),
        TermRow(3, "s", "user", ("žofi", "zofi"), ("東", "東京", "京", "1", "januari", "2024"), second),
    ]
    assert await lexical.load(1, after_seq=1) == rows[1:]
    assert await lexical.load(2) == []
    await end(log, derived, projector)


async def test_forget_leaves_no_byte(tmp_path: Path) -> None:
    """After an erasure the word is in none of the files, and only its rows are gone."""
    log = ListLog()
    derived, lexical, projector = await begin(log, tmp_path)
    log.append(1, *[f"the canaryword is number {i}" if i == 7 else f"nothing but {i}" for i in range(40)])
    assert await projector.wait_applied(1, 40, timeout=60)
    assert b"canaryword" in contents(tmp_path)
    counts = await projector.wait_erased(log.forget(1, 8), timeout=60)
    assert counts == {"lexical": 1}
    assert b"canaryword" not in contents(tmp_path)
    assert [row.seq for row in await lexical.load(1)] == [s for s in range(1, 41) if s != 8]
    await end(log, derived, projector)


@pytest.mark.parametrize("fingerprint", ["same", "other"])
async def test_reopening_resumes_or_begins_anew(
    tmp_path: Path, fingerprint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same rules of analysis a restart reads only what is new; with others it reads all."""
    log = ListLog()
    derived, lexical, projector = await begin(log, tmp_path)
    log.append(1, "one", "two")
    assert await projector.wait_applied(1, 2, timeout=60)
    await end(log, derived, projector)
    log.append(1, "three")
    log.memories[1][0] = None  # not by an erasure: shows whether it was read again
    if fingerprint == "other":
        monkeypatch.setattr("seedbed_server.projections.analysis.FINGERPRINT", "terms-2")
    derived, lexical, projector = await begin(log, tmp_path)
    assert await projector.wait_applied(1, 3, timeout=60)
    assert [row.seq for row in await lexical.load(1)] == ([1, 2, 3] if fingerprint == "same" else [2, 3])
    await end(log, derived, projector)
