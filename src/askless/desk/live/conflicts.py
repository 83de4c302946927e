"""Where experts have contradicted each other: queries that lie in several hulls at once, and the examples behind it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, func, select

from askless.desk.live.renamings import Renamings
from askless.desk.live.types import Evidence, QueryStatus
from askless.errors import UnknownQuery
from askless.ledger import schema

_q, _e, _t = schema.queries.c, schema.events.c, schema.tickets.c
_WEIGHT = 1e-6  # a smaller part in a hull's point is rounding
_PREFIX = 64  # bytes of a vector by which likely equal ones are found


@dataclass(frozen=True, slots=True)
class Conflict:
    """A query that waits because it lies in the hulls of several labels."""

    query: int
    key: str
    text: str | None
    labels: tuple[str, ...]
    ticket: int | None
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Side:
    """One label's part in a conflict: its hull's nearest point is the weighted sum of these examples.

    `inside` says whether the hull still contains the query; once at most one does, the conflict is settled.
    """

    label: str
    distance: float
    inside: bool
    examples: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Examples of one and the same vector with different labels."""

    examples: tuple[Evidence, ...]


def conflicts(connection: Connection, desk: int, *, after: int = 0, limit: int = 100) -> list[Conflict]:
    """The queries that were asked for a conflict and wait still, oldest first; `after` is the last one seen."""
    found = connection.execute(
        select(_q.id, _q.key, _q.text, _e.id.label("event"), _e.payload, _t.id.label("ticket"), _q.received_at)
        .select_from(
            schema.queries.join(schema.events, _e.id == _q.decided).outerjoin(schema.tickets, _t.query == _q.id)
        )
        .where(_q.desk == desk, _q.status == QueryStatus.ASKED, _q.id > after)
        .where(_q.erased_at.is_(None), _q.vector.is_not(None))  # a new embedder may know nothing of the text
        .where(_e.payload["reason"]["kind"].as_string() == "Conflict")
        .order_by(_q.id)
        .limit(limit)
    ).all()
    renamings = Renamings(connection, desk, deletions=False)
    return [
        Conflict(row.id, row.key, row.text, _labels_now(renamings, row.payload, row.event), row.ticket, row.received_at)
        for row in found
    ]


def _labels_now(renamings: Renamings, decision: dict[str, Any], event: int) -> tuple[str, ...]:
    """The labels of a conflict that was found at this event, as they are called by now; two merged since are one."""
    named = (renamings.now(str(label), event) for label in decision["reason"]["fields"]["labels"])
    return tuple(dict.fromkeys(label for label in named if label is not None))


def causes(connection: Connection, desk: int, query: int, labels: tuple[str, ...]) -> list[Side]:
    """Which examples of each of these labels make its hull contain the query: the largest parts first.

    The weights are those of the query's projection onto the hull, on the sphere; a hull that contains the query has
    it as its own nearest point.
    """
    from askless.geometry.projection import ZERO, distance_to_cone

    row = connection.execute(select(_q.vector).where(_q.desk == desk, _q.id == query)).one_or_none()
    if row is None or row.vector is None:
        raise UnknownQuery(f"The query {query} has no vector at this desk: it was erased, or its text is unknown.")
    x = np.frombuffer(row.vector, dtype=np.float32)
    sides = []
    for label in labels:
        ids, rows = _examples(connection, desk, label, query)
        if not ids:
            continue
        found = distance_to_cone(x, rows)
        chosen = [k for k in np.argsort(-found.weights, kind="stable") if found.weights[k] > _WEIGHT]
        parts = {ids[k]: float(found.weights[k]) for k in chosen}
        sides.append(Side(label, found.distance, found.distance <= ZERO, _evidence(connection, parts)))
    return sides


def contradictions(connection: Connection, desk: int, limit: int = 100) -> list[Contradiction]:
    """Examples of equal vectors and different labels: one of each group is wrong, or the text has no one label."""
    start = func.substr(_q.vector, 1, _PREFIX)
    mine = and_(_q.desk == desk, _q.example.is_(True), _q.vector.is_not(None))
    likely = (
        select(start.label("start")).where(mine).group_by(start).having(func.count(func.distinct(_q.label)) > 1)
    ).subquery()
    rows = connection.execute(
        select(_q.id, _q.vector, _q.label).join(likely, start == likely.c.start).where(mine).order_by(_q.id)
    )
    groups: defaultdict[bytes, dict[int, str]] = defaultdict(dict)
    for id, vector, label in rows:
        groups[bytes(vector)][id] = label
    found = [group for group in groups.values() if len(set(group.values())) > 1]
    return [Contradiction(_evidence(connection, dict.fromkeys(group, 1.0))) for group in found[:limit]]


def _examples(connection: Connection, desk: int, label: str, but: int) -> tuple[list[int], NDArray[np.float32]]:
    mine = and_(_q.desk == desk, _q.label == label, _q.example.is_(True), _q.vector.is_not(None), _q.id != but)
    found = connection.execute(select(_q.id, _q.vector).where(mine).order_by(_q.id)).all()
    if not found:
        return [], np.empty((0, 0), dtype=np.float32)
    return [id for id, _ in found], np.array([np.frombuffer(v, dtype=np.float32) for _, v in found])


def _evidence(connection: Connection, weights: dict[int, float]) -> tuple[Evidence, ...]:
    """The examples as people know them, in the order of the weights."""
    rows: Any = connection.execute(select(_q.id, _q.key, _q.text, _q.label).where(_q.id.in_(list(weights))))
    by_id = {id: (key, text, label) for id, key, text, label in rows}
    return tuple(Evidence(*by_id[id], weight) for id, weight in weights.items())
