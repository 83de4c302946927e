"""Which guesses the audits speak of, and what a second pass did to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from askless.desk.audits import is_audited
from askless.desk.cases import Status, Why
from askless.desk.desk import Desk
from askless.desk.questions import Question
from askless.desk.settings import Settings
from askless.ledger.ledger import Ledger
from askless.types import Ask, Exploring, Guess, Suggestion
from toy_desk import Letters, ledger_of, open_toy, some_texts, standing_of

TEXTS = [text for text in some_texts(300, seed=3) if text[0] != "?"]


def answer_all(desk: Desk, stop: int | None = None) -> list[Question]:
    log: list[Question] = []
    while len(log) != stop and (question := desk.next()) is not None:
        desk.answer(question, question.text[0])
        log.append(question)
    return log


def test_audits_that_come_later_draw_from_all_guesses_and_survive_a_kill(tmp_path: Path) -> None:
    path, texts = tmp_path / "t.askless", TEXTS[:120]
    desk = open_toy(path, texts, review=False)
    answer_all(desk)
    guesses = [case.query.id for case in desk.cases() if case.status is Status.GUESSED]
    ledger_of(desk).close()
    asked: list[int] = []
    desk = open_toy(path, texts, audit_rate=0.3, review=False)
    while (question := desk.next()) is not None:
        assert question.why is Why.AUDIT
        asked.append(question.query)
        desk.answer(question, question.text[0])
        rate = desk.error_rate
        assert rate is not None
        assert rate.covered + rate.others == len(guesses)
        ledger_of(desk).abandon()
        desk = open_toy(path, texts, audit_rate=0.3, review=False)
    assert asked == [id for id in guesses if is_audited(id, 0.3)]
    assert len(asked) > 10
    rate = desk.error_rate
    assert rate is not None
    assert (rate.audited, rate.covered, rate.others) == (len(asked), len(guesses), 0)
    live = standing_of(desk)
    ledger_of(desk).close()
    desk = open_toy(path, texts, audit_rate=0.3, review=False)
    assert standing_of(desk) == live
    ledger_of(desk).close()


def test_guesses_without_audits_and_forced_ones_are_not_covered(tmp_path: Path) -> None:
    path = tmp_path / "t.askless"
    desk = open_toy(path, TEXTS, audit_rate=0.5, review=False)
    answer_all(desk, stop=60)
    drawn = sum(case.status is Status.GUESSED or case.audited for case in desk.cases())
    ledger_of(desk).close()
    desk = open_toy(path, TEXTS, audit_rate=0.0, review=False, max_questions=80)
    answer_all(desk)
    rate = desk.error_rate
    assert rate is not None
    assert rate.covered == drawn
    standing = sum(case.status in (Status.GUESSED, Status.FORCED) for case in desk.cases())
    assert rate.others == standing - (drawn - rate.audited)
    assert rate.others > 20
    ledger_of(desk).close()


def test_guesses_that_a_second_pass_asks_about_were_drawn_from_too() -> None:
    first = open_toy(None, TEXTS, audit_rate=0.2, review=False)
    answer_all(first)
    desk = open_toy(None, TEXTS, audit_rate=0.2)
    assert any(question.why is Why.REVIEW for question in answer_all(desk))
    one, both = first.error_rate, desk.error_rate
    assert one is not None
    assert both is not None
    assert both.covered == one.covered == sum(case.guess is not None for case in first.cases())


def test_a_given_label_that_changed_is_relearned_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "t.askless"
    desk = open_toy(path, ["a1", "b1", "a2"])
    first, second = desk.id_of("a1"), desk.id_of("b1")
    assert first is not None
    assert second is not None
    assert desk.give([(first, "x"), (second, "b")], "file") == (2, 0)
    assert desk.give([(first, "a"), (second, "b")], "file") == (0, 1)
    assert sorted(desk.labels) == ["a", "b"]
    decision = desk.book.state.policy.decide(desk.case(first).query.vector)
    assert isinstance(decision, Guess)
    assert decision.label == "a"
    ledger_of(desk).close()
    desk = open_toy(path, ["a1", "b1", "a2"])
    assert sorted(desk.labels) == ["a", "b"]
    assert desk.book.state.policy.decide(desk.case(first).query.vector) == decision
    ledger_of(desk).close()


def test_the_second_pass_remembers_the_guess_it_met() -> None:
    before = open_toy(None, TEXTS, review=False)
    answer_all(before)
    guesses = {case.query.text: case.label for case in before.cases() if case.status is Status.GUESSED}
    desk = open_toy(None, TEXTS)
    answer_all(desk)
    reviewed = [case for case in desk.cases() if case.reviewed]
    assert len(reviewed) > 3
    assert [case.first for case in reviewed] == [guesses[case.query.text] for case in reviewed]


class Explorer:
    """Explores for a while, then is sure, and says so with a figure throughout."""

    def __init__(self) -> None:
        self.count = 0

    def decide(self, x: object) -> Ask | Guess:
        if self.count < 10:
            return Ask(Exploring("more"), (Suggestion("a", 0.5, None, 0.77), Suggestion("b", 0.6, None, 0.2)))
        return Guess("a", 0.1, None, 0.0, (), 0.9)

    def observe(self, x: object, decision: object) -> None:
        self.count += 1

    def learn(self, x: object, label: object, id: int | None = None) -> int | None:
        return id

    def forget(self, id: object) -> None: ...

    def relabel(self, id: object, label: object) -> None: ...


@pytest.mark.parametrize("limit", [None, 4])
def test_exploring_rounds_are_no_part_of_the_forecast_and_have_no_confidence(limit: int | None) -> None:
    ledger = Ledger()
    row = ledger.add_desk("toy", Letters.id)
    desk = Desk(ledger, row, Settings("x", "letters"), lambda _: Explorer(), max_questions=limit, review=False)
    desk.receive(TEXTS[:30], Letters)
    desk.attend(id for text in TEXTS[:30] if (id := desk.id_of(text)) is not None)
    answer_all(desk)
    state = desk.book.state
    assert (state.rounds, state.history) == (30, [False] * 20)
    forced = [case for case in desk.cases() if case.status is Status.FORCED]
    assert len(forced) == (0 if limit is None else 6)
    for case in forced:
        assert case.probability is None
        assert case.evidence[0].weight == 1.0
        near = state.near.closest(case.query.vector, 9)
        assert case.evidence[0].id == next(s.example for s in near if s.label == case.label)
