"""The store's certified decisions against brute force over the labels with exact distances."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.geometry.nearest import NearestTwo
from askless.geometry.search import settle
from askless.geometry.store import ExampleStore
from cases import SHARE, SPACES, Array, Rng
from reference import INSIDE, ReferenceDecision, ReferenceStore, decide_from, unit_rows

TAUS = (0.0, 0.3, 0.9, 1.0)
ROUNDING = 1e-12


@dataclass(frozen=True)
class World:
    """Labelled examples, and queries: examples, mixtures of one label or of two, and strangers."""

    X: Array
    labels: list[int]
    queries: Array

    def store(self, space: str, dtype: str = "float64") -> ExampleStore:
        store = ExampleStore(space)
        for x, label in zip(self.X.astype(dtype), self.labels, strict=True):
            store.append(x, label)
        return store


def world(rng: Rng, groups: list[Array], queries: int) -> World:
    """Queries go round the kinds; a mixture of two labels leans to one of them."""
    d = groups[0].shape[1]
    scale = float(np.abs(np.vstack(groups)).mean())
    Q = []
    for i in range(queries):
        one, two = (groups[int(k)] for k in rng.integers(len(groups), size=2))
        inside, other = (rng.dirichlet(np.ones(len(g))) @ g for g in (one, two))
        lean = rng.uniform(0.5, 1.0)
        noise = scale * rng.normal(size=d)
        Q.append([one[0], inside, lean * inside + (1 - lean) * other, inside + 0.3 * noise, noise][i % 5])
    labels = [k for k, group in enumerate(groups) for _ in group]
    return World(np.vstack(groups), labels, np.array(Q))


def clusters(rng: Rng, d: int, sizes: list[int], noise: float = 0.5, offset: float = 0.0) -> list[Array]:
    """Unit centres at random, moved along the first axis, and noise around them."""
    shift = offset * np.eye(d)[0]
    centres = unit_rows(rng.normal(size=(len(sizes), d)))
    return [c + shift + noise / np.sqrt(d) * rng.normal(size=(n, d)) for c, n in zip(centres, sizes, strict=True)]


def sizes(rng: Rng, labels: int, most: int) -> list[int]:
    return [int(n) for n in rng.integers(1, most + 1, size=labels)]


def repeated_coordinates(rng: Rng) -> list[Array]:
    groups = [rng.integers(-2, 3, size=(n, 5)).astype(float) for n in (4, 6, 8, 5)]
    return [np.hstack([rng.integers(1, 4, size=(len(g), 1)), g]) for g in groups]


def contradictions(rng: Rng) -> list[Array]:
    """Examples that two labels share, and hulls that overlap."""
    groups = clusters(rng, 4, [12] * 5, noise=1.0)
    groups[1][0], groups[3][0] = groups[0][0], groups[2][0]
    return groups


def of_low_rank(rng: Rng) -> list[Array]:
    """All cosines between 0.7 and 0.9, and noise in six directions only."""
    basis = unit_rows(rng.normal(size=(6, 48)))
    groups = clusters(rng, 48, sizes(rng, 40, 8), noise=0.0, offset=2.0)
    return [g + 0.3 * rng.normal(size=(len(g), 6)) @ basis for g in groups]


def in_pairs(rng: Rng, apart: float, sign: float = 1.0) -> list[Array]:
    """Every example twice: exactly, nearly, or once with each sign."""
    groups = clusters(rng, 8, [4, 5, 6, 3])
    return [np.vstack([g, sign * g + apart * rng.normal(size=g.shape)]) for g in groups]


Groups = Callable[[Rng], list[Array]]
WORLDS: dict[str, tuple[int, Groups]] = {  # the number of queries, and each label's examples
    "few labels": (60, lambda rng: clusters(rng, 6, sizes(rng, 4, 8))),
    "200 labels": (15, lambda rng: clusters(rng, 32, sizes(rng, 200, 5))),
    "many examples, d=5": (30, lambda rng: clusters(rng, 5, [320, 310, 300])),
    "many examples, d=20": (15, lambda rng: clusters(rng, 20, [350, 7, 300], noise=0.8)),
    "crowded": (25, lambda rng: clusters(rng, 64, sizes(rng, 50, 8), offset=2.0)),
    "crowded, low rank": (25, of_low_rank),
    "contradictions": (40, contradictions),
    "repeated coordinates": (60, repeated_coordinates),
    "duplicates": (30, lambda rng: in_pairs(rng, 0.0)),
    "nearly equal": (30, lambda rng: in_pairs(rng, 1e-6)),
    "one antipodal label": (40, lambda rng: [*in_pairs(rng, 0.0, -1.0)[:1], *clusters(rng, 8, [4, 5, 6])]),
    "d=1": (30, lambda rng: [np.array([[1.0], [2.5]]), np.array([[-1.0], [-0.3]]), np.array([[4.0]])]),
    "d=512": (12, lambda rng: clusters(rng, 512, sizes(rng, 15, 6))),
    "single examples": (30, lambda rng: clusters(rng, 10, [1] * 40)),
    "one label": (30, lambda rng: clusters(rng, 6, [9])),
}


def make(name: str, seed: int = 0) -> World:
    queries, groups = WORLDS[name]
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    return world(rng, groups(rng), max(5, round(SHARE * queries)))  # five: one of each kind


# -- the decision -----------------------------------------------------------------------------------------


def agrees(found: NearestTwo, truth: ReferenceDecision) -> None:
    """The answer is the one that the true distances give."""
    assert found.guessable is truth.guessable
    assert set(found.inside) == truth.inside
    assert found.is_conflict is truth.is_conflict
    if truth.guessable:
        assert found.label == truth.label


def encloses(found: NearestTwo, distances: dict[Any, float], scale: float) -> None:
    """The intervals hold the distance of the label named and that of the nearest among the others."""
    slack = ROUNDING * scale
    assert 0.0 <= found.low <= found.high
    assert found.low - slack <= distances[found.label] <= found.high + slack
    others = [d for label, d in distances.items() if label != found.label]
    if not others:
        assert found.runner_up is None
        assert found.runner_low == found.runner_high == np.inf
        return
    assert found.runner_up in distances
    assert found.runner_low - slack <= min(others) <= found.runner_high + slack
    if not found.inside and distances[found.label] <= min(others):
        assert found.ratio_low - 1e-9 <= distances[found.label] / min(others) <= found.ratio_high + 1e-9


def is_evident(found: NearestTwo, store: ExampleStore, q: Array, scale: float) -> None:
    """The evidence spans a point of the label's hull that is as near as claimed."""
    assert found.evidence
    examples = [store.get(support.id) for support in found.evidence]
    assert {example.label for example in examples} == {found.label}
    weights = np.array([support.weight for support in found.evidence])
    assert (weights > 0.0).all()
    X, y = np.array([example.x for example in examples], dtype=np.float64), np.asarray(q, dtype=np.float64)
    if store.space == "sphere":
        X, y = unit_rows(X), unit_rows(y[None, :])[0]
    assert np.linalg.norm(y - weights @ X) <= found.high + 1e-7 * scale


