"""The map of a desk's examples: against scipy's singular vectors, and hulls checked by half planes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import svd
from sqlalchemy import insert

from askless.desk.live import erase, labels
from askless.desk.live.projection import Map, map_of
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from live_admin import ADMIN, NAME, answer_all, ask, toy


def fill(database: Database, vectors: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    """A desk 1 with these examples by label, queries that are on no map, another desk; the vectors in their order."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(label, np.asarray(x, dtype=np.float32)) for label, X in vectors.items() for x in X]
    odd = np.array([9, 9, 9], dtype=np.float32).tobytes()
    examples = [
        {"desk": 1, "key": f"k{k}", "text": f"text {k}", "label": label, "vector": x.tobytes(), "example": True}
        for k, (label, x) in enumerate(rows)
    ]
    others = [
        {"desk": 1, "key": "guessed", "text": "g", "label": "a", "vector": odd, "example": False},
        {"desk": 1, "key": "unknown", "text": "?", "label": "a", "vector": None, "example": True},
        {"desk": 2, "key": "other", "text": "x", "label": "a", "vector": odd, "example": True},
    ]
    desks = [{"id": desk, "name": f"d{desk}", "embedder": "e", "created_at": at} for desk in (1, 2)]
    with database.write() as connection:
        connection.execute(insert(schema.desks), desks)
        connection.execute(insert(schema.queries), examples + others)
    return np.array([x for _, x in rows])


def look(database: Database, **how: Any) -> Map:
    with database.read() as connection:
        return map_of(connection, 1, **how)


def clusters(sizes: dict[str, int], dim: int = 20, seed: int = 0) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    found = {}
    for label, size in sizes.items():
        X = rng.standard_normal(dim) + 0.4 * rng.standard_normal((size, dim))
        found[label] = X / np.linalg.norm(X, axis=1, keepdims=True)
    return found


def inside(corners: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    """Whether a point lies to the left of each side, of corners that go around counterclockwise."""
    P = np.array(corners)
    sides, to_point = np.roll(P, -1, axis=0) - P, np.array([x, y]) - P
    return bool(np.all(sides[:, 0] * to_point[:, 1] - sides[:, 1] * to_point[:, 0] >= -1e-5))


def test_points_lie_on_the_singular_vectors_and_the_share_is_theirs(database: Database) -> None:
    X = fill(database, clusters({"a": 40, "b": 25, "c": 7})).astype(np.float64)
    found = look(database)
    centred = X - X.mean(axis=0)
    _, singular, axes = svd(centred, full_matrices=False)
    axes = axes[:2] * np.sign(axes[[0, 1], np.abs(axes[:2]).argmax(axis=1)])[:, None]
    assert np.array([(p.x, p.y) for p in found.points]) == pytest.approx(centred @ axes.T, abs=1e-5)
    assert found.share == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum())
    assert (found.examples, found.shown) == (72, 72)
    assert [(p.key, p.text) for p in found.points] == [(f"k{k}", f"text {k}") for k in range(72)]
    assert look(database) == found


def test_a_labels_hull_holds_its_examples_and_its_corners_are_some_of_them(database: Database) -> None:
    fill(database, clusters({"a": 40, "b": 25, "c": 7, "pair": 2, "one": 1}))
    found = look(database)
    assert [shape.label for shape in found.labels] == ["a", "b", "c", "one", "pair"]
    for shape in found.labels:
        mine = [(p.x, p.y) for p in found.points if p.label == shape.label]
        assert shape.examples == len(mine)
        assert (shape.x, shape.y) == pytest.approx(np.mean(mine, axis=0))
        assert set(shape.corners) <= set(mine)
        assert len(set(shape.corners)) == len(shape.corners)
        if len(mine) > 2:
            assert all(inside(shape.corners, x, y) for x, y in mine)
            assert inside(shape.corners, shape.x, shape.y)
            assert not inside(shape.corners, shape.x + 100.0, shape.y)
        else:
            assert set(shape.corners) == set(mine)


