"""AsklessClassifier against scikit-learn's own checks, and against distances known in closed form."""

import copy
import doctest
import itertools
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from askless.adapters.scikit_learn import AsklessClassifier, decide, regret_scorer
from askless.errors import InvalidInput
from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.conservative_hull import ConservativeHull
from askless.policies.generalized_hull import GeneralizedHull
from askless.types import Ask, Conflict, Costs, Guess

# Boxes: the distance to a box is known, and its corners are the examples that span it.
BOXES = {
    "a": ([0, 0, 0], [2, 1, 1]),
    "b": ([4, 0, 0], [5, 3, 1]),
    "c": ([0, 5, -2], [3, 6, 0]),
    "d": ([1, -4, 2], [2, -2, 4]),
}


def corners(low, high):
    return np.array(list(itertools.product(*zip(low, high, strict=True))), dtype=float)


def box_distances(X, names=tuple(BOXES)):
    return np.array([[np.linalg.norm(x - np.clip(x, *BOXES[name])) for name in names] for x in X])


def box_data(names=tuple(BOXES)):
    parts = {name: corners(*BOXES[name]) for name in names}
    X = np.concatenate(list(parts.values()))
    y = np.concatenate([[name] * len(part) for name, part in parts.items()])
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def queries(n=60, seed=1):
    return np.random.default_rng(seed).uniform([-2, -5, -3], [7, 8, 5], size=(n, 3))


def same(first, second, X):
    """Whether two fitted classifiers answer alike on X, in every way."""
    np.testing.assert_array_equal(first.classes_, second.classes_)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-9)
    pairs = zip(first.decide(X), second.decide(X), strict=True)
    assert all(type(a) is type(b) and getattr(a, "label", 0) == getattr(b, "label", 0) for a, b in pairs)


@pytest.mark.parametrize("params", [{}, {"distance": "nearest"}], ids=str)
def test_every_check_of_scikit_learn_passes(params, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips one of its checks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        results = check_estimator(AsklessClassifier(**params), on_fail=None)
    bad = {r["check_name"]: (r["status"], r["exception"]) for r in results if r["status"] != "passed"}
    assert len(results) > 50
    assert not bad


def test_probabilities_are_inverse_distances_to_the_hulls():
    model = AsklessClassifier().fit(*box_data())
    X = queries()
    D = box_distances(X)
    outside = (D > 1e-6).all(axis=1)
    assert outside.sum() > 40
    expected = (1 / D[outside]) / (1 / D[outside]).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X[outside]), expected, atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), model.classes_[D.argmin(axis=1)])
    inside = np.array([[1, 0.5, 0.5], [4.5, 2, 0.5]])
    np.testing.assert_allclose(model.predict_proba(inside), [[1, 0, 0, 0], [0, 1, 0, 0]])


def test_probabilities_are_inverse_distances_to_the_nearest_examples():
    X, y = box_data()
    model = AsklessClassifier(distance="nearest").fit(X, y)
    Q = queries()
    to_each = np.linalg.norm(Q[:, None] - X[None], axis=2)
    D = np.array([to_each[:, y == name].min(axis=1) for name in model.classes_]).T
    np.testing.assert_allclose(model.predict_proba(Q), (1 / D) / (1 / D).sum(axis=1, keepdims=True))


def test_probabilities_on_the_circle_are_inverse_chords_to_the_arcs():
    arcs = {0: (0.0, 0.8), 1: (1.5, 2.4), 2: (3.3, 4.0)}
    angles = np.array([a for arc in arcs.values() for a in arc])
    X = np.c_[np.cos(angles), np.sin(angles)] * np.array([[1.0], [2.0], [3.0], [0.5], [1.0], [7.0]])
    model = AsklessClassifier(space="sphere").fit(X, [0, 0, 1, 1, 2, 2])
    between = np.array([1.0, 1.3, 2.6, 3.2, 4.2, 5.0, 6.0])
    turn = np.abs((between[:, None] - angles[None] + np.pi) % (2 * np.pi) - np.pi)
    D = 2 * np.sin(np.minimum(turn[:, 0::2], turn[:, 1::2]) / 2)
    got = model.predict_proba(np.c_[np.cos(between), np.sin(between)])
    np.testing.assert_allclose(got, (1 / D) / (1 / D).sum(axis=1, keepdims=True), atol=1e-7)


