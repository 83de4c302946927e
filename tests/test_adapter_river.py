"""HullClassifier and HullSampler against river's own checks, and against vectors over all features."""

import doctest
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from river import checks, compose, datasets, evaluate, linear_model, metrics, preprocessing

import askless.adapters.river
from askless.adapters.river import HullClassifier, HullSampler
from askless.errors import InvalidInput
from askless.policies.generalized_hull import GeneralizedHull
from askless.types import Ask, Conflict, Guess, NoExamples

MODELS = {"classifier": HullClassifier(), "sampler": HullSampler(HullClassifier())}
CHECKS = [
    pytest.param(MODELS[name], check, id=f"{name}-{i}-{check.__name__}")
    for name, model in MODELS.items()
    for i, check in enumerate(checks.yield_checks(model))
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_every_check_of_river_passes(model, check):
    assert check.__name__ not in model._unit_test_skips()
    random.seed(0)  # some checks drop features at random
    check(model.clone())


def growing_stream(n=40, seed=0):
    """Dictionaries whose features come and go, more of them as time passes, and three labels."""
    rng = np.random.default_rng(seed)
    names = ["f", "b", 7, "z", "a", "k", "x9", "x10", ("pair", 1)]
    for i in range(n):
        alive = names[: 1 + i * len(names) // n]
        chosen = [name for name in alive if rng.random() < 0.7] or alive[-1:]
        y = int(rng.integers(0, 3))
        yield {name: float(rng.normal() + y) for name in chosen}, "uvw"[y]


def dense(x, names):
    return np.array([float(x.get(name, 0.0)) for name in names])


@pytest.mark.parametrize("space", ["euclidean", "sphere"])
@pytest.mark.parametrize("distance", ["hull", "nearest"])
def test_growing_features_decide_as_vectors_over_all_of_them(space, distance):
    stream = list(growing_stream())
    names = list(dict.fromkeys(name for x, _ in stream for name in x))
    model = HullClassifier(0.8, distance, space)
    policy = GeneralizedHull(0.8, distance, space=space)
    kinds = set()
    for x, y in stream:
        expected, got = policy.decide(dense(x, names)), model.decide_one(x)
        assert type(got) is type(expected)
        kinds.add(type(got))
        if isinstance(got, Guess):
            assert got.label == expected.label == model.predict_one(x)
            assert got.distance == pytest.approx(expected.distance, abs=1e-7)
        else:
            assert type(got.reason) is type(expected.reason)
        model.learn_one(x, y)
        policy.learn(dense(x, names), y)
    assert kinds == {Guess, Ask}


def test_probabilities_are_inverse_distances_and_count_features_never_seen():
    model = HullClassifier(tau=0.6)
    for x, y in [(0, "low"), (2, "low"), (8, "high"), (9, "high")]:
        model.learn_one({"x": x}, y)
    assert model.predict_proba_one({"x": 4}) == pytest.approx({"low": 4 / 6, "high": 2 / 6})
    assert model.predict_proba_one({"x": 1}) == {"low": 1.0, "high": 0.0}
    assert model.predict_proba_one({}) == {"low": 1.0, "high": 0.0}
    low, high = np.hypot(2, 3), np.hypot(4, 3)
    assert model.predict_proba_one({"x": 4, "new": 3}) == pytest.approx(
        {"low": high / (low + high), "high": low / (low + high)}
    )
    assert isinstance(model.decide_one({"x": 4}), Guess)
    assert isinstance(model.decide_one({"x": 4, "new": 3}), Ask)


def test_it_starts_cold_and_reports_conflicts():
    model = HullClassifier(tau=1.0)
    assert model.predict_one({"x": 1}) is None
    assert model.predict_proba_one({"x": 1}) == {}
    assert model.decide_one({"x": 1}) == Ask(NoExamples())
    model.learn_one({"x": 1}, "a")
    assert model.predict_one({"x": 5}) == "a"
    assert isinstance(model.decide_one({"x": 5}), Ask)
    model.learn_one({"x": 1}, "b")
    decision = model.decide_one({"x": 1})
    assert isinstance(decision, Ask)
    assert decision.reason == Conflict(("a", "b"))


@pytest.mark.parametrize("labels", [(True, False), (np.True_, np.False_), (3, 5), ("a", "b")], ids=str)
def test_labels_come_back_as_they_were_given(labels):
    model = HullClassifier()
    for x, y in zip((0.0, 9.0), labels, strict=True):
        model.learn_one({"x": x}, y)
    assert model.predict_one({"x": 1.0}) is labels[0]
    assert model.decide_one({"x": 1.0}).label == labels[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "red", None, [1.0]], ids=repr)
def test_a_feature_that_is_no_finite_number_is_refused_and_changes_nothing(value):
    model = HullClassifier()
    model.learn_one({"x": 0.0}, "a")
    before = pickle.dumps(model)
    for call in (model.predict_one, model.decide_one, lambda x: model.learn_one(x, "b")):
        with pytest.raises(InvalidInput, match="feature 'colour'"):
            call({"x": 1.0, "colour": value})
    with pytest.raises(InvalidInput, match="label"):
        model.learn_one({"y": 1.0}, None)
    assert pickle.dumps(model) == before


def test_a_pickled_model_decides_the_same_and_learns_on():
    model = HullClassifier(tau=0.6)
    stream = list(growing_stream())
    for x, y in stream[:25]:
        model.learn_one(x, y)
    other = pickle.loads(pickle.dumps(model))  # noqa: S301 - made here
    for x, y in stream[25:]:
        assert other.decide_one(x) == model.decide_one(x)
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)