def settled(store: ExampleStore, queries: Array, distance: str) -> Iterator[tuple[Array, dict[Any, float], float]]:
    """Each query with its true distances and scale; a store rounds a query as it rounds an example."""
    truths = ReferenceStore(store.examples(), store.space)
    for q in queries:
        alone = ExampleStore(store.space)
        rounded = alone.get(alone.append(q, 0)).x
        yield q, truths.distances(rounded, distance), truths.scale(rounded)


def check_world(world: World, space: str, dtype: str, distance: str) -> None:
    """Every query at every tau; at most one in fifty may be too near a tie to have an answer."""
    store = world.store(space, dtype)
    skipped = asked = 0
    for q, distances, scale in settled(store, world.queries.astype(dtype), distance):
        for tau in TAUS:
            asked += 1
            truth = decide_from(distances, tau, scale)
            found = store.nearest_two(q, tau, distance)
            encloses(found, distances, scale)
            if truth.margin < INSIDE:
                skipped += 1
                continue
            agrees(found, truth)
            if found.guessable:
                is_evident(found, store, q, scale)
    assert skipped <= 0.02 * asked


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", WORLDS)
def test_hull_decisions_are_those_of_exact_distances(name: str, space: str, dtype: str) -> None:
    check_world(make(name), space, dtype, "hull")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_query_behind_all_hulls_has_its_nearest_example_as_evidence(dtype: str) -> None:
    """Case (ii) of the proposition: no weights of several examples come as near as one example alone."""
    store = ExampleStore("sphere", dtype)
    for label, group in enumerate([[[1.0, 0.2, 0.0], [1.0, 0.0, 0.3]], [[0.0, 1.0, 0.1], [0.1, 1.0, 0.0]]]):
        for k, x in enumerate(group):
            store.append(np.array(x), label, id=f"{label}{k}")
    q = np.array([-0.4, -1.0, -0.2])
    found = store.nearest_two(q, 1.0)
    assert found.guessable
    assert found.label == 0
    assert [(support.id, support.weight) for support in found.evidence] == [("01", 1.0)]
    is_evident(found, store, q, 1.0)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", WORLDS)