@pytest.mark.parametrize("tau", [0.0, 0.3, 0.7, 1.0])
def test_decide_guesses_what_predict_says_exactly_where_the_ratio_allows(tau):
    model = AsklessClassifier(tau=tau).fit(*box_data())
    X = queries(120)
    D = np.sort(box_distances(X), axis=1)
    ratio = D[:, 0] / D[:, 1]
    np.testing.assert_allclose(model.ratio(X), ratio, atol=1e-7)
    P = np.sort(model.predict_proba(X), axis=1)
    np.testing.assert_allclose(P[:, -2] / P[:, -1], ratio, atol=1e-7)
    decisions = model.decide(X)
    clear = np.abs(ratio - tau) > 1e-6
    guessed = np.array([isinstance(d, Guess) for d in decisions])
    np.testing.assert_array_equal(guessed[clear], (ratio <= tau)[clear])
    assert guessed.any() or tau == 0.0
    predicted = model.predict(X)
    assert all(d.label == label for d, label in zip(decisions, predicted, strict=True) if isinstance(d, Guess))


def test_decision_function_is_the_margin_in_the_shapes_of_scikit_learn():
    X = queries()
    D = box_distances(X, ("a", "b"))
    two = AsklessClassifier().fit(*box_data(("a", "b")))
    margin = (D[:, 0] - D[:, 1]) / (D[:, 0] + D[:, 1])
    assert two.decision_function(X).shape == (len(X),)
    np.testing.assert_allclose(two.decision_function(X), margin, atol=1e-7)

    four = AsklessClassifier().fit(*box_data())
    margins = four.decision_function(X)
    assert margins.shape == (len(X), 4)
    assert ((margins > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(four.classes_[margins.argmax(axis=1)], four.predict(X))
    np.testing.assert_allclose(margins.max(axis=1), (1 - four.ratio(X)) / (1 + four.ratio(X)))

    one = AsklessClassifier().fit([[0.0], [1.0]], ["only", "only"])
    np.testing.assert_array_equal(one.predict_proba([[5.0]]), [[1.0]])
    np.testing.assert_array_equal(one.ratio([[0.5], [5.0]]), [0.0, 1.0])
    assert [type(d) for d in one.decide([[0.5], [5.0]])] == [Guess, Ask]


def test_a_query_inside_two_hulls_goes_to_the_nearer_example_and_is_asked():
    X = [[0, 0], [10, 0], [0, 10], [10, 10], [1, 1], [9, 1], [1, 9], [9, 9], [5, 11], [5, 12]]
    model = AsklessClassifier(tau=1.0).fit(X, [0] * 4 + [1] * 4 + [2] * 2)
    q = [[2.0, 2.0]]
    near, far = np.sqrt(2), np.sqrt(8)
    np.testing.assert_allclose(model.predict_proba(q), [[near / (near + far), far / (near + far), 0]], atol=1e-12)
    assert model.predict(q) == 1
    assert model.ratio(q) == 1.0
    (decision,) = model.decide(q)
    assert isinstance(decision, Ask)
    assert isinstance(decision.reason, Conflict)
    assert set(decision.reason.labels) == {0, 1}


def test_the_same_example_under_two_labels_shares_the_probability():
    model = AsklessClassifier(distance="nearest").fit([[0.0], [0.0], [4.0]], ["x", "y", "z"])
    np.testing.assert_array_equal(model.predict_proba([[0.0]]), [[0.5, 0.5, 0.0]])


def test_partial_fit_in_pieces_is_fit():
    X, y = box_data()
    whole = AsklessClassifier().fit(X, y)
    pieces = AsklessClassifier()
    for i in range(0, len(X), 5):
        pieces.partial_fit(X[i : i + 5], y[i : i + 5])
    same(whole, pieces, queries())
    again = pieces.fit(X[:8], y[:8])
    same(again, AsklessClassifier().fit(X[:8], y[:8]), queries())


def test_partial_fit_lives_in_an_open_world():
    model = AsklessClassifier().partial_fit([[0.0]], ["b"], classes=["b", "d"])
    np.testing.assert_array_equal(model.predict_proba([[3.0]]), [[1.0, 0.0]])
    model.partial_fit([[9.0]], ["a much longer name"])
    assert model.classes_.tolist() == ["a much longer name", "b", "d"]
    assert model.predict([[8.0]]) == "a much longer name"
    np.testing.assert_allclose(model.predict_proba([[3.0]]), [[1 / 3, 2 / 3, 0.0]])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[1.0, 1.0], [0.0, 0.0]], ["a", "c"], "Row 1 is zero"),
        ([[1.0, 1.0]], [3], "all numbers or all strings"),
        ([[1.0, 1.0, 1.0]], ["a"], "features"),
        ([[1.0, np.nan]], ["a"], "NaN"),
        ([[1.0, 1.0]], [b"a"], "bytes"),
        ([[1.0, 1.0]], [0.5], "Unknown label type"),
    ],
)
def test_a_refused_partial_fit_changes_nothing(X, y, match):
    model = AsklessClassifier(space="sphere").partial_fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    before = pickle.dumps(model)
    with pytest.raises((ValueError, TypeError), match=match):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "y",
    [
        np.array([True, False]),
        np.array([3.0, 1.0]),
        np.array([3, -1], dtype=np.int8),
        np.array(["u", "v"]),
        np.array(["u", "v"], dtype=object),
        [2**40, 5],
    ],
    ids=lambda y: np.asarray(y).dtype.name,
)
def test_classes_keep_their_type_and_decisions_equal_them(y):
    model = AsklessClassifier(tau=0.5).fit([[0.0], [8.0]], y)
    predicted = model.predict([[1.0], [7.0]])
    assert predicted.dtype == np.asarray(y).dtype
    np.testing.assert_array_equal(predicted, y)
    assert [d.label for d in model.decide([[1.0], [7.0]])] == np.asarray(y).tolist()


