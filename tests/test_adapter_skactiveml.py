"""HullStreamQuery in scikit-activeml's stream loop, and the conventions of its query strategies.

The test template of the library's own strategies is not part of its package, so the promises it checks are
tested here: parameters kept as given and validated by `query`, `query` without effect, `update` before it.
"""

import copy
import inspect
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
from skactiveml.base import SingleAnnotatorStreamQueryStrategy
from skactiveml.classifier import ParzenWindowClassifier, SklearnClassifier
from skactiveml.utils import MISSING_LABEL, call_func
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from askless.adapters.scikit_learn import AsklessClassifier
from askless.adapters.skactiveml import HullStreamQuery
from askless.errors import InvalidInput
from askless.types import Ask

X_TRAIN = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [9.0, 0.0]])
Y_TRAIN = np.array([0, 0, 1, 1])
CANDIDATES = np.array([[0.5, 0.0], [2.0, 0.0], [4.5, 0.0], [4.0, 0.0], [8.5, 0.0]])
RATIOS = [0.0, 1 / 6, 1.0, 3 / 4, 0.0]


def classifier(X=X_TRAIN, y=Y_TRAIN, **params):
    return SklearnClassifier(AsklessClassifier(**params), classes=[0, 1]).fit(X, y)


def test_utilities_are_ratios_and_tau_decides():
    for tau, expected in ((0.0, [1, 2, 3]), (0.5, [2, 3]), (0.8, [2]), (1.0, [2])):
        queried, utilities = HullStreamQuery(tau).query(CANDIDATES, clf=classifier(), return_utilities=True)
        np.testing.assert_allclose(utilities, RATIOS, atol=1e-9)
        np.testing.assert_array_equal(queried, expected)


@pytest.mark.parametrize("tau", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("space", ["euclidean", "sphere"])
def test_it_queries_where_the_classifier_asks_conflicts_included(tau, space):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 2)) + 2 * np.eye(3)[y][:, :2]
    inner = AsklessClassifier(tau, space=space)
    clf = SklearnClassifier(inner, classes=[0, 1, 2]).fit(X, y)
    candidates = rng.normal(size=(80, 2)) * 2
    decisions = clf.estimator_.decide(candidates)
    asked = np.flatnonzero([isinstance(d, Ask) for d in decisions])
    assert any(type(d.reason).__name__ == "Conflict" for d in decisions if isinstance(d, Ask))
    np.testing.assert_array_equal(HullStreamQuery(tau).query(candidates, clf=clf), asked)


def test_other_classifiers_give_the_ratio_of_their_two_largest_probabilities():
    clf = ParzenWindowClassifier(classes=[0, 1, 2]).fit(X_TRAIN, Y_TRAIN)
    P = np.sort(clf.predict_proba(CANDIDATES), axis=1)
    queried, utilities = HullStreamQuery(0.5).query(CANDIDATES, clf=clf, return_utilities=True)
    np.testing.assert_allclose(utilities, P[:, -2] / P[:, -1])
    np.testing.assert_array_equal(queried, np.flatnonzero(utilities > 0.5))


@pytest.mark.filterwarnings("ignore:The 'base_estimator' could not be fitted")
def test_with_nothing_learned_it_queries_everything():
    clf = classifier(X_TRAIN, np.full(4, MISSING_LABEL))
    queried, utilities = HullStreamQuery().query(CANDIDATES, clf=clf, return_utilities=True)
    np.testing.assert_array_equal(queried, range(5))
    np.testing.assert_array_equal(utilities, np.ones(5))


@pytest.mark.parametrize("tau", [0.3, 0.8])
def test_the_usual_stream_loop(tau):
    """The loop of the library's tutorials: fit, predict, query, update, and a label for what was queried."""
    X, truth = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0)
    X_seen, y_seen = deque(X[:2]), deque(truth[:2].astype(float))
    clf = SklearnClassifier(AsklessClassifier(), classes=[0, 1, 2, 3], random_state=0)
    strategy = HullStreamQuery(tau, random_state=0)
    calls, mistakes = 0, 0
    for x, y in zip(X[2:], truth[2:], strict=True):
        clf.fit(np.array(X_seen), np.array(y_seen))
        predicted = clf.predict(x[None])[0]
        queried, utilities = call_func(
            strategy.query, candidates=x[None], clf=clf, return_utilities=True, fit_clf=False
        )
        call_func(
            strategy.update,
            candidates=x[None],
            queried_indices=queried,
            budget_manager_param_dict={"utilities": utilities},
        )
        calls += len(queried)
        mistakes += len(queried) == 0 and predicted != y
        X_seen.append(x)
        y_seen.append(float(y) if len(queried) else MISSING_LABEL)
    assert (strategy.observed_samples_, strategy.queried_samples_) == (148, calls)
    assert 2 <= calls < 110
    assert mistakes < 15