def test_nearest_decisions_are_those_of_exact_distances(name: str, space: str) -> None:
    check_world(make(name, seed=1), space, "float32" if len(name) % 2 else "float64", "nearest")


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", WORLDS)
def test_exact_search_gives_both_distances(name: str, space: str) -> None:
    world = make(name, seed=2)
    store = world.store(space)
    for q, distances, scale in settled(store, world.queries[:6], "hull"):
        found = store.nearest_two(q, 0.9, exact=True)
        nearest, second, *_ = [*sorted(distances.values()), np.inf]
        encloses(found, distances, scale)
        assert abs(found.high - nearest) <= 1e-7 * scale
        assert found.high - found.low <= 1e-7 * scale
        if second < np.inf:
            assert abs(found.runner_high - second) <= 1e-7 * scale
            assert found.runner_high - found.runner_low <= 1e-7 * scale
        for suggestion in found.suggestions:
            assert suggestion.distance >= distances[suggestion.label] - ROUNDING * scale
            assert suggestion.example is not None
            assert store.get(suggestion.example).label == suggestion.label


def test_a_query_inside_examples_that_lie_nearly_opposite_each_other() -> None:
    store = ExampleStore("sphere")
    for x, label in (([-1.0, 1e-12], "a"), ([1.0, 1e-12], "a"), ([1.0, 0.025], "b")):
        store.append(x, label)
    found = store.nearest_two([1.0, 0.02], 0.5)
    assert found.inside != ("b",)
    assert not (found.guessable and found.label == "b")
    for count in range(40):  # beyond the Gram matrix, where the reference vector is made anew only now and then
        store.append([(-1.0) ** count, 1e-12 * (1 + count)], "a")
    store.append([-1.0, 1e-13], "a")
    found = store.nearest_two([1.0, 0.02], 0.5)
    assert not (found.guessable and found.label == "b")


