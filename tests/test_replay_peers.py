"""The alternatives behave as the libraries behind them do when they are called in the plain way."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.replay.peers import table
from askless.replay.peers.make import make_peer
from askless.replay.peers.table import PEERS, installed_peers
from askless.replay.play import Contender, Run
from askless.replay.protocol import Setting
from askless.simulate import simulate
from askless.types import Ask, Guess
from replayed import clusters

DATA = clusters(rows=200, labels=5, noise=0.5)
ROWS = Setting(first_examples=True).order(DATA.labels, 0)


def taught(name, value):
    peer = make_peer(name, value, DATA.classes, 0)
    for row in ROWS.given:
        peer.learn(DATA.vectors[row], DATA.labels[row])
    return peer


def guesses(name, value):
    """What the alternative guesses on each row of the stream, None where it asks."""
    trace = simulate(taught(name, value), DATA.vectors[ROWS.stream], [DATA.labels[k] for k in ROWS.stream])
    return [None if k < 0 else trace.labels[k] for k in trace.guess]


def plainly(decide, learn):
    """The same by a plain loop: `decide` gives a label or None, and what it does not know is learned."""
    for row in ROWS.given:
        learn(DATA.vectors[row], DATA.labels[row])
    found = []
    for row in ROWS.stream:
        found.append(decide(DATA.vectors[row]))
        if found[-1] is None:
            learn(DATA.vectors[row], DATA.labels[row])
    return found


@pytest.mark.parametrize("threshold", [0.6, 0.85])
def test_the_similarity_threshold_is_the_nearest_neighbour_when_it_is_similar_enough(threshold):
    known = []

    def decide(x):
        similarity, label = max((float(x.astype(float) @ other.astype(float)), name) for other, name in known)
        return label if similarity >= threshold else None

    expected = plainly(decide, lambda x, label: known.append((x, label)))
    assert guesses("similarity", threshold) == expected
    assert 0 < expected.count(None) < len(expected)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_river_decides_as_with_a_dictionary_of_features(factor):
    pytest.importorskip("river", reason="needs the extra 'peers'")
    from river import active, neighbors

    engine = neighbors.SWINN(maxlen=10_000, seed=0)  # with its own distance
    classifier = neighbors.KNNClassifier(n_neighbors=5, engine=engine)
    model = active.EntropySampler(classifier, discount_factor=factor, seed=0)
    count = [0]

    def decide(x):
        if count[0] < 20:
            return None
        label, ask = model.predict_one(features(x))
        return None if ask else label

    def learn(x, label):
        count[0] += 1
        model.learn_one(features(x), label)

    expected = plainly(decide, learn)
    assert guesses("river", factor) == expected
    assert 20 < expected.count(None) < len(expected)


def features(x):
    return dict(enumerate(x.astype(float).tolist()))


@pytest.mark.parametrize("strategy", ["variable", "split", "fixed"])
def test_scikit_activeml_decides_as_with_a_fit_after_each_answer(strategy):
    pytest.importorskip("skactiveml", reason="needs the extra 'peers'")
    from skactiveml.classifier import ParzenWindowClassifier

    from askless.replay.peers.uncertainty import STRATEGIES

    codes = list(range(len(DATA.classes)))
    model = ParzenWindowClassifier(
        classes=codes, missing_label=-1, metric="rbf", metric_dict={"gamma": 5.0}, class_prior=0.1, random_state=0
    )
    told = {"classes": codes} if strategy == "fixed" else {}
    query = STRATEGIES[strategy](budget=0.4, random_state=0, **told)
    X, y = [], []

    def decide(x):
        model.fit(np.array(X, dtype=float), y)
        asked, utilities = query.query(x[None], clf=model, return_utilities=True)
        query.update(x[None], asked, budget_manager_param_dict={"utilities": utilities})
        return None if len(asked) else DATA.classes[int(model.predict_proba(x[None].astype(float))[0].argmax())]

    def learn(x, label):
        X.append(x)
        y.append(DATA.classes.index(label))

    expected = plainly(decide, learn)
    assert guesses(f"skactiveml-{strategy}", 0.4) == expected
    assert 0 < expected.count(None) < len(expected)


def schedule(answers):
    """After how many answers the classifiers are brought up to date."""
    due, found = 25, []
    while due <= answers:
        found.append(due)
        due += max(25, due // 20)
    return found


def test_sgd_guesses_where_its_probability_reaches_the_threshold():
    sklearn = pytest.importorskip("sklearn.linear_model", reason="needs the extra 'peers'")
    model = sklearn.SGDClassifier(loss="log_loss", random_state=0)
    X, y = [], []

    def decide(x):
        if len(y) < 25:
            return None
        probabilities = model.predict_proba(x[None])[0]
        return DATA.classes[int(probabilities.argmax())] if probabilities.max() >= 0.7 else None

    def learn(x, label):
        X.append(x)
        y.append(DATA.classes.index(label))
        if len(y) in schedule(1000):
            model.partial_fit(np.array(X), y, classes=np.arange(len(DATA.classes)))

    expected = plainly(decide, learn)
    assert guesses("sgd", 0.7) == expected
    assert 25 < expected.count(None) < len(expected)


def test_mapie_guesses_where_one_label_cannot_be_ruled_out():
    """The set of the score `lac` by hand: labels whose probability reaches 1 - q, q the (n+1) level / n quantile."""
    pytest.importorskip("mapie", reason="needs the extra 'peers'")
    from sklearn.linear_model import SGDClassifier

    from askless.replay.peers.conformal import training_half

    level = 0.8
    model = SGDClassifier(loss="log_loss", random_state=0)
    X, y, state = [], [], {}

    def decide(x):
        if "q" not in state:
            return None
        members = np.flatnonzero(1.0 - model.predict_proba(x[None])[0] <= state["q"] + 1e-8)
        return DATA.classes[members[0]] if len(members) == 1 else None

    def learn(x, label):
        X.append(x)
        y.append(DATA.classes.index(label))
        if len(y) in schedule(1000):
            rows, codes = np.array(X), np.array(y)
            train = training_half(codes)
            model.partial_fit(rows[train], codes[train], classes=np.arange(len(DATA.classes)))
            own = model.predict_proba(rows[~train])[np.arange((~train).sum()), codes[~train]]
            n = len(own)
            if n > 1 / (1 - level):
                state["q"] = np.sort(1.0 - own)[int(np.ceil((n + 1) * level)) - 1]

    expected = plainly(decide, learn)
    assert guesses("mapie", level) == expected
    assert 25 < expected.count(None) < len(expected)


def test_half_of_the_answers_train_and_the_first_of_each_label_always():
    pytest.importorskip("mapie", reason="needs the extra 'peers'")
    from askless.replay.peers.conformal import training_half

    train = training_half(np.array([0, 0, 1, 0, 1, 2, 2, 2]))
    assert train.tolist() == [True, False, True, True, False, True, True, False]


@pytest.mark.parametrize("name", ["sgd", "mapie"])
def test_a_block_ahead_decides_as_one_at_a_time(name):
    pytest.importorskip("mapie", reason="needs the extra 'peers'")
    peer = taught(name, 0.8)
    one_by_one = []
    for row in ROWS.stream:
        decision = peer.decide(DATA.vectors[row])
        one_by_one.append(decision.label if isinstance(decision, Guess) else None)
        if isinstance(decision, Ask):
            peer.learn(DATA.vectors[row], DATA.labels[row])
    assert guesses(name, 0.8) == one_by_one


@pytest.mark.parametrize("name", [name for name in PEERS if name != "similarity"])
def test_each_alternative_runs_from_nothing_and_refuses_to_forget(name):
    found, _ = installed_peers()
    if PEERS[name] not in found:
        pytest.skip("needs the extra 'peers'")
    value = PEERS[name].values[1]
    run = Run(Contender(f"{name}:{value:g}", name, value, name), Setting(rounds=120), 0)
    trace = run.trace(run.play(DATA), DATA)
    assert trace.asked[0]
    assert trace.rounds == 120
    peer = taught(name, value)
    for refused in (lambda: peer.forget(0), lambda: peer.relabel(0, "label 1")):
        with pytest.raises(InvalidInput, match="the library behind it has no such call"):
            refused()


@pytest.mark.parametrize("name", ["sgd", "mapie", "skactiveml-split"])
def test_a_label_that_was_not_told_is_refused(name):
    pytest.importorskip("mapie", reason="needs the extra 'peers'")
    pytest.importorskip("skactiveml", reason="needs the extra 'peers'")
    with pytest.raises(InvalidInput, match="was not told of the label 'new'"):
        taught(name, 0.8).learn(DATA.vectors[0], "new")


def test_what_is_not_installed_is_left_out_with_a_word(monkeypatch):
    monkeypatch.setattr(table, "version_of", lambda peer: None if peer.package == "mapie" else "1")
    found, remarks = installed_peers()
    assert [peer.name for peer in found] == [name for name in PEERS if name != "mapie"]
    assert remarks == ["Left out, for want of mapie: MAPIE split conformal. pip install 'askless[peers]' adds them."]


def test_the_page_of_benchmarks_has_a_name_for_each_alternative():
    place = Path(__file__).parent.parent / "docs" / "benchmarks.py"
    page = module_from_spec(spec := spec_from_file_location("benchmarks_page", place))
    spec.loader.exec_module(page)
    assert set(PEERS) <= set(page.NAMES)
    line = {"best_of": "5", "value": "0.5", "regret": "1234.5", "regret_deviation": "7", "at_end_of_range": "True"}
    assert page.regret(line | {"seeds": "1"}) == "1,234 (0.5)\\*"
    assert page.regret(line | {"seeds": "2", "at_end_of_range": "False"}) == "1,234 ± 7 (0.5)"
    assert page.title("mapie", {("pair", "mapie"): line}) == "MAPIE: split conformal, best level of 5 in hindsight"


def test_the_sweeps_reach_to_asking_nearly_always():
    assert {0.7, 0.9, 0.95} <= set(PEERS["sgd"].values)
    budgets = [peer for peer in PEERS.values() if peer.parameter == "budget"]
    assert len(budgets) == 3
    for peer in budgets:
        assert peer.values[-1] == 1.0
    for peer in PEERS.values():
        assert list(peer.values) == sorted(set(peer.values))


@pytest.mark.parametrize("strategy", ["variable", "split", "fixed"])
def test_with_a_whole_budget_a_strategy_asks_more_than_with_a_small_one(strategy):
    pytest.importorskip("skactiveml", reason="comes with the extra askless[peers]")
    few, many = (guesses(f"skactiveml-{strategy}", budget).count(None) for budget in (0.4, 1.0))
    assert few < many
