"""Alembic's environment for the log: one revision for each released schema."""