def without_a_feature(x):
    return {name: 2 * value for name, value in x.items() if name != "ip_in_url"}


def test_the_sampler_asks_exactly_where_the_classifier_at_the_end_of_a_pipeline_asks():
    classifier = HullClassifier(tau=0.5)
    sampler = HullSampler(compose.FuncTransformer(without_a_feature) | classifier)
    assert sampler.predict_one({"x": 1.0}) == ({}, True)
    asked = 0
    for x, y in datasets.Phishing().take(60):
        predicted, ask = sampler.predict_one(x)
        decision = classifier.decide_one(without_a_feature(x))
        assert ask == isinstance(decision, Ask)
        if isinstance(decision, Guess):
            assert predicted == decision.label
        if ask:
            asked += 1
            sampler.learn_one(x, y)
    assert 10 < asked < 50
    assert len(list(classifier._policy.examples())) == asked


def test_river_evaluates_the_sampler_and_it_saves_questions():
    metric, sampler = metrics.Accuracy(), HullSampler(HullClassifier(tau=0.8))
    steps = evaluate.iter_progressive_val_score(datasets.Phishing().take(300), sampler, metric, step=300)
    used = list(steps)[-1]["Samples used"]
    assert used == len(list(sampler.classifier._policy.examples())) < 100
    assert metric.get() > 0.75  # the majority is 56 %


@pytest.mark.parametrize(
    "classifier",
    [
        linear_model.LogisticRegression(),
        compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    ],
    ids=str,
)
def test_the_sampler_refuses_other_classifiers(classifier):
    with pytest.raises(InvalidInput, match="HullClassifier"):
        HullSampler(classifier)


def test_bad_parameters_are_refused():
    for params in ({"tau": -0.1}, {"distance": "far"}, {"space": "cube"}):
        with pytest.raises(InvalidInput):
            HullClassifier(**params)


def test_the_example_in_the_docstring_runs():
    result = doctest.testmod(askless.adapters.river)
    assert result.attempted > 3
    assert result.failed == 0


def test_without_river_the_import_names_the_extra():
    code = (
        "import sys; sys.modules['river'] = None\n"
        "from askless.errors import MissingExtra\n"
        "try:\n    import askless.adapters.river\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'askless[river]'" in out
