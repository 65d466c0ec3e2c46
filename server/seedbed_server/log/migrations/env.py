"""How Alembic runs here: inside the transaction of the connection it is given."""

from alembic import context

from seedbed_server.log.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by making it anew
)
with context.begin_transaction():
    context.run_migrations()
