"""What a decision of the self-tuning policy costs beside one of GHC's, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from askless.policies.self_tuning import SelfTuning
from askless.types import Guess
from benchmarks.clusters import Clusters
from benchmarks.decisions import DECISIONS, counts, sized
from benchmarks.memory import memory
from benchmarks.rows import AT_MOST, Row
from benchmarks.timing import interleaved, timed

COSTS = {f"self-tuning-{name}": name for name in DECISIONS}
MEMORY = ("self-tuning-memory-steady", "self-tuning-memory-peak")
COST_BOUND, MEMORY_BOUND = 2.0, 3.0


def decision_cost(name: str, quick: bool) -> Iterator[Row]:
    """One decision of ours against one of GHC's over the same examples."""
    shape, n = sized(DECISIONS[COSTS[name]][0], quick), counts(quick)
    clusters = Clusters(shape)
    hulls, ours = clusters.taught(), _taught(clusters)
    queries = clusters.queries(n.queries)
    _, first = timed(lambda: ours.decide(queries[0]))
    mine, other = interleaved(queries, ours.decide, hulls.decide, n.warm_up)
    guessed = np.mean([isinstance(ours.decide(q), Guess) for q in queries[: n.warm_up]])
    detail = f"guessed {guessed:.0%}; the first decision, with the rows of a whole window to make, {first:.2g} s"
    yield Row(
        name, str(shape), f"one {shape.space} decision over one of GHC's", mine / other, AT_MOST, COST_BOUND,
        mine, other, "s", n.queries - n.warm_up, detail, quick,
    )  # fmt: skip


def memory_cost(quick: bool) -> Iterator[Row]:
    """The growth of a process that learns all examples and then decides, over their raw bytes."""
    yield from memory("d768", quick, "self-tuning", MEMORY, MEMORY_BOUND)


def _taught(clusters: Clusters) -> SelfTuning:
    policy = SelfTuning(space=clusters.shape.space)
    for x, label in zip(clusters.P, clusters.y.tolist(), strict=True):
        policy.learn(x, label)
    return policy
