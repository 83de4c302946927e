"""The simulator: what it calls and when, what it counts, and what it refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.simulate import simulate
from askless.types import Always, Ask, Costs, Guess


class Scripted:
    """Decides what its script says (a label, or None to ask), and writes down every call."""

    def __init__(self, script):
        self.script, self.log = list(script), []
        self._next = 0

    def decide(self, x):
        self.log.append(("decide", int(x[0])))
        label = self.script[self._next]
        self._next += 1
        return Ask(Always()) if label is None else Guess(label)

    def observe(self, x, decision):
        self.log.append(("observe", int(x[0])))

    def learn(self, x, label, id=None):
        self.log.append(("learn", int(x[0]), label))
        return len(self.log)

    def forget(self, id):
        raise NotImplementedError

    def relabel(self, id, label):
        raise NotImplementedError

    @property
    def learned(self):
        return [call[1:] for call in self.log if call[0] == "learn"]


class ScriptedStream(Scripted):
    """The same, met through `stream`."""

    def stream(self, X):
        for x in X:
            yield self.decide(x)


class GuessesZero:
    """Guesses label 0 in every round, at next to no price."""

    def decide(self, x):
        return Guess(0)

    def stream(self, X):
        decision = Guess(0)
        for _ in range(len(X)):
            yield decision

    def observe(self, x, decision):
        pass

    def learn(self, x, label, id=None):
        return 0

    def forget(self, id):
        pass

    def relabel(self, id, label):
        pass


def numbered(n):
    """Vectors that carry the number of their row."""
    return np.arange(n, dtype=np.float64)[:, None]


def random_case(seed, rounds=60, labels="abcd"):
    rng = np.random.default_rng(seed)
    y = [labels[k] for k in rng.integers(len(labels), size=rounds)]
    script = [None if rng.random() < 0.5 else labels[rng.integers(len(labels))] for _ in range(rounds)]
    return y, script


@pytest.mark.parametrize("policy_class", [Scripted, ScriptedStream])
def test_each_round_decides_observes_once_and_learns_before_the_next_query(policy_class):
    policy = policy_class([None, "a", None])
    simulate(policy, numbered(3), ["a", "a", "b"])
    assert policy.log == [
        ("decide", 0), ("observe", 0), ("learn", 0, "a"),
        ("decide", 1), ("observe", 1),
        ("decide", 2), ("observe", 2), ("learn", 2, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize("policy_class", [Scripted, ScriptedStream])
@pytest.mark.parametrize("delay", [1, 2, 5])
def test_an_answer_comes_after_exactly_delay_further_decisions(policy_class, delay):
    y, script = random_case(3, rounds=40)
    policy = policy_class(script)
    simulate(policy, numbered(40), y, delay=delay)
    for row, label in policy.learned:
        before = policy.log[: policy.log.index(("learn", row, label))]
        decided = sum(call[0] == "decide" for call in before)
        assert decided == min(row + 1 + delay, 40)
    assert [row for row, _ in policy.learned] == [k for k in range(40) if script[k] is None]


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_a_plain_recount(seed):
    y, script = random_case(seed)
    costs = Costs(call=-2, right=1.5, wrong=-7)
    trace = simulate(Scripted(script), numbered(60), y, costs=costs)
    calls = mistakes = 0
    for t, (truth, said) in enumerate(zip(y, script, strict=True)):
        calls += said is None
        mistakes += said is not None and said != truth
        assert trace.asked[t] == (said is None)
        assert trace.correct[t] == (said == truth)
        assert (trace.calls[t], trace.mistakes[t]) == (calls, mistakes)
        assert trace.regret[t] == pytest.approx(3.5 * calls + 8.5 * mistakes)
        assert trace.labels[trace.truth[t]] == truth
        assert said is None or trace.labels[trace.guess[t]] == said
    summary = trace.summary()
    assert summary["calls"] + summary["guesses"] == summary["rounds"] == 60
    assert summary["regret_always_ask"] == pytest.approx(3.5 * 60)
    assert summary["error_rate"] == pytest.approx(mistakes / (60 - calls))
    assert trace.share_automated == pytest.approx(1 - calls / 60)


@pytest.mark.parametrize("delay", [0, 4])
def test_calls_after_every_label_was_seen(delay):
    y, script = random_case(1)
    trace = simulate(Scripted(script), numbered(60), y, delay=delay)
    asked = [t for t in range(60) if script[t] is None]
    first_answer = {label: next(t for t in asked if y[t] == label) for label in set(y)}
    seen_after = max(first_answer.values()) + 1 + delay
    assert trace.labels_seen_round == seen_after
    assert trace.calls_after_all_seen == sum(t >= seen_after for t in asked)


def test_a_label_that_is_never_learned_leaves_no_calls_after():
    trace = simulate(Scripted([None, "a", "a"]), numbered(3), ["a", "a", "b"])
    assert trace.labels_seen_round is None
    assert trace.calls_after_all_seen == 0


def test_a_guess_outside_the_streams_labels_is_a_mistake_and_has_a_name():
    trace = simulate(Scripted(["z", "a"]), numbered(2), ["a", "a"])
    assert trace.mistakes.tolist() == [1, 1]
    assert trace.labels == ("a", "z")
    assert trace.to_frame()["guess"].tolist() == ["z", "a"]


def test_first_examples_are_one_true_row_a_label_and_leave_the_stream():
    y = list("aabbbcccca")
    policy = Scripted([None] * 7)
    trace = simulate(policy, numbered(10), y, first_examples=True, seed=4)
    given = policy.learned[:3]
    assert sorted(label for _, label in given) == ["a", "b", "c"]
    assert all(y[row] == label for row, label in given)
    assert sorted([row for row, _ in given] + trace.row.tolist()) == list(range(10))
    assert trace.row.tolist() == sorted(trace.row.tolist())
    assert [y[row] for row in trace.row] == [trace.labels[k] for k in trace.truth]
    assert trace.labels_seen_round == 0
    drawn = set()
    for seed in range(20):
        policy = Scripted([None] * 7)
        simulate(policy, numbered(10), y, first_examples=True, seed=seed)
        drawn.add(tuple(policy.learned[:3]))
    assert len(drawn) > 5


def wrong_answers(seed, rate, delay=0, n=2000):
    y = [int(k) for k in np.random.default_rng(9).integers(5, size=n)]
    policy = Scripted([None] * n)
    simulate(policy, numbered(n), y, error_rate=rate, seed=seed, delay=delay)
    return {row: label for row, label in policy.learned if label != y[row]}, set(y)


def test_the_expert_errs_at_the_rate_asked_for_and_names_labels_of_the_stream():
    assert wrong_answers(0, 0.0)[0] == {}
    assert len(wrong_answers(0, 1.0)[0]) == 2000
    wrong, labels = wrong_answers(0, 0.3)
    deviation = (2000 * 0.3 * 0.7) ** 0.5
    assert abs(len(wrong) - 600) < 5 * deviation
    assert set(wrong.values()) == labels


def test_errors_depend_on_seed_and_row_not_on_the_policy_or_the_delay():
    wrong, _ = wrong_answers(7, 0.3)
    assert wrong_answers(7, 0.3, delay=3)[0] == wrong
    assert wrong_answers(8, 0.3)[0] != wrong
    y = [int(k) for k in np.random.default_rng(9).integers(5, size=2000)]
    other = Scripted([None if t % 2 else 0 for t in range(2000)])
    simulate(other, numbered(2000), y, error_rate=0.3, seed=7)
    assert all(label == wrong.get(row, y[row]) for row, label in other.learned)


def test_stream_and_decide_give_equal_traces():
    y, script = random_case(2)
    one, two = (simulate(c(script), numbered(60), y, delay=2) for c in (Scripted, ScriptedStream))
    assert dataclasses.replace(one, policy="same") == dataclasses.replace(two, policy="same")


def test_traces_compare_by_everything_but_time():
    y, script = random_case(2)
    trace = simulate(Scripted(script), numbered(60), y)
    assert trace == dataclasses.replace(trace, seconds=trace.seconds + 1)
    other = trace.guess.copy()
    other[10] = (other[10] + 1) % 4
    assert trace != dataclasses.replace(trace, guess=other)
    assert trace != dataclasses.replace(trace, costs=Costs(wrong=-20))
    assert trace != "a trace"


def test_the_frame_has_a_line_a_round_and_no_verdict_on_questions():
    y, script = random_case(5)
    trace = simulate(Scripted(script), numbered(60), y)
    frame = trace.to_frame()
    assert frame["round"].tolist() == list(range(1, 61))
    assert frame["truth"].tolist() == y
    asked = frame["action"] == "ask"
    assert asked.tolist() == trace.asked.tolist()
    assert frame.loc[asked, "correct"].isna().all()
    assert frame.loc[asked, "guess"].isna().all()
    guessed = frame[~asked]
    assert (guessed["correct"] == (guessed["guess"] == guessed["truth"])).all()
    assert frame["regret"].iloc[-1] == trace.regret[-1]


def test_progress_is_reported_seldom_and_at_the_end():
    reports = []
    simulate(GuessesZero(), numbered(1000), [0] * 1000, progress=lambda done, all_: reports.append((done, all_)))
    assert reports[-1] == (1000, 1000)
    assert len(reports) <= 1000 // 64 + 1
    assert all(done % 64 == 0 for done, _ in reports[:-1])


def test_the_simulator_itself_takes_at_most_five_microseconds_a_round():
    X, y = numbered(5000), [0] * 5000
    assert min(simulate(GuessesZero(), X, y).seconds for _ in range(5)) / 5000 < 5e-6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [0, 1]}, "one label a row"),
        ({"delay": -1}, "delay"),
        ({"delay": 1.5}, "delay"),
        ({"error_rate": -0.1}, "error_rate"),
        ({"error_rate": 1.1}, "error_rate"),
        ({"y": [0, 0, 0], "error_rate": 0.1}, "only one"),
        ({"seed": -1}, "seed"),
        ({"X": [[0.0], [np.nan], [1.0]]}, "row 1"),
        ({"y": [0, 1, 1.5]}, "label"),
        ({"first_examples": "no"}, "first_examples is True or False; found 'no'"),
        ({"first_examples": 1}, "first_examples is True or False; found 1"),
        ({"costs": (-1, 1)}, "three numbers"),
        ({"costs": "-1,1,-10"}, "Costs.parse reads such a text"),
    ],
)
def test_bad_arguments_are_named_and_the_policy_is_left_alone(change, words):
    arguments = {"X": numbered(3), "y": [0, 1, 0]} | change
    policy = Scripted([None] * 3)
    with pytest.raises(InvalidInput, match=words):
        simulate(policy, arguments.pop("X"), arguments.pop("y"), **arguments)
    assert policy.log == []


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("ghc:0.6", r"found the text 'ghc:0.6'. Make it with make_policy\('ghc:0.6'\)"),
        (GuessesZero, r"found the class GuessesZero. Make one: GuessesZero\(...\)"),
        (3, "found a int, which lacks decide, observe, learn"),
        (None, "found a NoneType"),
    ],
)
def test_what_is_no_policy_is_refused(policy, words):
    with pytest.raises(InvalidInput, match=words):
        simulate(policy, numbered(3), [0, 1, 0])


def test_costs_may_be_three_numbers():
    one, two = (simulate(Scripted([None, 1, 1]), numbered(3), [0, 1, 0], costs=c) for c in ((-1, 1, -4), [-1, 1, -4]))
    assert one.costs == two.costs == Costs(-1, 1, -4)
    assert one.regret.tolist() == [2.0, 2.0, 7.0]


def test_a_trace_is_shown_in_one_short_line():
    trace = simulate(GuessesZero(), numbered(2000), [0, 1] * 1000, costs=(-1, 1, -1_000_000.5))
    assert repr(trace) == "Trace(policy='GuessesZero', rounds=2000, calls=0, mistakes=1000, regret=1000001500)"
    empty = simulate(Scripted([]), numbered(0), [])
    assert repr(empty) == "Trace(policy='Scripted', rounds=0, calls=0, mistakes=0, regret=0)"


def test_a_policy_that_breaks_its_word_is_refused():
    class Short(GuessesZero):
        def stream(self, X):
            yield Guess(0)

    class Mute(GuessesZero):
        def stream(self, X):
            yield from [None] * len(X)

    with pytest.raises(InvalidInput, match="gave 1 of 3"):
        simulate(Short(), numbered(3), [0, 0, 0])
    with pytest.raises(InvalidInput, match="Guess or Ask"):
        simulate(Mute(), numbered(3), [0, 0, 0])


def test_a_stream_without_rounds_gives_an_empty_trace():
    policy = Scripted([])
    trace = simulate(policy, numbered(2), ["a", "b"], first_examples=True)
    assert trace.rounds == 0
    assert trace.summary()["regret"] == 0.0
    assert sorted(policy.learned) == [(0, "a"), (1, "b")]