def test_the_spread_of_a_label_is_the_radius_of_its_examples(database: Database) -> None:
    """Of unit vectors with the mean m, the mean squared distance to m is 1 - |m|^2."""
    vectors = clusters({"a": 40, "b": 7, "one": 1})
    fill(database, vectors)
    for shape in look(database).labels:
        m = vectors[shape.label].mean(axis=0)
        assert shape.spread == pytest.approx(np.sqrt(max(1 - m @ m, 0.0)), abs=1e-3 if shape.label == "one" else 1e-5)


def test_the_nearest_labels_are_those_at_the_smallest_angle_in_all_dimensions(database: Database) -> None:
    vectors = clusters(dict.fromkeys("abcdef", 10))
    fill(database, vectors)
    centres = {name: X.astype(np.float32).mean(axis=0) for name, X in vectors.items()}
    for shape in look(database).labels:
        c = centres.pop(shape.label)
        cosines = {
            name: float(c @ other / np.linalg.norm(c) / np.linalg.norm(other)) for name, other in centres.items()
        }
        centres[shape.label] = c
        order = sorted(cosines, key=lambda name: -cosines[name])[:3]
        assert [near.label for near in shape.nearest] == order
        assert [near.cosine for near in shape.nearest] == pytest.approx([cosines[name] for name in order], abs=1e-5)


def test_few_points_are_shared_fairly_and_hulls_are_of_all_examples(database: Database) -> None:
    fill(database, clusters({"a": 300, "b": 100, "c": 5}))
    full, found = look(database), look(database, most=101)
    assert Counter(p.label for p in found.points) == {"a": 48, "b": 48, "c": 5}
    assert (found.shown, found.examples, found.labels, found.share) == (101, 405, full.labels, full.share)
    assert set(found.points) < set(full.points)
    assert look(database, most=101) == found
    assert look(database, most=101, seed=1).points != found.points
    assert look(database, most=2).shown == 2
    with pytest.raises(InvalidInput, match="point"):
        look(database, most=0)


def test_examples_that_span_nothing(database: Database) -> None:
    assert look(database) == Map((), (), 0, 0, 1.0)
    same = np.full((5, 3), 3**-0.5)
    fill(database, {"a": same, "b": same[:2]})
    found = look(database)
    assert {(p.x, p.y) for p in found.points} == {(0.0, 0.0)}
    assert [shape.corners for shape in found.labels] == [((0.0, 0.0),)] * 2
    assert found.share == 1.0
    assert found.labels[0].nearest[0].cosine == pytest.approx(1.0)


def test_one_example_is_a_point(database: Database) -> None:
    fill(database, {"a": np.eye(3)[:1]})
    (shape,) = look(database).labels
    assert (shape.corners, shape.nearest, shape.examples) == (((0.0, 0.0),), (), 1)


def test_one_dimension_and_one_line_give_segments(database: Database) -> None:
    fill(database, {"a": np.array([[1.0], [0.2], [-1.0]]), "b": np.array([[1.0]])})
    found = look(database)
    assert found.share == pytest.approx(1.0)
    assert {p.y for p in found.points} == {0.0}
    assert found.labels[0].corners == ((pytest.approx(-1.3), 0.0), (pytest.approx(0.7), 0.0))


def test_centres_at_the_origin_are_near_to_none(database: Database) -> None:
    fill(database, {"a": np.array([[1.0, 0.0], [-1.0, 0.0]]), "b": np.array([[0.0, 1.0]])})
    assert [shape.nearest[0].cosine for shape in look(database).labels] == [0.0, 0.0]


def test_a_desk_with_unknown_and_erased_texts(database: Database) -> None:
    with toy(database, "always-ask") as desks:
        ask(desks, ["a1", "a2", "a3", "b1", "b2", "?1"])
        answer_all(desks)
        erase.erase(desks, NAME, ["a3"], ADMIN)
        desks.run(NAME, lambda desk: labels.rename(desk, "b", "second", ADMIN)).result()
        with database.read() as connection:
            found = map_of(connection, desks.row(NAME).id)
    assert [p.text for p in found.points] == ["a1", "a2", "b1", "b2"]
    assert [(shape.label, shape.examples) for shape in found.labels] == [("a", 2), ("second", 2)]
