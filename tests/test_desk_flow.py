"""The desk: it decides as the policy does, learns what the expert says, and never guesses what it cannot know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from askless.desk.audits import error_rate, is_audited
from askless.desk.cases import Status, Why
from askless.desk.decisions import Recorded, read, written
from askless.desk.desk import Desk
from askless.desk.forecast import questions_to_come
from askless.desk.questions import Question
from askless.desk.settings import Settings
from askless.desk.texts import key_of, normal
from askless.errors import InvalidInput
from askless.ledger import events as kinds
from askless.ledger.ledger import Ledger
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.named import make_policy
from askless.simulate import simulate
from askless.types import (
    Ask,
    Conflict,
    Decision,
    ExampleId,
    Guess,
    Label,
    Reason,
    Suggestion,
    Support,
    TooClose,
    TooUncertain,
)
from toy_desk import Letters, ledger_of, open_toy, policy_of, some_texts, standing_of


def answer_all(desk: Desk, log: list[Question] | None = None) -> Desk:
    while (question := desk.next()) is not None:
        desk.answer(question, question.text[0])
        if log is not None:
            log.append(question)
    return desk


# -- the loop -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["ghc:0.8", "chc", "amp:0.9", "similarity-threshold:0.7", "always-ask"])
def test_the_first_pass_is_the_simulators_run(policy: str) -> None:
    texts = [text for text in some_texts(250) if text[0] != "?"]
    desk = answer_all(open_toy(None, texts, policy, review=False))
    trace = simulate(make_policy(policy, space="sphere"), Letters().embed(texts), [text[0] for text in texts])
    assert desk.questions == trace.calls[-1]
    wrong = sum(case.label != case.query.text[0] for case in desk.cases() if case.query.text)
    assert wrong == trace.mistakes[-1]
    asked = {texts[k] for k in np.flatnonzero(trace.asked)}
    assert {case.query.text for case in desk.cases() if case.status is Status.ANSWERED} == asked


def test_the_second_pass_asks_only_where_the_label_changed_and_is_unsure() -> None:
    texts = [text for text in some_texts(300, seed=3) if text[0] != "?"]
    first = answer_all(open_toy(None, texts, review=False))
    before = {case.query.text: case.label for case in first.cases() if case.status is Status.GUESSED}
    desk = open_toy(None, texts)
    log: list[Question] = []
    answer_all(desk, log)
    again = [question for question in log if question.why is Why.REVIEW]
    assert again, "this seed must have some"
    for question in again:
        assert question.choices[0].label != before[question.text]
    policy = desk.book.state.policy
    for case in desk.cases():
        if case.status is Status.GUESSED and case.query.id > desk.book.state.reviewed_to:
            decision = policy.decide(case.query.vector)
            best = decision.label if isinstance(decision, Guess) else decision.suggestions[0].label
            assert best == case.label
    assert desk.next() is None  # a second look changes nothing


def test_a_kill_in_the_second_pass_changes_nothing(tmp_path: Path) -> None:
    texts, path = [text for text in some_texts(300, seed=3) if text[0] != "?"], tmp_path / "t.askless"
    whole: list[Question] = []
    expected = standing_of(answer_all(open_toy(None, texts), whole))
    desk, log = open_toy(path, texts), list[Question]()
    while (question := desk.next()) is not None:
        desk.answer(question, question.text[0])
        log.append(question)
        if question.why is Why.REVIEW:
            ledger_of(desk).abandon()
            desk = open_toy(path, texts)
    assert log == whole
    assert standing_of(desk) == expected
    again = [question.query for question in log if question.why is Why.REVIEW]
    assert again == sorted(set(again))  # one way through, each guess once
    ledger_of(desk).close()


def test_the_second_pass_goes_on_behind_its_last_question(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = open_toy(None, [text for text in some_texts(300, seed=3) if text[0] != "?"])
    while (question := desk.next()) is not None and question.why is not Why.REVIEW:
        desk.answer(question, question.text[0])
    assert question is not None
    desk.answer(question, question.text[0])
    looked_at, decide = list[int](), desk._decide
    monkeypatch.setattr(desk, "_decide", lambda case: looked_at.append(case.query.id) or decide(case))
    desk.next()
    assert looked_at
    assert min(looked_at) > question.query


class Noting(GeneralizedHull):
    """Notes the calls it gets."""

    def __init__(self, calls: list[tuple[str, bytes]]) -> None:
        super().__init__(0.8)
        self.calls = calls

    def observe(self, x: ArrayLike, decision: Decision) -> None:
        self.calls.append(("observe", np.asarray(x).tobytes()))

    def learn(self, x: ArrayLike, label: Label, id: ExampleId | None = None) -> ExampleId:
        self.calls.append(("learn", np.asarray(x).tobytes()))
        return super().learn(x, label, id)


def test_a_policy_observes_every_text_once_and_before_it_learns_it(tmp_path: Path) -> None:
    texts = [text for text in some_texts(300, seed=3) if text[0] != "?"]
    ledger, calls = Ledger(tmp_path / "t.askless"), list[tuple[str, bytes]]()
    row = ledger.add_desk("toy", Letters.id)
    desk = Desk(ledger, row, Settings("noting", "letters"), lambda _: Noting(calls), max_questions=30)
    desk.receive(texts, Letters)
    desk.attend(id for text in texts if (id := desk.id_of(text)) is not None)
    answer_all(desk)  # with forced guesses
    desk.max_questions = None
    desk.attend([case.query.id for case in desk.cases()])
    answer_all(desk)  # which are decided again, and then a second pass
    assert any(case.reviewed for case in desk.cases())
    observed = [x for kind, x in calls if kind == "observe"]
    assert len(observed) == len(set(observed)) == len(texts)
    for kind, x in calls:
        if kind == "learn":
            assert calls.index(("observe", x)) < calls.index(("learn", x))
    live, calls[:] = list(calls), []
    Desk(ledger, row, desk.book.settings, lambda _: Noting(calls))
    assert calls == live  # the replay makes the same calls in the same order
    ledger.close()


def test_equal_texts_are_one_query() -> None:
    desk = open_toy(None, ["ae\u0301", "a\u00e9", "  a\u00e9\t", "b1"])
    assert len(desk.cases()) == 2
    assert normal(" ae\u0301\n") == "a\u00e9"
    assert key_of("x ") == key_of("x") != key_of("X")


def test_a_text_of_no_known_word_is_asked_and_never_learned() -> None:
    texts = ["?1", "a1", "b1", "?2", "a2"]
    desk = open_toy(None, texts)
    asked = []
    while (question := desk.next()) is not None:
        asked.append(question)
        desk.answer(question, "odd" if question.text[0] == "?" else question.text[0])
    by_text = {question.text: question for question in asked}
    assert {"?1", "?2"} <= set(by_text)
    assert by_text["?2"].choices == ()
    assert by_text["?2"].reason == "the embedder knows no word of this text"
    assert "odd" not in desk.book.state.policy.labels
    assert desk.labels.count("odd") == 1  # but it can be chosen
    decided = {e.query for e in ledger_of(desk).events(desk.book._row, kinds.DECIDED)}
    assert not decided & {desk.id_of("?1"), desk.id_of("?2")}


def test_a_decision_names_the_last_event_it_had_seen() -> None:
    desk = answer_all(open_toy(None, some_texts(60)))
    events = ledger_of(desk).events(desk.book._row)
    decided = [e for e in events if e.kind == kinds.DECIDED]
    assert len(decided) > 20
    for event in decided:
        assert event.seen == event.id - 1  # one process: the event right before it
    assert {e.who for e in events if e.kind == kinds.ANSWERED} == {"tester"}


def test_a_skipped_text_is_put_once_more_and_then_left() -> None:
    desk = open_toy(None, some_texts(40))
    first = desk.next()
    assert first is not None
    desk.skip(first)
    later = []
    while (question := desk.next()) is not None:
        later.append(question)
        if question.query == first.query:
            desk.skip(question)
        else:
            desk.answer(question, question.text[0])
    again = [q for q in later if q.query == first.query]
    assert [q.why for q in again] == [Why.AGAIN]
    assert desk.case(first.query).status is Status.SKIPPED
    assert desk.case(first.query).label is None


def test_an_answer_is_not_blank_and_a_question_is_answered_once() -> None:
    desk = open_toy(None, some_texts(10))
    question = desk.next()
    assert question is not None
    with pytest.raises(InvalidInput, match="not blank"):
        desk.answer(question, "  ")
    desk.answer(question, "a")
    with pytest.raises(InvalidInput, match="not open any more"):
        desk.answer(question, "b")


def test_given_examples_are_learned_and_not_asked() -> None:
    texts = some_texts(40)
    desk = open_toy(None, texts)
    known = [text for text in texts if text[0] != "?"][:10]
    pairs = [(id, text[0]) for text in known if (id := desk.id_of(text)) is not None]
    assert desk.give(pairs, "file") == (10, 0)
    assert desk.give(pairs, "file") == (0, 0)
    log: list[Question] = []
    answer_all(desk, log)
    assert not {question.text for question in log} & set(known)
    assert all(desk.case(id).status is Status.GIVEN for id, _ in pairs)
    assert len(list(desk.book.state.policy.examples())) == 10 + sum(q.text[0] != "?" for q in log)


# -- limits -------------------------------------------------------------------------------------------------


def test_after_the_last_question_the_rest_is_guessed_and_marked(tmp_path: Path) -> None:
    texts, path = some_texts(120), tmp_path / "t.askless"
    desk = answer_all(open_toy(path, texts, max_questions=12))
    assert desk.questions == 12
    found = Counter(case.status for case in desk.cases())
    assert found[Status.FORCED] > 5
    assert found[Status.ASKED] == 0
    for case in desk.cases():
        if case.status is Status.FORCED:
            decision = desk.book.state.policy.decide(case.query.vector)
            assert isinstance(decision, Ask)
            assert decision.suggestions[0].label == case.label
        elif case.status is Status.WAITING:
            assert case.query.vector is None  # nothing can be said of it without asking
    size = len(ledger_of(desk).events(desk.book._row))
    ledger_of(desk).close()
    again = open_toy(path, texts, max_questions=12)
    assert again.next() is None
    assert len(ledger_of(again).events(again.book._row)) == size  # and nothing is recorded twice
    ledger_of(again).close()
    more = answer_all(open_toy(path, texts))  # with no limit the forced ones are asked after all
    assert not [case for case in more.cases() if case.status in (Status.FORCED, Status.WAITING)]
    ledger_of(more).close()


def test_with_no_question_at_all_nothing_is_labelled() -> None:
    desk = open_toy(None, some_texts(20), max_questions=0)
    assert desk.next() is None
    assert {case.label for case in desk.cases()} == {None}


# -- audits -------------------------------------------------------------------------------------------------


def test_audits_are_blind_counted_and_learned() -> None:
    texts = [text for text in some_texts(400, seed=1) if text[0] != "?"]
    desk = open_toy(None, texts, audit_rate=0.3, review=False)
    shown: dict[Why, list[Question]] = {Why.AUDIT: [], Why.UNSURE: []}
    first, wrong = 0, 0
    while (question := desk.next()) is not None:
        shown[question.why].append(question)
        names = [choice.label for choice in question.choices]
        assert names == sorted(names)
        assert len(names) == len(desk.labels)  # whatever the policy named
        assert question.reason is None
        assert all(choice.probability is None for choice in question.choices)
        guess = desk.case(question.query).guess
        if question.why is Why.AUDIT:
            wrong += guess != question.text[0]
            first += names[0] == guess
        desk.answer(question, question.text[0])
    audits = len(shown[Why.AUDIT])
    assert audits > 30
    assert first < 0.7 * audits
    guesses = audits + sum(case.status is Status.GUESSED for case in desk.cases())
    assert abs(audits - 0.3 * guesses) < 4.0 * np.sqrt(0.3 * 0.7 * guesses)
    rate = desk.error_rate
    assert rate is not None
    assert (rate.audited, rate.wrong) == (audits, wrong)
    assert len(list(desk.book.state.policy.examples())) == desk.questions  # learned like any answer


def test_an_audit_that_is_skipped_leaves_the_guess() -> None:
    desk = open_toy(None, some_texts(200), audit_rate=1.0)
    while (question := desk.next()) is not None:
        if question.why is Why.AUDIT:
            break
        desk.answer(question, question.text[0])
    assert question is not None
    desk.skip(question)
    assert desk.case(question.query).status is Status.GUESSED
    assert desk.error_rate is None


@pytest.mark.parametrize(("audited", "wrong"), [(1, 0), (1, 1), (20, 0), (63, 3), (500, 500)])
def test_the_interval_is_that_of_clopper_and_pearson(audited: int, wrong: int) -> None:
    rate = error_rate(audited, wrong)
    assert rate is not None
    low = beta.ppf(0.025, wrong, audited - wrong + 1) if wrong else 0.0
    high = beta.ppf(0.975, wrong + 1, audited - wrong) if wrong < audited else 1.0
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=1e-9)
    assert error_rate(0, 0) is None


def test_audits_are_drawn_at_the_rate() -> None:
    drawn = sum(is_audited(query, 0.1) for query in range(20_000))
    assert abs(drawn - 2000) < 4.0 * np.sqrt(20_000 * 0.09)
    assert not any(is_audited(query, 0.0) for query in range(1000))
    assert all(is_audited(query, 1.0) for query in range(1000))


# -- a restart ----------------------------------------------------------------------------------------------


def test_settings_are_kept_and_changes_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "t.askless"
    texts = some_texts(60)
    desk = answer_all(open_toy(path, texts, "ghc:0.8"))
    before = standing_of(desk)
    ledger_of(desk).close()
    desk = open_toy(path, texts, "similarity-threshold:0.9", review=False)
    assert desk.book.changes == ["policy ghc:0.8 -> similarity-threshold:0.9"]
    assert desk.next() is None
    assert standing_of(desk) == before  # what was decided stays
    assert type(desk.book.state.policy).__name__ == "SimilarityThreshold"
    examples = sum(case.status is Status.ANSWERED and case.query.vector is not None for case in desk.cases())
    assert len(list(desk.book.state.policy.examples())) == examples  # and no example is lost
    recorded = ledger_of(desk).events(desk.book._row, kinds.CONFIGURED)
    assert [e.payload["policy"] for e in recorded] == ["ghc:0.8", "similarity-threshold:0.9"]
    ledger_of(desk).close()


def test_a_stop_while_texts_are_embedded_leaves_nothing(tmp_path: Path) -> None:
    class Stopped(Letters):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise KeyboardInterrupt

    ledger = Ledger(tmp_path / "t.askless")
    desk = Desk(ledger, ledger.add_desk("toy", Letters.id), Settings("chc", "letters"), policy_of)
    with pytest.raises(KeyboardInterrupt):
        desk.receive(some_texts(5), Stopped)
    ledger.abandon()
    with Ledger(tmp_path / "t.askless") as again:
        assert again.desk("toy") is None


def test_a_policy_that_cannot_be_made_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "t.askless"
    ledger_of(open_toy(path, some_texts(5))).close()
    with pytest.raises(InvalidInput, match="nope"):
        open_toy(path, some_texts(5), "nope")
    desk = open_toy(path, some_texts(5))
    assert desk.book.changes == []
    ledger_of(desk).close()


def test_new_texts_join_and_missing_ones_are_left_out(tmp_path: Path) -> None:
    path, texts = tmp_path / "t.askless", some_texts(60)
    first = answer_all(open_toy(path, texts[:40], review=False))
    kept = {case.query.text: (case.status, case.label) for case in first.cases()}
    ledger_of(first).close()
    log: list[Question] = []
    second = answer_all(open_toy(path, texts[10:], review=False), log)
    assert {question.text for question in log} <= set(texts[40:])
    assert [case.query.text for case in second.cases()] == texts[10:]
    for case in second.cases()[:30]:
        assert kept[case.query.text] == (case.status, case.label)
    ledger_of(second).close()


# -- decisions in JSON ----------------------------------------------------------------------------------------


class Whim(Reason):
    """A reason of somebody else's policy."""

    def __str__(self) -> str:
        return "a whim"


