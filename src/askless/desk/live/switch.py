"""The steps of changing a desk's embedder, as operations of its worker; `reembed` takes them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, delete, func, insert, select, update

from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import TicketStatus
from askless.embed.run import embed_texts
from askless.errors import Conflicting, InvalidInput, Unknown
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.ledger import DeskRow
from askless.types import Embedder

KIND = "reembed"
LAST = 64  # so few texts may be embedded while the desk waits for its switch
_ABANDONED = timedelta(seconds=120)  # without a step: another process may take the job over

_queries, _jobs, _vectors = schema.queries, schema.jobs, schema.new_vectors


class JobStatus(StrEnum):
    """How far a job is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """The embedding of all texts with another embedder: `done` of `total` texts; `error` says why it ended early."""

    id: int
    desk: int
    status: JobStatus
    embedder: str  # by the name that makes it
    done: int
    total: int
    forgets: int  # examples without a text, which the switch forgets
    error: str | None
    created_at: datetime
    updated_at: datetime


def as_job(row: Any) -> Job:
    """A row of the table as others see it."""
    spec, forgets = row.payload["spec"], row.payload["forgets"]
    status = JobStatus(row.status)
    return Job(row.id, row.desk, status, spec, row.done, row.total, forgets, row.error, row.created_at, row.updated_at)


def row_of(connection: Connection, desk: int, job: int) -> Any:
    """The row of a job."""
    mine = and_(_jobs.c.desk == desk, _jobs.c.kind == KIND, _jobs.c.id == job)
    row = connection.execute(select(_jobs).where(mine)).one_or_none()
    if row is None:
        raise Unknown(f"This desk has no job {job}.")
    return row


def start(desk: LiveDesk, spec: str, embedder: str, who: str | None, forget_vectors: bool) -> Job:
    """A new job; at most one of a desk runs."""
    connection = desk.entry.connection
    if embedder == desk.row.embedder:
        raise InvalidInput(f"The desk {desk.row.name!r} has the embedder {embedder} already.")
    running = and_(_jobs.c.desk == desk.row.id, _jobs.c.kind == KIND, _jobs.c.status == JobStatus.RUNNING)
    other = connection.execute(select(_jobs.c.id).where(running)).scalar()
    if other is not None:
        raise Conflicting(f"Job {other} is changing this desk's embedder already; wait for it, or cancel it first.")
    lost, waiting = len(_without_text(desk)), _waiting_without_text(desk)
    if (lost or waiting) and not forget_vectors:
        found = [(lost, "example"), (waiting, "open question")]
        counted = " and ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in found if count)
        raise Conflicting(
            f"The desk {desk.row.name!r} has {counted} that came without a text, and so cannot be embedded again: such "
            "examples would be forgotten, and nothing learned from the answers to such questions. Say that this may be "
            "(forget_vectors, --forget-vectors), or keep the embedder."
        )
    row = {
        "desk": desk.row.id,
        "kind": KIND,
        "status": JobStatus.RUNNING.value,
        "payload": {"spec": spec, "embedder": embedder, "who": who, "forgets": lost, "by": None},
        "done": 0,
        "total": connection.execute(select(func.count()).where(_embeddable(desk.row.id))).scalar_one(),
        "created_at": desk.entry.at,
        "updated_at": desk.entry.at,
    }
    key: Any = connection.execute(insert(_jobs), row).inserted_primary_key
    return as_job(row_of(connection, desk.row.id, int(key[0])))


def claim(desk: LiveDesk, job: int, token: str) -> bool:
    """Whether the one with this token is to take the next step: nobody else is at work on the job."""
    connection, row = desk.entry.connection, row_of(desk.entry.connection, desk.row.id, job)
    by, recent = row.payload["by"], desk.entry.at - row.updated_at < _ABANDONED
    if row.status != JobStatus.RUNNING or (by not in (None, token) and recent):
        return False
    values = {"payload": row.payload | {"by": token}, "updated_at": desk.entry.at}
    connection.execute(update(_jobs).where(_jobs.c.id == job).values(values))
    return True


def release(desk: LiveDesk, job: int, token: str) -> None:
    """The one with this token leaves a job that still runs: another may go on with it at once."""
    connection, row = desk.entry.connection, row_of(desk.entry.connection, desk.row.id, job)
    if row.status == JobStatus.RUNNING and row.payload["by"] == token:
        connection.execute(update(_jobs).where(_jobs.c.id == job).values(payload=row.payload | {"by": None}))


def left(connection: Connection, job: Job, limit: int) -> list[tuple[int, str]]:
    """The next queries to embed, by id and text. They are taken in the order of their ids, which only ever grow."""
    last = connection.execute(select(func.max(_vectors.c.query)).where(_vectors.c.job == job.id)).scalar() or 0
    query = select(_queries.c.id, _queries.c.text).where(_embeddable(job.desk), _queries.c.id > last)
    return [(id, text) for id, text in connection.execute(query.order_by(_queries.c.id).limit(limit))]


