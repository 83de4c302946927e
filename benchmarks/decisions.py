"""One decision, a batch of them and one example learned, each against one product with all examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from askless.policies.generalized_hull import GeneralizedHull
from askless.types import Guess, Label
from benchmarks.clusters import TAU, Clusters, Floats, Shape, cosine_range
from benchmarks.reference import CertifiedCones, LabelByLabel, as_held
from benchmarks.rows import AT_LEAST, AT_MOST, Row
from benchmarks.timing import interleaved, timed

BATCH = 256

MANY = Shape(labels=1103, examples=7365, dim=1024)
MOST = Shape(labels=74519, examples=99785, dim=768)
CROWDED = replace(MANY, common=0.76, own=0.1)
# Noise of lower rank varies more, so that cosines between 0.7 and 0.9 need a rank of 128 or so.
CROWDED_LOW_RANK = replace(MANY, common=0.79, own=0.05, rank=128)

DECISIONS: dict[str, tuple[Shape, float]] = {
    "decision-sphere-d1024": (MANY, 1.25),
    "decision-sphere-d4096": (replace(MANY, dim=4096), 1.25),
    "decision-crowded-isotropic-d1024": (CROWDED, 1.5),
    "decision-crowded-isotropic-d4096": (replace(CROWDED, dim=4096), 1.15),
    "decision-crowded-low-rank-d1024": (CROWDED_LOW_RANK, 1.5),
    "decision-crowded-low-rank-d4096": (replace(CROWDED_LOW_RANK, dim=4096), 1.15),
    "decision-74519-labels-d768": (MOST, 1.15),
    "decision-euclidean-d1024": (replace(MANY, space="euclidean"), 1.5),
}


@dataclass(frozen=True)
class Counts:
    """How often to repeat."""

    queries: int
    warm_up: int
    learned: int
    batches: int
    nnls: int
    checked: int


FULL = Counts(queries=440, warm_up=40, learned=240, batches=9, nnls=240, checked=500)
QUICK = Counts(queries=30, warm_up=5, learned=30, batches=3, nnls=8, checked=20)


def counts(quick: bool) -> Counts:
    """The numbers of repetitions."""
    return QUICK if quick else FULL


def sized(shape: Shape, quick: bool) -> Shape:
    """The shape itself, or a small one of its kind."""
    if not quick:
        return shape
    labels, examples = (60, 400) if shape.labels == MANY.labels else (600, 800)
    return replace(shape, labels=labels, examples=examples, dim=shape.dim // 16)


def decision(name: str, quick: bool) -> Iterator[Row]:
    """One decision against one float32 product `P @ q` over the same examples."""
    full, bound = DECISIONS[name]
    shape, n = sized(full, quick), counts(quick)
    clusters = Clusters(shape)
    policy, queries, P = clusters.taught(), clusters.queries(n.queries), clusters.P
    ours, other = interleaved(queries, policy.decide, lambda q: P @ q, n.warm_up)
    yield Row(
        name, str(shape), f"one {shape.space} decision over one float32 P @ q", ours / other, AT_MOST, bound,
        ours, other, "s", n.queries - n.warm_up, _what(clusters, policy, queries), quick,
    )  # fmt: skip


def _what(clusters: Clusters, policy: GeneralizedHull, queries: Floats) -> str:
    """The cosines that came out, and how many of the queries were guessed."""
    guessed = np.mean([label is not None for label in _guessed(policy, queries)])
    if clusters.shape.common:
        low, high = cosine_range(clusters.P, queries)
        return f"all cosines from {low:.3f} to {high:.3f}; guessed {guessed:.0%}"
    return f"cosine within a label {_cosine_within(clusters):.3f}; guessed {guessed:.0%}"


def _cosine_within(clusters: Clusters) -> float:
    """The mean cosine of neighbours in the list of examples by label, where the label is the same."""
    order = np.argsort(clusters.y, kind="stable")
    X, y = clusters.P[order], clusters.y[order]
    same = np.flatnonzero(y[1:] == y[:-1])[:2000]
    norms = np.linalg.norm(X[same], axis=1) * np.linalg.norm(X[same + 1], axis=1)
    return float(np.mean(np.einsum("ij,ij->i", X[same], X[same + 1]) / norms))


def _guessed(policy: GeneralizedHull, queries: Floats) -> list[Label | None]:
    return [d.label if isinstance(d, Guess) else None for d in policy.decide_many(queries)]


def batch(quick: bool) -> Iterator[Row]:
    """A batch of queries one by one, against the same at once."""
    shape, n = sized(MANY, quick), counts(quick)
    clusters = Clusters(shape)
    policy = clusters.taught()
    batches = [clusters.queries(BATCH) for _ in range(n.batches + 1)]
    ours, other = interleaved(batches, policy.decide_many, lambda X: [policy.decide(x) for x in X], warm_up=1)
    yield Row(
        "batch-256", str(shape), f"{BATCH} decisions one by one over the same at once", other / ours,
        AT_LEAST, 2.0, ours, other, "s", n.batches, "", quick,
    )  # fmt: skip


def learn(quick: bool) -> Iterator[Row]:
    """One example learned against one product with all examples; half of those learned have a new label."""
    shape, n = sized(MOST, quick), counts(quick)
    clusters = Clusters(shape)
    policy, filling = timed(clusters.taught)
    fresh = clusters.queries(n.learned)
    pairs = [(x, i // 2 if i % 2 else shape.labels + i) for i, x in enumerate(fresh)]
    P = clusters.P
    ours, other = interleaved(pairs, lambda pair: policy.learn(*pair), lambda pair: P @ pair[0], n.warm_up)
    detail = f"mean over all {shape.examples:,} that filled the store: {filling / shape.examples * 1e6:.0f} us"
    yield Row(
        "learn-99785-examples", str(shape), "one example learned over one float32 P @ q", ours / other, AT_MOST,
        1.0, ours, other, "s", n.learned - n.warm_up, detail, quick,
    )  # fmt: skip


def against_nnls(quick: bool) -> Iterator[Row]:
    """The time of scipy's nnls, label by label, and decisions equal to those of certified distances."""
    shape, n = sized(MANY, quick), counts(quick)
    clusters = Clusters(shape)
    policy, queries = clusters.taught(), clusters.queries(n.checked)
    X, Q = as_held(clusters.P), as_held(queries)
    items, warm_up = list(zip(queries, Q, strict=True))[: n.nnls], n.nnls // 8
    plain, laid_out = (LabelByLabel(X, clusters.y, "sphere", laid_out) for laid_out in (False, True))
    best = interleaved(items, lambda i: policy.decide(i[0]), lambda i: laid_out.decide(i[1], TAU), warm_up)
    ours, other = interleaved(items, lambda i: policy.decide(i[0]), lambda i: plain.decide(i[1], TAU), warm_up)
    detail = f"{best[1] / best[0]:.3g} where the examples were laid out for nnls beforehand"
    yield Row(
        "nnls-speed", str(shape), "one decision by scipy's nnls, label by label, over one of ours", other / ours,
        AT_LEAST, 30.0, ours, other, "s", n.nnls - warm_up, detail, quick,
    )  # fmt: skip
    yield _equal(clusters, policy, queries, quick)


def _equal(clusters: Clusters, policy: GeneralizedHull, queries: Floats, quick: bool) -> Row:
    """How many decisions are equal to those of certified distances."""
    X, Q, n = as_held(clusters.P), as_held(queries), len(queries)
    cones = CertifiedCones(X, clusters.y)
    verdicts = [cones.decide(q, TAU) for q in Q]
    decided = (policy.decide(q) for q in queries)
    guesses = [d.label if isinstance(d, Guess) else None for d in decided]
    equal = sum(v.agrees(guess) for v, guess in zip(verdicts, guesses, strict=True))
    unsure = sum(not v.certain for v in verdicts)
    detail = (
        f"guessed {np.mean([g is not None for g in guesses]):.0%}; the reference's intervals are at most "
        f"{cones.widest:.1g} wide ({cones.solved_again} solved again), {unsure} of its decisions uncertain"
    )
    return Row(
        "nnls-equal-decisions", str(clusters.shape), "share of decisions equal to the reference's", equal / n,
        AT_LEAST, 1.0, equal, n, "decisions", n, detail, quick,
    )  # fmt: skip