@pytest.mark.parametrize(
    ("groups", "q", "inside"),
    [
        ([[[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]]], [0.0, 0.0], {0, 1}),
        ([[[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]], [[5.0, 5.0]]], [0.0, 0.0], {0, 1}),
        ([[[0.0]], [[0.0]], [[-2.0]]], [0.0], {0, 1}),
        ([[[0.0]], [[0.0]]], [0.0], {0, 1}),
        (
            [[[1.0, 3.0]], [[-3.0, -1.0], [2.0, 0.0], [-3.0, 3.0]], [[0.0, 0.0], [1.0, 0.0]]],
            [0.0, 0.0],
            {1, 2},
        ),
        ([[[0.0, 0.0]], [[9.0, 0.0]]], [0.0, 0.0], {0}),
        ([[[3.0, 3.0]], [[9.0, 0.0]]], [3.0, 3.0], {0}),
        ([[[-1.0], [4.0]], [[0.0], [2.0]], [[1.0], [3.0]]], [1.5], {0, 1, 2}),
        ([[[-1.0], [4.0]]], [5.0], set()),
    ],
)
@pytest.mark.parametrize("tau", TAUS)
def test_every_hull_around_the_query_is_named(
    groups: list[list[list[float]]], q: list[float], inside: set[int], tau: float
) -> None:
    for shift in (0.0, 1.0, -2.5):
        store = ExampleStore("euclidean")
        for label, group in enumerate(groups):
            for x in group:
                store.append(np.array(x) + shift, label)
        found = store.nearest_two(np.array(q) + shift, tau)
        assert set(found.inside) == inside
        assert found.guessable is (len(inside) == 1)


@pytest.mark.parametrize("distance", ["hull", "nearest"])
def test_decisions_on_whole_numbers(distance: str) -> None:
    """Small stores in one to three dimensions, where queries lie on edges and corners as a rule."""
    rng = np.random.default_rng(7)
    skipped, stores = 0, round(300 * SHARE)
    for _ in range(stores):
        d, labels = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        store = ExampleStore("euclidean")
        for label in range(labels):
            for x in rng.integers(-3, 4, size=(int(rng.integers(1, 6)), d)):
                store.append(x, label)
        q = rng.integers(-4, 5, size=d).astype(float)
        truths = ReferenceStore(store.examples(), "euclidean")
        for tau in (0.0, 0.3, 0.9):
            truth = decide_from(truths.distances(q, distance), tau, truths.scale(q))
            skipped += truth.margin < INSIDE
            if truth.margin >= INSIDE:
                agrees(store.nearest_two(q, tau, distance), truth)
    assert skipped <= 0.02 * 3 * stores


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", WORLDS)
def test_a_stored_example_is_inside_its_hull(name: str, space: str, dtype: str) -> None:
    world = make(name)
    store = world.store(space, dtype)
    for x, label in list(zip(world.X.astype(dtype), world.labels, strict=True))[::7]:
        for distance in ("hull", "nearest"):
            assert label in store.nearest_two(x, 0.0, distance).inside


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("wide_first", [False, True])
def test_a_stored_example_is_inside_its_hull_where_float64_joins_float32(space: str, wide_first: bool) -> None:
    """As long as all came as float64, so it is for the same numbers in float32, too."""
    world = make("crowded")
    store, wide = ExampleStore(space), [x.astype(np.float32).astype(np.float64) for x in world.X[:5]]
    for x in wide if wide_first else []:
        store.append(x, "wide")
    for x in wide if wide_first else []:
        assert "wide" in store.nearest_two(x.astype(np.float32), 0.0).inside
    for x, label in zip(world.X.astype(np.float32), world.labels, strict=True):
        store.append(x, label)
    store.append(wide[0], "wide")
    assert "wide" in store.nearest_two(wide[0], 0.0).inside
    narrow = world.X.astype(np.float32)
    one, many = [store.nearest_two(x, 0.0) for x in narrow], store.nearest_two_many(narrow, 0.0)
    for alone, among, label in zip(one, many, world.labels, strict=True):
        assert label in alone.inside
        assert label in among.inside


