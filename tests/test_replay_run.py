"""Runs of a replay: against a plain loop, kept in the folder, chosen in hindsight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askless.errors import InvalidInput
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.named import make_policy
from askless.replay import play
from askless.replay.details import label_lines, sample_mistakes
from askless.replay.play import Contender, Run
from askless.replay.protocol import Setting
from askless.replay.run import contenders, replay
from askless.types import Costs, Guess
from replayed import clusters

GHC = Contender("ghc:0.9", "ghc:0.9")


def by_hand(data, tau, setting, seed):
    """Calls and mistakes of GHC by the plainest loop; answers come at once and are right."""
    order = np.random.default_rng(seed).permutation(len(data.labels))[: setting.rounds]
    policy = GeneralizedHull(tau, n_labels=len(data.classes) if setting.known_labels else None)
    calls, mistakes, given = 0, 0, set()
    if setting.first_examples:
        for label in dict.fromkeys(data.labels[row] for row in order):
            given.add(next(row for row in order if data.labels[row] == label))
        for row in order:
            if row in given and np.isfinite(data.vectors[row]).all():
                policy.learn(data.vectors[row], data.labels[row])
    for row in order:
        if row in given:
            continue
        known = np.isfinite(data.vectors[row]).all()
        decision = policy.decide(data.vectors[row]) if known else None
        if isinstance(decision, Guess):
            mistakes += decision.label != data.labels[row]
        else:
            calls += 1
            if known:
                policy.learn(data.vectors[row], data.labels[row])
    return calls, mistakes


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting(rounds=150, first_examples=True),
        Setting(first_examples=True, known_labels=True),
        Setting(known_labels=True, costs=Costs(-1, 1, -50)),
    ],
)
@pytest.mark.parametrize("unknown", [(), (3, 17, 100)])
def test_a_run_decides_as_a_plain_loop_does(setting, unknown):
    data = clusters(unknown=unknown)
    for seed in (0, 5):
        run = Run(GHC, setting, seed)
        trace = run.trace(run.play(data), data)
        calls, mistakes = by_hand(data, 0.9, setting, seed)
        summary = trace.summary()
        assert (summary["calls"], summary["mistakes"]) == (calls, mistakes)
        assert mistakes > 0  # else this test says little
        costs = setting.costs
        assert summary["regret"] == (costs.right - costs.call) * calls + (costs.right - costs.wrong) * mistakes
        assert [data.labels[row] for row in trace.row] == [trace.labels[k] for k in trace.truth]


def test_a_text_without_a_vector_is_asked_and_never_learned():
    unknown = (0, 9, 55, 200)
    data = clusters(unknown=unknown)
    run = Run(Contender("ghc:1.0", "ghc:1.0"), Setting(first_examples=True), 0)
    trace = run.trace(run.play(data), data)
    for row in set(unknown) & set(trace.row.tolist()):
        assert trace.asked[trace.row.tolist().index(row)]
    assert trace.asked.sum() <= len(unknown) + 1  # with tau = 1 nothing else is asked but ties


def test_late_and_wrong_answers_change_what_happens():
    data = clusters()
    plain, late, wrong = (
        Run(GHC, setting, 0).play(data)["guess"] for setting in (Setting(), Setting(delay=40), Setting(error_rate=0.3))
    )
    assert plain != late
    assert plain != wrong


def test_what_carried_a_wrong_guess_was_known_before_it_and_has_the_guessed_label():
    data = clusters(noise=0.6)
    run = Run(GHC, Setting(delay=3, first_examples=True), 2)
    row = run.play(data)
    trace = run.trace(row, data)
    order = run.setting.order(data.labels, 2)
    place = {int(r): t for t, r in enumerate(order.stream)} | {int(r): -10 for r in order.given}
    assert len(row["wrong"]) == trace.summary()["mistakes"] > 5
    for t, carriers, _ in row["wrong"]:
        assert trace.guess[t] not in (-1, trace.truth[t])
        assert carriers
        for example, weight in carriers:
            assert data.labels[example] == trace.labels[trace.guess[t]]
            assert place[example] < t - 3
            assert place[example] < 0 or trace.asked[place[example]]
            assert weight > 0
    sample = sample_mistakes(entry_of(run, row, data).runs[0], data, most=4)
    assert len(sample) == 4
    assert all(one.text == data.texts[order.stream[one.round - 1]] for one in sample)
    assert all(one.guess != one.truth and one.truth in one.text for one in sample)


def entry_of(run, row, data):
    from askless.replay.run import Entry, Played

    return Entry(run.contender, 1, False, (Played(run, run.trace(row, data), row),))


def test_the_lines_of_the_labels_add_up_to_the_run():
    data = clusters(noise=0.6)
    run = Run(GHC, Setting(), 0)
    entry = entry_of(run, run.play(data), data)
    lines, summary = label_lines(entry), entry.runs[0].trace.summary()
    assert sum(line.texts for line in lines) == summary["rounds"]
    assert sum(line.asked for line in lines) == summary["calls"]
    assert sum(line.wrong for line in lines) == summary["mistakes"]
    assert sum(line.regret for line in lines) == summary["regret"]
    assert [line.regret for line in lines] == sorted((line.regret for line in lines), reverse=True)
    assert all((line.taken_for != "") == (line.wrong > 0) for line in lines)


def test_the_best_of_a_sweep_has_the_lowest_mean_regret(tmp_path):
    data, setting = clusters(), Setting(first_examples=True)
    chosen = contenders(["chc", "always-ask", "chc"], data, setting, taus=(0.3, 0.6, 0.9, 0.99))
    assert [one.spec for one in chosen] == ["chc", "always-ask", "ghc:0.3", "ghc:0.6", "ghc:0.9", "ghc:0.99"]
    outcome = replay(chosen, data, setting, [4, 5, 6], tmp_path)
    assert [entry.of for entry in outcome.entries] == [1, 1, 4]
    means = {
        one.spec: np.mean([p.trace.regret[-1] for p in outcome.played if p.run.contender == one]) for one in chosen
    }
    best = outcome.entries[2]
    assert means[best.contender.spec] == min(mean for spec, mean in means.items() if spec.startswith("ghc"))
    regrets = [p.trace.regret[-1] for p in best.runs]
    assert best.figure("regret") == pytest.approx((np.mean(regrets), np.std(regrets, ddof=1)))
    assert outcome.entries[1].figure("regret") == (2.0 * (240 - 6), 0.0)


def test_runs_that_are_done_are_not_played_again(tmp_path, monkeypatch):
    data, setting = clusters(), Setting()
    chosen = contenders(["ghc:0.8", "chc"], data, setting)
    seen = []
    first = replay(chosen, data, setting, [0, 1], tmp_path, progress=lambda *at: seen.append(at))
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    played = []
    original = Run.play
    monkeypatch.setattr(Run, "play", lambda run, data: played.append(run) or original(run, data))
    again = replay(chosen, data, setting, [0, 1], tmp_path)
    assert played == []
    assert [p.trace for p in again.played] == [p.trace for p in first.played]
    replay(chosen, data, setting, [1, 2], tmp_path)
    assert [run.seed for run in played] == [2, 2]


def test_a_run_has_the_address_of_all_that_it_depends_on():
    data = clusters()
    run = Run(GHC, Setting(), 0)
    others = [
        Run(replace(GHC, spec="ghc:0.8"), Setting(), 0),
        Run(replace(GHC, source="another file"), Setting(), 0),
        Run(GHC, Setting(), 1),
        *(
            Run(GHC, setting, 0)
            for setting in (
                Setting(rounds=100),
                Setting(delay=1),
                Setting(error_rate=0.1),
                Setting(first_examples=True),
                Setting(known_labels=True),
                Setting(costs=Costs(-1, 1, -11)),
            )
        ),
    ]
    keys = [run.key(data), *(other.key(data) for other in others), run.key(clusters(seed=1))]
    keys.append(run.key(replace(data, labels=data.labels[::-1])))
    assert len(set(keys)) == len(keys)
    assert run.key(clusters()) == keys[0]


def test_a_change_of_the_policies_runs_no_library_again(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="needs the extra 'peers'")
    data, setting = clusters(), Setting(rounds=60)
    sgd, similar = Contender("sgd:0.5", "sgd", 0.5, "sgd"), Contender("similarity:0.8", "similarity", 0.8, "similarity")
    before = [Run(one, setting, 0).key(data) for one in (sgd, similar, GHC)]
    original = play._code_digest
    monkeypatch.setattr(play, "_code_digest", lambda *names: original(*names) + ("!" if "policies" in names else ""))
    after = [Run(one, setting, 0).key(data) for one in (sgd, similar, GHC)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]


def test_the_number_of_jobs_changes_nothing(tmp_path):
    data, setting = clusters(rows=80), Setting()
    chosen = contenders(["ghc:0.8", "chc", "always-ask"], data, setting)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (replay(chosen, data, setting, [0], tmp_path / f, jobs=j) for f, j in (("one", 1), ("two", 2)))
    assert [p.trace for p in one.played] == [p.trace for p in two.played]
    with pytest.raises(InvalidInput, match="--jobs is the number of runs at a time"):
        replay(chosen, data, setting, [0], tmp_path, jobs=0)


def test_a_policy_that_cannot_be_made_is_refused_before_any_run():
    data = clusters()
    with pytest.raises(InvalidInput, match="No policy is named"):
        contenders(["ghc:0.8", "no-such-policy"], data, Setting())
    with pytest.raises(InvalidInput):
        contenders(["skm"], data, Setting())  # it must know how many labels there are
    assert contenders(["skm"], data, Setting(known_labels=True))


def test_costs_reach_a_policy_that_takes_them(monkeypatch):
    given = {}
    monkeypatch.setattr(
        "askless.replay.play.make_policy", lambda spec, **defaults: given.update(defaults) or make_policy(spec)
    )
    Run(GHC, Setting(costs=Costs(-2, 1, -20), known_labels=True), 0).play(clusters())
    assert given["costs"] == Costs(-2, 1, -20)
    assert given["n_labels"] == 6
