"""What is decided about the server itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from seedbed_server.log import Log, migrate
from seedbed_server.log.database import database
from tests.log.saying import NEW, says


async def test_what_is_decided_is_there_after_a_restart(tmp_path: Path) -> None:
    """Set, replaced, removed by an empty value; all of a call at once; no memory changes by it."""
    url = f"sqlite:///{tmp_path / 'log.db'}"
    log = await Log.open(url)
    told: list[int] = []
    log.on_change.append(told.append)
    assert await log.settings() == {}
    await log.set({"encoder": "one", "encoder.wanted": "two"})
    await log.set({"encoder": "two", "encoder.wanted": "", "never": ""})
    assert await log.settings() == {"encoder": "two"}
    assert told == []
    await log.close()
    log = await Log.open(url)
    assert await log.settings() == {"encoder": "two"}
    await log.close()


async def test_a_log_from_before_has_decided_nothing(tmp_path: Path) -> None:
    """A log of schema 0002 opens, with its messages, and takes decisions."""
    file = tmp_path / "log.db"
    log = await Log.open(f"sqlite:///{file}")
    await log.append("ns", "m", "s", says("x"), create=NEW)
    await log.close()
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE setting")
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
    connection.close()
    migrate.prepare(database(f"sqlite:///{file}").engine)
    log = await Log.open(f"sqlite:///{file}")
    assert await log.settings() == {}
    assert (await log.get("ns", "m")).last_seq == await log.message_count() == 1
    await log.set({"encoder": "one"})
    assert await log.settings() == {"encoder": "one"}
    await log.close()