def store(desk: LiveDesk, job: int, ids: Sequence[int], vectors: NDArray[np.float32]) -> set[int]:
    """Keep the vectors of a block; the ids of those that are still there to be kept, and not erased meanwhile."""
    connection, row = desk.entry.connection, row_of(desk.entry.connection, desk.row.id, job)
    standing = set(
        connection.execute(select(_queries.c.id).where(_embeddable(desk.row.id), _queries.c.id.in_(ids))).scalars()
    )
    had = set(
        connection.execute(select(_vectors.c.query).where(_vectors.c.job == job, _vectors.c.query.in_(ids))).scalars()
    )
    rows = [
        {"job": job, "query": id, "vector": None if np.isnan(x).any() else np.asarray(x, dtype=np.float32).tobytes()}
        for id, x in zip(ids, vectors, strict=True)
        if id in standing - had
    ]
    if row.status == JobStatus.RUNNING and rows:
        connection.execute(insert(_vectors), rows)
        done = row.done + len(rows)
        values = {"done": done, "total": max(row.total, done), "updated_at": desk.entry.at}
        connection.execute(update(_jobs).where(_jobs.c.id == job).values(values))
    return standing


def switch(desk: LiveDesk, job: int, embedder: Embedder) -> bool:
    """Replace all vectors, where no more than a few texts are left, and learn anew; whether that was done.

    The desk holds its lock, so nothing comes in between. Examples that came as vectors alone are forgotten.
    """
    connection, found = desk.entry.connection, row_of(desk.entry.connection, desk.row.id, job)
    if found.status != JobStatus.RUNNING:
        return False
    rest = left(connection, as_job(found), LAST + 1)
    if len(rest) > LAST:  # more have come since
        return False
    if rest:
        store(desk, job, [id for id, _ in rest], embed_texts(embedder, [text for _, text in rest]))
    who = found.payload["who"]
    for id in _without_text(desk):
        desk.record(kinds.FORGOTTEN, id, who=who)
        connection.execute(update(_queries).where(_queries.c.id == id).values(example=False))
    new = select(_vectors.c.vector).where(_vectors.c.job == job, _vectors.c.query == _queries.c.id).scalar_subquery()
    mine = _queries.c.desk == desk.row.id
    connection.execute(update(_queries).where(mine).values(vector=new, embedder=embedder.id))
    connection.execute(update(schema.desks).where(schema.desks.c.id == desk.row.id).values(embedder=embedder.id))
    connection.execute(delete(schema.snapshots).where(schema.snapshots.c.desk == desk.row.id))
    connection.execute(delete(_vectors).where(_vectors.c.job == job))
    desk.record(kinds.SWITCHED, payload={"embedder": embedder.id, "spec": found.payload["spec"]}, who=who)
    desk.row = DeskRow(desk.row.id, desk.row.name, embedder.id)
    values = {"status": JobStatus.DONE.value, "updated_at": desk.entry.at}
    connection.execute(update(_jobs).where(_jobs.c.id == job).values(values))
    return True


def end(desk: LiveDesk, job: int, status: JobStatus, why: str) -> Job:
    """End a job that runs without a switch: its vectors go, the desk keeps its embedder."""
    connection, row = desk.entry.connection, row_of(desk.entry.connection, desk.row.id, job)
    if row.status == JobStatus.RUNNING:
        values = {"status": status.value, "error": why, "updated_at": desk.entry.at}
        connection.execute(update(_jobs).where(_jobs.c.id == job).values(values))
        connection.execute(delete(_vectors).where(_vectors.c.job == job))
    return as_job(row_of(connection, desk.row.id, job))


def _embeddable(desk: int) -> Any:
    return and_(_queries.c.desk == desk, _queries.c.text.is_not(None), _queries.c.erased_at.is_(None))


def _waiting_without_text(desk: LiveDesk) -> int:
    """How many queries that came as vectors alone wait for an expert."""
    t = schema.tickets.c
    mine = and_(t.desk == desk.row.id, t.status == TicketStatus.OPEN.value)
    alone = and_(mine, _queries.c.text.is_(None), _queries.c.vector.is_not(None))
    count = select(func.count()).select_from(schema.tickets.join(_queries, t.query == _queries.c.id)).where(alone)
    return int(desk.entry.connection.execute(count).scalar_one())


def _without_text(desk: LiveDesk) -> list[int]:
    """The examples that came as vectors alone."""
    mine = and_(_queries.c.desk == desk.row.id, _queries.c.example.is_(True))
    alone = and_(mine, _queries.c.text.is_(None), _queries.c.vector.is_not(None))
    return list(desk.entry.connection.execute(select(_queries.c.id).where(alone).order_by(_queries.c.id)).scalars())