def test_pickle_deepcopy_and_clone():
    model = AsklessClassifier(tau=0.4, distance="nearest").fit(*box_data())
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301 - made here
        same(model, other, queries())
        other.partial_fit([[0.0, 0.0, 9.0]], ["new"])
        assert other.predict([[0.0, 0.0, 9.0]]) == "new"
    assert "new" not in model.classes_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "policy_")


def test_a_policy_object_or_name_decides_with_its_own_parameters():
    X, y = box_data()
    given = GeneralizedHull(0.3, space="euclidean")
    given.learn([100.0, 100.0], "unrelated")
    expected = AsklessClassifier(tau=0.3).fit(X, y)
    for policy in (given, "ghc:0.3", "generalized-hull:tau=0.3,distance=hull"):
        same(clone(AsklessClassifier(policy=policy)).fit(X, y), expected, queries())
    assert given.labels == ("unrelated",)
    held = AsklessClassifier(policy=given).fit(X, y)
    same(pickle.loads(pickle.dumps(held)).fit(X, y), expected, queries())  # noqa: S301 - made here
    conservative = AsklessClassifier(policy=ConservativeHull(space="euclidean")).fit(X, y)
    same(conservative, AsklessClassifier(tau=0.0).fit(X, y), queries())


def test_grid_search_over_policies_by_name_scores_as_over_their_parameters():
    names, taus = ["chc", "ghc:0.5", "ghc:1"], [0.0, 0.5, 1.0]
    scores = []
    for base, grid in (
        (AsklessClassifier(), {"policy": names}),
        (AsklessClassifier(), {"tau": taus}),
        (AsklessClassifier(tau=0.3, policy=GeneralizedHull(0.5, space="euclidean")), {"tau": taus}),
    ):
        search = GridSearchCV(base, grid, scoring=regret_scorer(), cv=3).fit(*noisy(60))
        scores.append(search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(scores[0], scores[1])
    assert len(set(scores[0])) == 3
    np.testing.assert_allclose(scores[2], scores[1][1])  # a given policy's parameters hold


@pytest.mark.parametrize("policy", [ActivePerceptron(), "amp:0.9", 3, GeneralizedHull], ids=repr)
def test_a_policy_without_hulls_is_refused(policy):
    with pytest.raises(InvalidInput, match="hull policy"):
        AsklessClassifier(policy=policy).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("params", [{"tau": 1.1}, {"distance": "far"}, {"space": "cube"}], ids=str)
def test_bad_parameters_are_refused_by_fit(params):
    with pytest.raises(InvalidInput):
        AsklessClassifier(**params).fit([[0.0], [1.0]], [0, 1])


def test_the_regret_scorer_counts_questions_and_mistakes():
    model = AsklessClassifier(tau=0.5).fit([[0.0], [10.0]], [0, 1])
    X, y = [[1.0], [9.0], [2.0], [5.0]], [0, 1, 1, 0]  # right, right, wrong, asked
    assert regret_scorer()(model, X, y) == pytest.approx(-(11 + 2) / 4)
    assert regret_scorer(Costs(0, 1, -1))(model, X, y) == pytest.approx(-(2 + 1) / 4)
    for three in ((0, 1, -1), [0.0, 1.0, -1.0]):
        assert regret_scorer(three) == regret_scorer(Costs(0, 1, -1))
        assert regret_scorer(three)(model, X, y) == pytest.approx(-(2 + 1) / 4)
    with pytest.raises(InvalidInput, match="Costs are"):
        regret_scorer((0, 1))
    with pytest.raises(InvalidInput, match="DecisionTreeClassifier"):
        regret_scorer()(DecisionTreeClassifier().fit(X, y), X, y)


def noisy(n=150, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 3 * np.eye(4)[y], np.array(["x", "y", "z"])[y]


@pytest.mark.parametrize(("costs", "cheap"), [(Costs(0.9, 1, -50), 0.0), (Costs(-10, 1, -10), 1.0)])
def test_grid_search_in_a_pipeline_finds_the_tau_of_least_regret(costs, cheap):
    X, y = noisy()
    pipeline = make_pipeline(StandardScaler(), AsklessClassifier())
    taus = [0.0, 0.6, 1.0]
    folds = StratifiedKFold(3)
    search = GridSearchCV(pipeline, {"asklessclassifier__tau": taus}, scoring=regret_scorer(costs), cv=folds)
    search.fit(X, y)
    assert search.best_params_ == {"asklessclassifier__tau": cheap}
    for tau, score in zip(taus, search.cv_results_["mean_test_score"], strict=True):
        per_fold = []
        for train, test in folds.split(X, y):
            scaler = StandardScaler().fit(X[train])
            model = AsklessClassifier(tau).fit(scaler.transform(X[train]), y[train])
            decisions = model.decide(scaler.transform(X[test]))
            asked = sum(isinstance(d, Ask) for d in decisions)
            pairs = zip(decisions, y[test], strict=True)
            wrong = sum(isinstance(d, Guess) and d.label != truth for d, truth in pairs)
            per_fold.append(-(asked * costs.question + wrong * costs.mistake) / len(test))
        assert score == pytest.approx(np.mean(per_fold))
    assert [type(d) for d in decide(search, X)] == [type(d) for d in decide(search.best_estimator_, X)]


def test_normalizer_in_a_pipeline_is_the_sphere_of_the_classifier():
    X, y = noisy(80)
    sphere = AsklessClassifier(space="sphere").fit(X, y)
    pipeline = make_pipeline(Normalizer(), AsklessClassifier(space="sphere")).fit(X, y)
    Q = noisy(20, seed=4)[0]
    np.testing.assert_allclose(pipeline.predict_proba(Q), sphere.predict_proba(Q), atol=1e-7)
    assert [type(d) for d in decide(pipeline, Q)] == [type(d) for d in sphere.decide(Q)]


def test_fit_takes_thousands_of_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 64)), rng.integers(0, 50, 5000)
    AsklessClassifier().fit(X[:100], y[:100])  # what is compiled or imported at a first call
    calls = itertools.count()
    sys.setprofile(lambda frame, event, argument: next(calls))
    try:
        model = AsklessClassifier().fit(X, y)
    finally:
        sys.setprofile(None)
    assert next(calls) < 1000 * len(X)  # a loop over pairs of rows in Python makes five thousand a row
    assert len(list(model.policy_.examples())) == 5000


def test_without_scikit_learn_the_import_names_the_extra():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from askless.errors import MissingExtra\n"
        "try:\n    import askless.adapters.scikit_learn\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'askless[sklearn]'" in out


def test_the_package_of_adapters_loads_no_other_library():
    code = "import askless.adapters, sys; print(sorted({'sklearn', 'river', 'skactiveml'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_the_examples_of_the_documentation_run():
    path = Path(__file__).parents[1] / "docs" / "adapters.md"
    text = "\n".join("" if line.startswith("```") else line for line in path.read_text().splitlines())
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert len(test.examples) > 30
    assert doctest.DocTestRunner().run(test).failed == 0
