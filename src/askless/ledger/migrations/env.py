"""Run by Alembic: the migrations, on the connection and in the transaction that `askless.ledger.upgrade` gives it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from alembic import context

from askless.ledger import schema, upgrade


def _applied(ctx: Any, step: Any, heads: Collection[Any], run_args: Mapping[str, Any]) -> None:
    """Keep the header of an SQLite file in step with Alembic's table."""
    (version,) = heads
    upgrade.mark(ctx.connection, version)


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    version_table=upgrade.VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a column by making the table anew
    on_version_apply=_applied,
)
context.run_migrations()
