"""A map of what a desk knows: its examples in the plane that shows most of their spread, and the labels' hulls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from askless.desk.live.read import evidence
from askless.errors import InvalidInput
from askless.ledger import schema

_NEIGHBOURS = 3
_DIGITS = 6  # after the point; the vectors are of norm 1, in float32
_q = schema.queries.c


@dataclass(frozen=True, slots=True)
class Point:
    """An example on the map."""

    x: float
    y: float
    key: str
    text: str | None
    label: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A label near another: the cosine of the angle between their centres, in all dimensions."""

    label: str
    cosine: float


@dataclass(frozen=True, slots=True)
class LabelShape:
    """A label on the map: the centre of its examples, their number, and the corners of its hull, in order.

    `spread` is the radius of the examples in all dimensions, the root of their mean squared distance to their centre.
    The vectors have norm 1, so it is at most 1: 0 where all are alike, near 1 where they have nothing in common.
    The hull's shadow in the plane is the hull of its examples' shadows. It has two corners where they lie on one line,
    and one where they lie in one place. All examples count, also those whose points are not on the map.
    """

    label: str
    x: float
    y: float
    examples: int
    spread: float
    corners: tuple[tuple[float, float], ...]
    nearest: tuple[Neighbour, ...]  # of the other labels, the nearest first


@dataclass(frozen=True, slots=True)
class Map:
    """The points that are shown of all examples that have a vector, the labels, and how much the plane tells.

    `share` is the share of the examples' variance that the two axes hold: 1 where nothing is lost.
    """

    points: tuple[Point, ...]
    labels: tuple[LabelShape, ...]
    examples: int
    shown: int
    share: float


def map_of(connection: Connection, desk: int, *, most: int = 3000, seed: int = 0) -> Map:
    """The examples of a desk on their two principal axes, with at most `most` points.

    Where there are more examples, each label has an equal share of the points, what a small one leaves is shared by
    the larger ones, and within a label chance decides, by the seed. Examples without a vector, since the embedder
    knows nothing of their text, are on no map. An axis points to where its largest component is positive, so the same
    examples give the same map.
    """
    if most < 1:
        raise InvalidInput(f"A map has at least one point; found most={most}.")
    mine = (_q.desk == desk) & _q.example.is_(True) & _q.vector.is_not(None)
    rows = connection.execute(select(_q.id, _q.label, _q.vector).where(mine).order_by(_q.id)).all()
    if not rows:
        return Map((), (), 0, 0, 1.0)
    X = np.frombuffer(b"".join(row.vector for row in rows), dtype=np.float32).reshape(len(rows), -1)
    names = sorted({row.label for row in rows})
    number = {name: k for k, name in enumerate(names)}
    owner = np.array([number[row.label] for row in rows])
    places, share = _on_axes(X)
    chosen = _chosen(owner, len(names), most, np.random.default_rng(seed))
    known = evidence(connection, [rows[k].id for k in chosen])
    points = tuple(
        Point(float(places[k, 0]), float(places[k, 1]), known[rows[k].id].key, known[rows[k].id].text, rows[k].label)
        for k in chosen
    )
    return Map(points, _shapes(names, owner, X, places), len(rows), len(points), share)


def _on_axes(X: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Each row on the two principal axes, and the share of the variance that these hold.

    The axes are the eigenvectors of the rows' scatter with the largest eigenvalues, which are the right singular
    vectors of the centred rows; the scatter is small where the examples are many.
    """
    from scipy.linalg import eigh

    centred = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    dim = X.shape[1]
    scatter = (centred.T @ centred).astype(np.float64)
    values, axes = eigh(scatter, subset_by_index=[max(dim - 2, 0), dim - 1])
    values, axes = values[::-1], axes[:, ::-1]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0.0, -1.0, 1.0)
    places = np.zeros((len(X), 2))
    places[:, : axes.shape[1]] = np.round(centred @ axes, _DIGITS)
    spread = float(np.trace(scatter))
    return places + 0.0, min(float(values.sum()) / spread, 1.0) if spread > 0.0 else 1.0


def _chosen(owner: NDArray[np.int64], n_labels: int, most: int, rng: np.random.Generator) -> list[int]:
    """At most so many examples, by label as `map_of` says, in their order."""
    if len(owner) <= most:
        return list(range(len(owner)))
    counts = np.bincount(owner, minlength=n_labels)
    left, found = most, []
    for place, label in enumerate(np.argsort(counts, kind="stable")):
        share = min(int(counts[label]), left // (n_labels - place))
        left -= share
        found.extend(rng.choice(np.flatnonzero(owner == label), share, replace=False).tolist())
    return sorted(found)


def _shapes(
    names: Sequence[str], owner: NDArray[np.int64], X: NDArray[np.float32], places: NDArray[np.float64]
) -> tuple[LabelShape, ...]:
    own = [np.flatnonzero(owner == k) for k in range(len(names))]
    centres = np.array([X[rows].mean(axis=0, dtype=np.float64) for rows in own])
    near = _nearest(centres)
    shapes = []
    for k, rows in enumerate(own):
        x, y = places[rows].mean(axis=0)
        nearest = tuple(Neighbour(names[other], cosine) for other, cosine in near[k])
        spread = float(np.sqrt(((X[rows] - centres[k]) ** 2).sum(axis=1).mean()))
        shapes.append(LabelShape(names[k], float(x), float(y), len(rows), spread, _corners(places[rows]), nearest))
    return tuple(shapes)


def _nearest(centres: NDArray[np.float64]) -> list[list[tuple[int, float]]]:
    """For each centre the others at the smallest angles, with their cosines; one at the origin is at right angles."""
    norms = np.linalg.norm(centres, axis=1, keepdims=True)
    units = np.divide(centres, norms, out=np.zeros_like(centres), where=norms > 0.0)
    cosines = np.clip(units @ units.T, -1.0, 1.0)
    found = []
    for k, row in enumerate(cosines):
        order = [int(other) for other in np.argsort(-row, kind="stable") if other != k]
        found.append([(other, float(row[other])) for other in order[:_NEIGHBOURS]])
    return found


def _corners(places: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """The corners of the hull of points in the plane, counterclockwise; fewer than three where they span no area."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(places, axis=0)
    order: NDArray[np.integer]
    try:
        order = ConvexHull(distinct).vertices if len(distinct) > 2 else np.arange(len(distinct))
    except QhullError:  # on one line: in the order of their coordinates the ends are the first and the last
        order = np.array([0, len(distinct) - 1])
    return tuple((float(x), float(y)) for x, y in distinct[order])
