"""The schema: made at once or migrated, the same; of a newer release, refused."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from seedbed_server.errors import StorageUnavailableError
from seedbed_server.log import Log, inserting, migrate
from seedbed_server.log.database import Database, database
from seedbed_server.log.schema import REVISION, metadata
from tests.log.saying import NEW, says


def tables(file: Path) -> dict[str, str]:
    """Every table and index with its SQL, spaces evened out; and the stamp."""
    with sqlite3.connect(file) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        (stamp,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in found} | {"stamp": stamp}


def prepared(file: Path, how: Callable[[Database], None]) -> dict[str, str]:
    """What ``how`` makes of an empty file."""
    how(database(f"sqlite:///{file}"))
    return tables(file)


def migrated(chosen: Database) -> None:
    """Run all migrations, from nothing."""
    with chosen.engine.begin() as connection:
        migrate.migrate(connection)


def test_stamping_equals_migrating(tmp_path: Path) -> None:
    """A fresh database is what the migrations make, to the letter."""
    stamped = prepared(tmp_path / "stamped.db", lambda chosen: migrate.prepare(chosen.engine))
    assert stamped == prepared(tmp_path / "migrated.db", migrated)
    assert stamped["stamp"] == REVISION
    assert {"memory", "head", "message", "request", "erasure", "message_by_session"} < set(stamped)


def test_the_migrations_end_at_the_stamp() -> None:
    """There is one newest migration, and it is the one a fresh database is stamped with."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [REVISION]


def test_alembic_sees_no_difference(tmp_path: Path) -> None:
    """Nothing is in the tables of the code that the migrations do not make."""
    chosen = database(f"sqlite:///{tmp_path / 'log.db'}")
    migrated(chosen)
    with chosen.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


async def test_a_fresh_log_opens_fast(tmp_path: Path) -> None:
    """The best of three takes the processor for less than half a second, far less than Alembic would."""
    took = []
    for i in range(3):
        start = time.process_time()
        log = await Log.open(f"sqlite:///{tmp_path / f'{i}.db'}")
        took.append(time.process_time() - start)
        await log.close()
    assert min(took) < 0.5


def test_opening_imports_no_alembic(tmp_path: Path) -> None:
    """A log that is new or up to date costs the server's start no import of Alembic."""
    code = (
        "import asyncio, sys; from seedbed_server.log import Log; url = sys.argv[1]\n"
        "async def main():\n"
        "    for _ in range(2): await (await Log.open(url)).close()\n"
        "asyncio.run(main()); sys.exit('alembic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, f"sqlite:///{tmp_path / 'log.db'}"], check=True, timeout=60)


async def test_a_newer_log_is_refused(tmp_path: Path) -> None:
    """The message says why, and the file is not touched."""
    file = tmp_path / "log.db"
    log = await Log.open(f"sqlite:///{file}")
    await log.append("ns", "m", "s", says("x"), create=NEW)
    await log.close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    before = tables(file)
    with pytest.raises(StorageUnavailableError, match="newer release"):
        await Log.open(f"sqlite:///{file}")
    assert tables(file) == before


async def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    """Nothing is added to it."""
    file = tmp_path / "log.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with pytest.raises(StorageUnavailableError, match="something other"):
        await Log.open(f"sqlite:///{file}")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """It is an error of storage, not a crash, and the file stays as it is."""
    file = tmp_path / "log.db"
    file.write_bytes(b"not a database, but long enough to look at" * 100)
    before = file.read_bytes()
    with pytest.raises(StorageUnavailableError):
        await Log.open(f"sqlite:///{file}")
    assert file.read_bytes() == before


async def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    """It is an error of storage."""
    with pytest.raises(StorageUnavailableError):
        await Log.open(f"sqlite:///{tmp_path / 'no' / 'log.db'}")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y"])
async def test_addresses_that_cannot_be_a_log(url: str) -> None:
    """They are refused before anything is made."""
    with pytest.raises(ValueError, match="sqlite:///PATH"):
        await Log.open(url)


def test_rows_are_put_in_the_order_of_columns() -> None:
    """The parameters of a many-row INSERT come row by row, in the order of the table's columns."""
    dialect = database("sqlite:///x").engine.dialect
    for table in metadata.sorted_tables:
        order = inserting._insert(table, (), 4).on(dialect).order
        assert order == tuple(f"{column.name}_{i}" for i in range(4) for column in table.columns)


async def test_look_ups_use_an_index(tmp_path: Path) -> None:
    """No read of messages or memories scans a table or sorts."""
    from seedbed_server.log import places, queries, storing
    from seedbed_server.log.connection import Statement

    chosen = database(f"sqlite:///{tmp_path / 'log.db'}")
    migrate.prepare(chosen.engine)
    driver = sqlite3.connect(tmp_path / "log.db")
    found = [value for value in vars(queries).values() if isinstance(value, Statement)]
    sized = (queries._where_seq, queries._where_id, queries._seq_of, places._find, places._forget, storing._seen)
    found += [make(8) for make in sized]
    for everything in (queries._HEADS, queries._NAMESPACES, queries._MESSAGES):
        found.remove(everything)  # asks for all of them
    for statement in found:
        sql, order, _ = statement.on(chosen.engine.dialect)
        plan = [step for (*_, step) in driver.execute(f"EXPLAIN QUERY PLAN {sql}", [1] * len(order))]
        assert any(step.startswith("SEARCH") for step in plan), sql
        assert not [step for step in plan if re.match(r"SCAN [a-z]|USE TEMP", step)], sql
    driver.close()
