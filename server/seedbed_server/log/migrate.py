"""Bring a database to the schema of this release, or refuse it.

A fresh database is created from ``schema`` at once and stamped, because the
server starts in a second and Alembic alone would take half of it; a test holds
that stamping and migrating give the same tables.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, select

from seedbed_server.errors import StorageUnavailableError
from seedbed_server.log.schema import REVISION, metadata

_MIGRATIONS = Path(__file__).parent / "migrations"

# Alembic's own table, as Alembic makes it.
_stamps = MetaData()
_version = Table("alembic_version", _stamps, Column("version_num", String(32), primary_key=True, nullable=False))
next(iter(_version.constraints)).name = "alembic_version_pkc"


def prepare(engine: Engine) -> None:
    """Create or migrate the tables, in one transaction.

    Raises StorageUnavailableError, with a sentence for the operator, where the
    database was written by a newer release or is not a log at all.
    """
    with engine.begin() as connection:
        tables = set(inspect(connection).get_table_names())
        if not tables:
            _create(connection)
        elif _version.name not in tables:
            raise StorageUnavailableError("this database holds something other than a Seedbed log; nothing was changed")
        elif connection.execute(select(_version.c.version_num)).scalar() != REVISION:
            migrate(connection)


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    _stamps.create_all(connection, checkfirst=False)
    connection.execute(_version.insert().values(version_num=REVISION))


def migrate(connection: Connection) -> None:
    """Run the migrations that the database has not seen; StorageUnavailableError where it has seen unknown ones."""
    from alembic import command
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        raise StorageUnavailableError(
            f"the log was written by a newer release of Seedbed than this one, which knows schemas up to {REVISION}; "
            "nothing was changed"
        )
    command.upgrade(config, "head")
