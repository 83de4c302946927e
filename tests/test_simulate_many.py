"""Many runs: seeds, and not workers, decide the result."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.base import PolicyBase
from askless.simulate import Job, simulate, simulate_many
from askless.streams.synthetic import Stream, synthetic
from askless.types import Always, Ask, Costs, Guess


class RemembersAndAsks(PolicyBase):
    """Guesses the label of an example at most 0.2 away, and asks otherwise: a policy for workers to run."""

    def __init__(self):
        super().__init__(space="euclidean")
        self._x, self._y = [], []

    dim = None

    @property
    def labels(self):
        return tuple(dict.fromkeys(self._y))

    def decide(self, x):
        if self._x:
            distances = np.linalg.norm(np.array(self._x) - x, axis=1)
            if distances.min() <= 0.2:
                return Guess(self._y[int(distances.argmin())])
        return Ask(Always())

    def learn(self, x, label, id=None):
        self._x.append(np.array(x, dtype=float))
        self._y.append(label)
        return len(self._x) - 1

    examples = forget = relabel = rename_label = merge_labels = state = restore = None


def test_labels_the_policy_held_before_count_as_seen():
    policy = RemembersAndAsks()
    for label in ("a", "b"):
        policy.learn([1.0, 0.5], label)
    trace = simulate(policy, [[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    assert trace.labels_seen_round == 0
    assert trace.calls_after_all_seen == 2


def jobs(n):
    stream = partial(synthetic, "euclidean", 2, 3, 120)
    return [
        Job(RemembersAndAsks, stream, seed=seed, delay=seed % 3, error_rate=0.1, first_examples=bool(seed % 2))
        for seed in range(n)
    ]


def test_many_runs_do_not_depend_on_the_number_of_workers_and_keep_their_order():
    alone = simulate_many(jobs(6), n_jobs=1)
    together = simulate_many(jobs(6), n_jobs=2)
    assert alone == together
    assert [trace.rounds for trace in alone] == [120, 117] * 3
    assert len({tuple(trace.guess) for trace in alone}) == 6


def test_jobs_of_one_seed_see_one_stream():
    stream = partial(synthetic, "euclidean", 2, 3, 50)
    one, two = simulate_many(
        [Job(RemembersAndAsks, stream, seed=5), Job(RemembersAndAsks, stream, seed=5, delay=9, name="late")]
    )
    assert [one.labels[k] for k in one.truth] == [two.labels[k] for k in two.truth]
    assert (one.policy, two.policy) == ("RemembersAndAsks()", "late")


def test_a_named_policy_is_told_space_labels_and_length():
    stream = partial(synthetic, "euclidean", 2, 3, 80)
    (trace,) = simulate_many([Job("skm", stream, seed=1, n_labels=3)])
    assert trace.policy == "skm"
    assert trace.labels_seen_round == trace.calls[-1] > 0  # it asks until all three labels are seen, then never
    assert trace.calls_after_all_seen == 0


def test_mistakes_in_jobs_are_named():
    with pytest.raises(InvalidInput, match="n_jobs"):
        simulate_many(jobs(1), n_jobs=0)
    with pytest.raises(InvalidInput, match="seed"):
        simulate_many([dataclasses.replace(jobs(1)[0], seed=-4)])
    assert simulate_many([]) == []


def test_a_job_that_cannot_run_is_refused_in_a_sentence():
    stream = partial(synthetic, "euclidean", 2, 3, 50)
    with pytest.raises(InvalidInput, match=r"makes a policy when called.*found RemembersAndAsks\(\)"):
        Job(RemembersAndAsks(), stream)
    with pytest.raises(InvalidInput, match=r"makes a Stream when called.*found a Stream"):
        Job("skm", Stream([[1.0]], ["a"], "euclidean"))
    with pytest.raises(InvalidInput, match=r"gives a Stream when called; found a tuple. Return Stream\(X, y, space\)"):
        Job("skm", lambda *, rng: ([[1.0]], ["a"]), n_labels=1).run()
    with pytest.raises(InvalidInput, match="Costs are"):
        Job("skm", stream, costs=(1, 2))
    assert Job("skm", stream, costs=(-1, 1, -4)).costs == Costs(-1, 1, -4)


def test_a_stream_has_one_label_a_row_and_a_space():
    with pytest.raises(InvalidInput, match="2 rows and 1 labels; give one a row"):
        Stream([[1.0], [2.0]], ["a"])
    with pytest.raises(InvalidInput, match="2 rows and 3 texts; give one a row"):
        Stream([[1.0], [2.0]], ["a", "b"], "euclidean", ["one", "two", "three"])
    with pytest.raises(InvalidInput, match="'sphere' or 'euclidean'; found 'x'"):
        Stream([[1.0]], ["a"], "x")


def test_a_stream_of_texts_can_be_simulated():
    stream = Stream([[1.0], [2.0]], ["a", "b"], "euclidean", ["one", "two"])
    assert simulate(RemembersAndAsks(), stream.X, stream.y).calls.tolist() == [1, 2]