def test_a_stream_rounds_as_examples_do_from_the_first_float32_on() -> None:
    X = np.random.default_rng(0).standard_normal((20, 16)).astype(np.float32)
    store = ExampleStore("sphere")
    store.append(X[0].astype(np.float64), 0)
    for k, found in enumerate(store.stream(np.repeat(X, 2, axis=0), 0.0)):
        if k % 2 == 1:
            assert k // 2 in found.inside
        else:
            store.append(X[k // 2], k // 2)


@pytest.mark.parametrize("distance", ["hull", "nearest"])
@pytest.mark.parametrize("name", ["few labels", "many examples, d=5", "crowded", "nearly equal"])
def test_intervals_hold_where_float64_joins_float32(name: str, distance: str) -> None:
    """Rows that were rounded to float32 have a norm of 1 to that precision only, in a block of float64 as well."""
    world = make(name, seed=4)
    store = world.store("sphere", "float32")
    store.append(world.X[0].astype(np.float64), world.labels[0])
    truths = ReferenceStore(store.examples(), "sphere")
    for q in [*world.queries, *(store.get(id).x for id in range(5))]:
        distances = truths.distances(unit_rows(q[None, :])[0], distance)
        for tau in TAUS:
            found = store.nearest_two(q, tau, distance)
            encloses(found, distances, 1.0)
            truth = decide_from(distances, tau, 1.0)
            if truth.margin >= INSIDE:
                agrees(found, truth)


@pytest.mark.parametrize("distance", ["hull", "nearest"])
@pytest.mark.parametrize(
    ("dtype", "unit"),
    [
        ("float32", 1e-30),
        ("float32", 1e-22),
        ("float32", 1e25),
        ("float32", 1e37),
        ("float64", 1e-70),
        ("float64", 1e70),
    ],
)
def test_the_unit_of_length_does_not_matter(dtype: str, unit: float, distance: str) -> None:
    """Inner products of such float32 vectors are zero or infinite in float32."""
    world = make("few labels", seed=5)
    store = ExampleStore("euclidean")
    for x, label in zip((unit * world.X).astype(dtype), world.labels, strict=True):
        store.append(x, label)
    truths = ReferenceStore(store.examples(), "euclidean")
    for q in (unit * world.queries).astype(dtype):
        distances, scale = truths.distances(q, distance), truths.scale(q)
        for tau in TAUS:
            truth = decide_from(distances, tau, scale)
            for found in (store.nearest_two(q, tau, distance), *store.nearest_two_many(q[None, :], tau, distance)):
                encloses(found, distances, scale)
                if truth.margin >= INSIDE:
                    agrees(found, truth)
                if found.guessable:
                    is_evident(found, store, q, scale)


def test_numbers_whose_squares_cannot_be_held_are_refused() -> None:
    for dtype, x in (("float32", 1e25), ("float64", 1e100), (None, 1e100)):
        store = ExampleStore("euclidean", dtype)
        with pytest.raises(InvalidInput, match="too large"):
            store.append([x, 1.0], "a")
        assert len(store) == 0
    for example, query, match in ((1e15, 1e30, "too large"), (1.0, 1e300, "too large"), (1e-200, 0.0, "too small")):
        store = ExampleStore("euclidean", "float64" if example < 1.0 else "float32")
        store.append([example, 0.0], "a")
        store.append([example, example], "b")
        q = np.array([query, 0.0])
        with pytest.raises(InvalidInput, match=match):
            store.nearest_two(q)
        with pytest.raises(InvalidInput, match=match):
            store.nearest_two_many(q[None, :])
        with pytest.raises(InvalidInput, match=match):
            store.distances(q[None, :])


def test_queries_of_any_length_on_the_sphere() -> None:
    world = make("few labels")
    store = world.store("sphere")
    found = store.nearest_two_many(world.queries)
    for length in (1e-300, 1e200):
        assert list(map(answer, store.nearest_two_many(length * world.queries))) == list(map(answer, found))


@pytest.mark.parametrize("space", SPACES)
def test_bounds_do_not_cross(space: str) -> None:
    """One example: both bounds are its distance, each by another way."""
    rng = np.random.default_rng(6)
    for d in (1, 2, 5):
        for _ in range(100):
            store = ExampleStore(space)
            store.append(rng.normal(size=d), 0)
            for tau in (0.0, 1.0):
                found = store.nearest_two(rng.normal(size=d), tau)
                assert found.low <= found.high


# -- many queries -----------------------------------------------------------------------------------------


def answer(found: NearestTwo) -> tuple[Any, ...]:
    """What a decision depends on."""
    return found.guessable, set(found.inside), found.label if found.guessable else None


@pytest.mark.parametrize("distance", ["hull", "nearest"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", WORLDS)
def test_a_batch_answers_as_one_by_one(name: str, space: str, distance: str) -> None:
    world = make(name, seed=3)
    store = world.store(space, "float32")
    queries = np.vstack([world.queries, world.X[:10]]).astype(np.float32)
    for tau in (0.0, 0.9):
        batch = store.nearest_two_many(queries, tau, distance)
        alone = [store.nearest_two(q, tau, distance) for q in queries]
        assert [answer(found) for found in batch] == [answer(found) for found in alone]
        assert [answer(found) for found in store.stream(queries, tau, distance)] == [answer(f) for f in alone]


@pytest.mark.parametrize("space", SPACES)
def test_a_query_that_cannot_be_written_to_has_no_kernels_of_its_own(space: str) -> None:
    world = make("many examples, d=5", seed=3)
    store, query = world.store(space, "float64"), world.queries[0].astype(np.float64)
    found = store.nearest_two(query)
    compiled = len(settle.signatures)
    query.setflags(write=False)
    assert store.nearest_two(query) == found
    assert len(settle.signatures) == compiled


@pytest.mark.parametrize(("distance", "tau"), [("hull", 0.0), ("hull", 0.9), ("nearest", 0.8)])
@pytest.mark.parametrize("space", SPACES)
def test_a_stream_learns_between_queries(space: str, distance: str, tau: float) -> None:
    """Long enough for several blocks; examples come, go and change their label at any point in them."""
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(6, 5))
    truth = rng.integers(6, size=700)
    X = centres[truth] + 0.6 * rng.normal(size=(700, 5))
    streamed, alone = ExampleStore(space), ExampleStore(space)
    both = (streamed, alone)
    for store in both:
        store.append(X[0], int(truth[0]), "first")
    guesses = 0
    for i, found in enumerate(streamed.stream(X, tau, distance)):
        assert answer(found) == answer(alone.nearest_two(X[i], tau, distance))
        guesses += found.guessable
        ids = [example.id for example in alone.examples()]
        chosen = ids[int(rng.integers(len(ids)))]
        for store in both:
            if not found.guessable:
                store.append(X[i], int(truth[i]), f"{i}")
            if i % 7 == 3 and chosen != "first":
                store.forget(chosen)
            elif i % 11 == 5:
                store.relabel(chosen, int(truth[i]))
            elif i % 97 == 50:
                store.append(X[i], f"new {i}", f"new {i}")
    assert guesses > 50


# -- a store that changes ---------------------------------------------------------------------------------


def change(store: ExampleStore, mirror: dict[Any, tuple[Array, Any]], rng: Rng, d: int) -> None:
    """One random change, made to the store and to a plain dictionary of its examples."""
    ids, labels = list(mirror), sorted({label for _, label in mirror.values()})
    id = ids[int(rng.integers(len(ids)))]
    one, two = (labels[int(k)] for k in rng.integers(len(labels), size=2))
    kind = rng.choice(["append", "forget", "relabel", "rename", "merge"], p=[0.5, 0.25, 0.15, 0.05, 0.05])
    if kind == "append" or len(ids) < 5:
        x = rng.normal(size=d) + np.eye(d)[int(rng.integers(d))]
        mirror[store.append(x, one)] = (x, one)
    elif kind == "forget":
        store.forget(id)
        del mirror[id]
    elif kind == "relabel":
        label = one if rng.random() < 0.5 else int(rng.integers(12))
        store.relabel(id, label)
        mirror[id] = (mirror[id][0], label)
    elif kind == "rename" or (one == two and kind == "merge"):
        new = max(labels) + 1
        store.rename(one, new)
        mirror.update({k: (x, new) for k, (x, label) in mirror.items() if label == one})
    elif len(labels) > 3:
        store.merge(one, two)
        mirror.update({k: (x, two) for k, (x, label) in mirror.items() if label == one})


@pytest.mark.parametrize("d", [2, 6, 40])
@pytest.mark.parametrize("space", SPACES)
def test_a_changed_store_decides_as_a_fresh_one(space: str, d: int) -> None:
    rng = np.random.default_rng([5, d])
    store = ExampleStore(space)
    mirror: dict[Any, tuple[Array, Any]] = {}
    for label in range(6):
        x = rng.normal(size=d)
        mirror[store.append(x, label)] = (x, label)
    for step in range(600):
        change(store, mirror, rng, d)
        if step % 40:
            continue
        fresh = ExampleStore(space)
        for id, (x, label) in mirror.items():
            fresh.append(x, label, id)
        assert len(store) == len(mirror)
        assert {example.id: example.label for example in store.examples()} == {
            id: label for id, (_, label) in mirror.items()
        }
        assert set(store.labels) == {label for _, label in mirror.values()}
        assert all(store.count(label) == fresh.count(label) for label in fresh.labels)
        queries = np.vstack([rng.normal(size=(4, d)), [x for x, _ in list(mirror.values())[:4]]])
        for q in queries:
            for tau in TAUS:
                for distance in ("hull", "nearest"):
                    found, expected = (s.nearest_two(q, tau, distance) for s in (store, fresh))
                    assert answer(found) == answer(expected)


@pytest.mark.parametrize("space", SPACES)
def test_a_stream_of_another_dimension_than_the_first_example_is_refused(space: str) -> None:
    store = ExampleStore(space)
    block = store.block(np.ones((3, 3)))
    store.append([1.0, 2.0, 3.0, 4.0], "a")
    with pytest.raises(InvalidInput, match=r"4 .*3|3 .*4"):
        block.nearest_two(0)


@pytest.mark.parametrize("space", SPACES)
def test_threads_decide_while_one_appends(space: str) -> None:
    """Appending only brings hulls nearer, so every answer must fit between the first and the last store."""
    rng = np.random.default_rng(6)
    groups = clusters(rng, 12, [4] * 30)
    world_ = world(rng, groups, 20)
    store = world_.store(space)
    before = ReferenceStore(list(store.examples()), space)
    extra = [(x, int(k)) for k in rng.integers(30, size=400) for x in groups[k][:1] + 0.2 * rng.normal(size=(1, 12))]
    answers: list[list[tuple[int, NearestTwo]]] = [[] for _ in range(4)]
    errors: list[BaseException] = []
    done = threading.Event()

    def decide(answered: list[tuple[int, NearestTwo]]) -> None:
        try:
            while not done.is_set() or not answered:
                for i, q in enumerate(world_.queries):
                    answered.append((i, store.nearest_two(q, 0.9)))
        except Exception as error:  # noqa: BLE001 - whatever a thread raises must fail the test
            errors.append(error)

    threads = [threading.Thread(target=decide, args=(answered,)) for answered in answers]
    for thread in threads:
        thread.start()
    try:
        for x, label in extra:
            store.append(x, label)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not errors
    after = ReferenceStore(list(store.examples()), space)
    first, last = ([ref.distances(q) for q in world_.queries] for ref in (before, after))
    for i, found in (pair for answered in answers for pair in answered):
        slack = ROUNDING * after.scale(world_.queries[i])
        assert last[i][found.label] - slack <= found.high
        assert found.low - slack <= first[i][found.label]
        assert min(d for k, d in last[i].items() if k != found.label) - slack <= found.runner_high
    assert all(answers)
