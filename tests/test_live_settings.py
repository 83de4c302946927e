"""What a desk can be set to, and what is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from askless.desk.live.priority import AUDIT, UNKNOWN, priority_of
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import Mode, WhenAble
from askless.desk.nearest import ClosestLabels
from askless.errors import InvalidInput
from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.self_tuning import SelfTuning
from askless.types import Ask, Costs, Guess, NoExamples, Suggestion


def test_settings_come_back_from_json_as_they_were() -> None:
    settings = LiveSettings(
        "ghc:0.9", "minilm", Costs(-2, 1, -5), 0.1, Mode.SHADOW, True, WhenAble.OFFER, 60, 30, False, True
    )
    assert LiveSettings.read(json.loads(json.dumps(settings.written()))) == settings


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "no-such"},
        {"policy": ""},
        {"costs": [1, 2]},
        {"costs": "1,2"},
        {"costs": {"call": 0, "prize": 1}},
        {"costs": 3},
        {"audit_rate": 1.5},
        {"mode": "loud"},
        {"paused": "yes"},
        {"when_able": "never"},
        {"lease_seconds": 0},
        {"lease_seconds": 2.5},
        {"retention_days": -1},
        {"share_examples": "yes"},
        {"colour": "red"},
    ],
)
def test_what_cannot_be_set_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        LiveSettings().changed(**changes)


def test_a_change_keeps_the_rest() -> None:
    found = LiveSettings().changed(costs="-1,1,-20", mode="shadow")
    assert (found.costs, found.mode, found.policy) == (Costs(-1, 1, -20), Mode.SHADOW, "self-tuning")
    assert found.blind
    assert not LiveSettings().blind


def test_the_least_certain_comes_first() -> None:
    def asked(*probabilities: float | None) -> Ask:
        return Ask(NoExamples(), tuple(Suggestion("x", 1.0, None, p) for p in probabilities))

    assert priority_of(None) == priority_of(asked()) == priority_of(asked(None)) == UNKNOWN
    assert priority_of(asked(0.62, 0.2)) == 0.4
    assert priority_of(asked(0.1)) == priority_of(Guess("x", probability=0.99)) == AUDIT


def test_which_policies_take_something_from_the_vectors_they_observe() -> None:
    assert ActivePerceptron.observes_vectors
    assert not SelfTuning.observes_vectors
    assert not GeneralizedHull.observes_vectors


def test_the_closest_labels_after_some_were_taken_out_and_with_many_examples() -> None:
    """Against a plain search through all examples, also where only the best few hundred are put in order first."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2000, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    names = [f"label {k}" for k in rng.integers(40, size=2000)]
    near = ClosestLabels()
    for id, (x, name) in enumerate(zip(rows, names, strict=True)):
        near.add(id, x, name)
    gone = set(rng.choice(2000, 300, replace=False).tolist())
    near.remove(gone)
    kept = [id for id in range(2000) if id not in gone]
    assert near.ids == kept
    assert np.array_equal(near.rows, rows[kept])
    for q in rows[:20]:
        order = sorted(kept, key=lambda id: -float(rows[id] @ q))
        expected = list(dict.fromkeys(names[id] for id in order))
        assert [s.label for s in near.closest(q, 5)] == expected[:5]
        assert [s.label for s in near.closest(q, 40)] == expected
