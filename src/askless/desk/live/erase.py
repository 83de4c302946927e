"""Personal data taken out of a desk: text and vector of a query go, everywhere, and what was learned from them.

An asker's words in the feedback go as well. What stays: that there was a query, under its key, when it came, from
whom, what was decided and answered. So the counts are as before, while the policy decides as if it had never had the
example. In an SQLite file the bytes are overwritten, and its log is emptied. PostgreSQL keeps old versions of a row
until VACUUM, which is done here: no query can read them then, while their bytes stay in the table's file until the
room is used again (`VACUUM FULL` overwrites them). Its own log (WAL), and backups of either database, are beyond the
reach of this: they hold the text until they are recycled or deleted.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Connection, and_, delete, select, text, update

from askless.desk.live.configure import settings_of
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import Progress
from askless.desk.live.types import TicketStatus
from askless.embed.cache import CacheUnusable, EmbeddingCache
from askless.errors import NotErased, UnknownQuery
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.failures import translated

_AT_ONCE = 200  # queries in one operation, so that callers are served in between
_HELD_TEXT = "queries, new_vectors, snapshots, tickets, events"
_PATIENCE = 5.0  # seconds for transactions that still see what was there before
_TRACES = (
    "The queries are erased, but traces stay in the database while somebody reads an older state of it. Erase them "
    "again in a moment to remove those too."
)
_IN_CACHE = "The embedding cache cannot be erased from now, so nothing was erased ({}). Try again."
_OLDER = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_xmin IS NOT NULL AND xact_start < :began"
)

_queries, _tickets = schema.queries, schema.tickets


@dataclass(frozen=True, slots=True)
class Erased:
    """How many queries were erased now, and how many had been before."""

    erased: int
    already: int = 0


def erase(desks: Desks, name: str, keys: Sequence[str], who: str | None, *, progress: Progress | None = None) -> Erased:
    """Erase queries by their keys, from the ledger, its log, the snapshots and the embedding cache.

    A key that the desk does not hold is refused before anything is erased. Where it returns, nothing of the text is
    left but in what this module's first lines name; where it raises, the same call again goes on.
    """
    row = desks.row(name)
    with desks.database.read() as connection:
        found = [part for block in _blocks(dict.fromkeys(keys)) for part in _find(connection, row.id, block)]
    missing = set(keys) - {key for key, _, _ in found}
    if missing:
        raise UnknownQuery(f"No query of the desk {name!r} has the id {min(missing)!r}; nothing was erased.")
    return _erase(desks, name, found, who, progress)


def retention(
    desks: Desks, name: str, now: datetime | None = None, who: str | None = "retention", *, portion: int = 10_000
) -> Erased:
    """Erase queries that are older than the desk's `retention_days`; nothing where that is not set.

    With `retain_examples`, the default, what an expert has labelled stays: the desk's knowledge rests on it. The oldest
    go first, a `portion` at a time so that never all their texts are in memory, until none is due; the settings are
    looked at before each, so that who has set too few days can still stop it.
    """
    erased = 0
    while found := _due(desks, name, now or datetime.now(UTC), portion):
        erased += _erase(desks, name, found, who, None).erased
    return Erased(erased)


def _due(desks: Desks, name: str, now: datetime, portion: int) -> Sequence[Any]:
    """The oldest queries that the desk is not to keep any longer."""
    settings = settings_of(desks, name)
    if settings.retention_days is None:
        return ()
    oldest = now - timedelta(days=settings.retention_days)
    old = and_(_queries.c.desk == desks.row(name).id, _queries.c.received_at < oldest, _queries.c.erased_at.is_(None))
    if settings.retain_examples:
        old = and_(old, _queries.c.example.is_not(True))
    with desks.database.read() as connection:
        query = select(_queries.c.key, _queries.c.text, _queries.c.erased_at).where(old)
        return connection.execute(query.order_by(_queries.c.received_at, _queries.c.id).limit(portion)).all()


def _erase(desks: Desks, name: str, found: Sequence[Any], who: str | None, progress: Progress | None) -> Erased:
    standing = [(key, text) for key, text, erased_at in found if erased_at is None]
    _forget_in_cache(
        [text for _, text in standing if text is not None]
    )  # first: later the texts are not known any more
    done = 0
    for block in _blocks(key for key, _ in standing):
        desks.run(name, partial(_erase_block, keys=block, who=who)).result()
        done += len(block)
        if progress is not None:
            progress(done, len(standing))
    scrub(desks.database)
    return Erased(len(standing), len(found) - len(standing))


def _erase_block(desk: LiveDesk, keys: Sequence[str], who: str | None) -> int:
    """The operation of the worker: text, vector and example of these queries go; how many were not erased yet."""
    connection = desk.entry.connection
    mine = and_(_queries.c.desk == desk.row.id, _queries.c.key.in_(list(keys)), _queries.c.erased_at.is_(None))
    ids = list(connection.execute(select(_queries.c.id).where(mine).order_by(_queries.c.id)).scalars())
    blank = {"text": None, "vector": None, "example": False, "erased_at": desk.entry.at}
    connection.execute(update(_queries).where(_queries.c.id.in_(ids)).values(blank))
    connection.execute(delete(schema.new_vectors).where(schema.new_vectors.c.query.in_(ids)))
    connection.execute(delete(schema.snapshots).where(schema.snapshots.c.desk == desk.row.id))
    for id in ids:
        event = desk.record(kinds.ERASED, id, who=who)
        closed = {
            "status": TicketStatus.WITHDRAWN,
            "closed": event.id,
            "closed_at": desk.entry.at,
            "closed_by": who,
            "lease_by": None,
            "lease_until": None,
        }
        mine = and_(_tickets.c.query == id, _tickets.c.status == TicketStatus.OPEN)
        connection.execute(update(_tickets).where(mine).values(closed))
    connection.execute(update(_tickets).where(_tickets.c.query.in_(ids)).values(suggested=None))
    words = and_(schema.events.c.query.in_(ids), schema.events.c.kind == kinds.FEEDBACK)  # the asker's own
    connection.execute(update(schema.events).where(words).values(payload={"right": None}))
    return len(ids)


def scrub(database: Database) -> None:
    """Leave no bytes of what was deleted behind: empty SQLite's log, or VACUUM PostgreSQL's tables."""
    with translated(database.name):
        if not database.is_sqlite:
            with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                _vacuum(connection)
            return
        with database.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            until = time.monotonic() + _PATIENCE
            while raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:  # not while another does the same
                if time.monotonic() > until:
                    raise NotErased(_TRACES)
                time.sleep(0.02)


def _vacuum(connection: Connection) -> None:
    """Remove old versions of rows, once nobody reads them any more."""
    began = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    until = time.monotonic() + _PATIENCE
    while connection.execute(_OLDER, {"began": began}).scalar_one():
        if time.monotonic() > until:
            raise NotErased(_TRACES)
        time.sleep(0.05)
    connection.exec_driver_sql(f"VACUUM {_HELD_TEXT}")


def _forget_in_cache(texts: list[str]) -> None:
    with EmbeddingCache() as cache:
        if not cache.path.exists():  # there is nothing to forget, and perhaps no right to make a file
            return
        try:
            cache.forget(texts)
        except CacheUnusable as error:
            cause = error.__cause__
            said = str(cause) if isinstance(cause, sqlite3.Error) else type(cause).__name__  # others name a file
            raise NotErased(_IN_CACHE.format(said)) from error


def _find(connection: Connection, desk: int, keys: Sequence[str]) -> Sequence[Any]:
    columns = (_queries.c.key, _queries.c.text, _queries.c.erased_at)
    return connection.execute(select(*columns).where(_queries.c.desk == desk, _queries.c.key.in_(list(keys)))).all()


def _blocks(keys: Any) -> Iterator[list[str]]:
    left = iter(keys)
    while block := list(islice(left, _AT_ONCE)):
        yield block
