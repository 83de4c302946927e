"""The order of a replay: against a plain loop, and against figures that were published for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from askless.datasets.catalogue import load_dataset
from askless.embed.named import make_embedder
from askless.embed.run import embed_texts
from askless.errors import InvalidInput
from askless.policies.generalized_hull import GeneralizedHull
from askless.replay.protocol import TAUS, Setting, ordered_rows
from askless.simulate import simulate


@pytest.mark.parametrize(("seed", "rounds"), [(0, None), (3, 40), (7, 5)])
def test_the_first_row_of_each_label_is_given_and_the_others_keep_their_order(seed, rounds):
    labels = [str(k) for k in np.random.default_rng(1).integers(9, size=60)]
    seen, given, stream = set(), [], []
    for row in list(np.random.default_rng(seed).permutation(60))[:rounds]:
        (stream if labels[row] in seen else given).append(int(row))
        seen.add(labels[row])
    order = ordered_rows(labels, seed=seed, rounds=rounds, first_examples=True)
    assert order.given.tolist() == given
    assert order.stream.tolist() == stream
    cold = ordered_rows(labels, seed=seed, rounds=rounds)
    assert cold.given.size == 0
    assert cold.stream.tolist() == np.random.default_rng(seed).permutation(60)[:rounds].tolist()


def test_more_rounds_than_rows_are_all_rows():
    assert sorted(ordered_rows(["a", "b"] * 4, rounds=100).stream) == list(range(8))


def test_a_setting_that_leaves_nothing_to_decide_is_refused():
    with pytest.raises(InvalidInput, match="none is left to decide; give more rows with --rounds"):
        Setting(rounds=1, first_examples=True).order(["a", "b", "a"], 0)


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"delay": -1}, {"error_rate": 1.5}])
def test_a_setting_out_of_range_is_refused(wrong):
    with pytest.raises(InvalidInput):
        Setting(**wrong)


def test_ghc_on_banking77_has_the_regret_that_was_measured_elsewhere():
    """6,012 at tau=0.85 with wordllama, from a trial by others with code of their own."""
    folder = os.environ.get("ASKLESS_DATA")
    if not folder or not (Path(folder) / "banking77.csv").is_file():
        pytest.skip("ASKLESS_DATA names no folder with banking77.csv")
    data = load_dataset("banking77", Path(folder))
    order = ordered_rows(data.labels, rounds=6000, first_examples=True)
    assert (len(order.given), len(order.stream)) == (77, 5923)
    policy = GeneralizedHull(0.85, n_labels=77)
    embedder = make_embedder("wordllama")
    for row, x in zip(order.given, embed_texts(embedder, [data.texts[k] for k in order.given]), strict=True):
        policy.learn(x, data.labels[row])
    vectors = embed_texts(embedder, [data.texts[k] for k in order.stream])
    trace = simulate(policy, vectors, [data.labels[k] for k in order.stream])
    assert trace.summary()["regret"] == 6012
    assert 0.85 in TAUS
