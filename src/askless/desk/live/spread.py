"""How far a label's examples lie apart, in all dimensions of their vectors."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from sqlalchemy import Connection, select

from askless.ledger import schema

_q = schema.queries.c


def spreads(connection: Connection, desk: int) -> dict[str, float]:
    """For each label with vectors the radius of its examples: the root of their mean squared distance to its centre.

    The vectors have norm 1, so it is at most 1: 0 where all are alike, near 1 where they have nothing in common.
    """
    mine = (_q.desk == desk) & _q.example.is_(True) & _q.vector.is_not(None)
    vectors: dict[str, list[bytes]] = defaultdict(list)
    for label, vector in connection.execute(select(_q.label, _q.vector).where(mine)):
        vectors[label].append(vector)
    return {label: _radius(found) for label, found in vectors.items()}


def _radius(vectors: list[bytes]) -> float:
    X = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(len(vectors), -1).astype(np.float64)
    return float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