def test_a_stream_loop_with_partial_fit_learns_new_labels():
    X, truth = make_blobs(120, centers=[[0, 0], [8, 0], [0, 8]], random_state=1)
    clf = SklearnClassifier(AsklessClassifier(), classes=[0, 1, 2]).partial_fit(X[:1], truth[:1])
    strategy = HullStreamQuery(0.5)
    for x, y in zip(X[1:], truth[1:], strict=True):
        queried = strategy.query(x[None], clf=clf)
        strategy.update(x[None], queried)
        if len(queried):
            clf.partial_fit(x[None], [y])
    assert strategy.queried_samples_ < 100
    assert len(list(clf.estimator_.policy_.examples())) == strategy.queried_samples_ + 1
    assert np.mean(clf.predict(X) == truth) > 0.95


def test_the_budget_caps_the_share_of_queries():
    clf = classifier()
    hard = np.tile([[4.5, 0.0]], (40, 1))
    for budget, expected in ((0.25, 10), (0.1, 4), (None, 4), (1.0, 40)):
        whole = HullStreamQuery(budget=budget)
        assert len(whole.query(hard, clf=clf)) == expected
        piecewise, total = HullStreamQuery(budget=budget), 0
        for part in np.split(hard, 8):
            queried = piecewise.query(part, clf=clf)
            total += len(queried)
            piecewise.update(part, queried)
        assert total == expected
    saved = HullStreamQuery(budget=0.5).update(CANDIDATES, [])
    np.testing.assert_array_equal(saved.query(hard[:4], clf=clf), [0, 1, 2, 3])


def test_query_changes_neither_strategy_nor_classifier():
    clf, strategy = classifier(), HullStreamQuery(budget=0.3)
    before = copy.deepcopy(clf.estimator_.policy_.state())
    first = strategy.query(CANDIDATES, clf=clf, return_utilities=True)
    for _ in range(3):
        again = strategy.query(CANDIDATES, clf=clf, return_utilities=True)
        np.testing.assert_array_equal(first[0], again[0])
        np.testing.assert_array_equal(first[1], again[1])
    np.testing.assert_equal(clf.estimator_.policy_.state(), before)


def test_fit_clf_fits_a_copy():
    clf = SklearnClassifier(AsklessClassifier(), classes=[0, 1])
    queried, utilities = HullStreamQuery(0.5).query(
        CANDIDATES, clf=clf, X=X_TRAIN, y=Y_TRAIN, fit_clf=True, return_utilities=True
    )
    np.testing.assert_allclose(utilities, RATIOS, atol=1e-9)
    np.testing.assert_array_equal(queried, [2, 3])
    assert not hasattr(clf, "estimator_")


def test_parameters_are_kept_as_given_and_cloned():
    marker = object()
    for name in inspect.signature(HullStreamQuery.__init__).parameters:
        if name != "self":
            assert getattr(HullStreamQuery(**{name: marker}), name) is marker
    assert clone(HullStreamQuery(0.3, 0.4, 5)).get_params() == {"tau": 0.3, "budget": 0.4, "random_state": 5}
    assert isinstance(HullStreamQuery(), SingleAnnotatorStreamQueryStrategy)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"tau": 1.5}, InvalidInput),
        ({"tau": "high"}, InvalidInput),
        ({"budget": 1.1}, ValueError),
        ({"budget": 0.0}, ValueError),
        ({"budget": "all"}, TypeError),
        ({"random_state": "state"}, ValueError),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_query(params, error):
    with pytest.raises(error):
        HullStreamQuery(**params).query(CANDIDATES, clf=classifier())


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"clf": GaussianNB()}, TypeError),
        ({"clf": AsklessClassifier()}, TypeError),
        ({"fit_clf": "yes"}, TypeError),
        ({"return_utilities": "yes"}, TypeError),
        ({"candidates": [[0.0, np.nan]]}, ValueError),
        ({"candidates": [[0.0, 1.0, 2.0]]}, ValueError),
        ({"X": X_TRAIN, "y": Y_TRAIN, "sample_weight": [1.0]}, ValueError),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_query(arguments, error):
    with pytest.raises(error):
        HullStreamQuery().query(**({"candidates": CANDIDATES, "clf": classifier()} | arguments))


def test_update_refuses_indices_that_are_not_there_and_counts_nothing():
    strategy = HullStreamQuery().update(CANDIDATES, [0, 2])
    for indices in ([5], "string"):
        with pytest.raises(IndexError):
            strategy.update(CANDIDATES, indices)
    assert (strategy.observed_samples_, strategy.queried_samples_) == (5, 2)


def test_without_scikit_activeml_the_import_names_the_extra():
    code = (
        "import sys; sys.modules['skactiveml'] = None\n"
        "from askless.errors import MissingExtra\n"
        "try:\n    import askless.adapters.skactiveml\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'askless[skactiveml]'" in out