@pytest.mark.parametrize(
    "decision",
    [
        Guess("a", 0.1 + 0.2, "b", 1 / 3, (Support(3, 0.7), Support(9, 1e-17)), 0.97),
        Guess(7),
        Ask(TooClose(0.1 + 0.7, 0.8, ("a", "b")), (Suggestion("a", 0.25, 4), Suggestion("b", 0.5, None, 0.1))),
        Ask(Conflict(("a", 2))),
        Ask(TooUncertain(0.5, 0.9, "x")),
    ],
)
def test_a_decision_comes_back_as_it_was(decision: Guess | Ask) -> None:
    import json

    assert read(json.loads(json.dumps(written(decision)))) == decision


def test_a_foreign_reason_comes_back_as_its_sentence() -> None:
    assert read(written(Ask(Whim()))) == Ask(Recorded("a whim"))


# -- the estimate ---------------------------------------------------------------------------------------------


def test_the_estimate_waits_for_something_to_go_by() -> None:
    assert questions_to_come([True] * 199, 100) is None
    assert questions_to_come([True] * 40, 0) == 0
    assert questions_to_come([True] * 200, 900) == pytest.approx(900, abs=30)  # no sign of an end
    assert questions_to_come([True] * 50 + [False] * 450, 500) == 0  # they have stopped
    steady = [k % 4 == 0 for k in range(400)]
    assert questions_to_come(steady, 400) == pytest.approx(100, abs=10)


@pytest.mark.parametrize("power", [0.4, 0.6, 0.8])
def test_the_estimate_follows_a_law_of_powers(power: float) -> None:
    rng = np.random.default_rng(0)
    rate = power * np.arange(1, 5001) ** (power - 1.0)
    asked = rng.random((40, 5000)) < rate
    estimates = [questions_to_come(row[:2000].tolist(), 3000) or 0 for row in asked]
    assert np.mean(estimates) == pytest.approx(asked[:, 2000:].sum(axis=1).mean(), rel=0.15)
