"""Whatever happens to the process, and however much is undone: the desk is where it would be without."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askless.desk.cases import Status
from askless.desk.desk import Desk
from askless.desk.questions import Question
from askless.desk.texts import key_of
from askless.ledger import events as kinds
from toy_desk import ledger_of, open_toy, some_texts, standing_of

TEXTS = some_texts(30, seed=2)
POLICIES = ["ghc:0.8", "amp:0.9", "similarity-threshold:0.6", "toy_desk_policy:Drifting"]
SOME = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])

acts = st.lists(
    st.sampled_from(["answer", "answer", "answer", "other", "skip", "undo", "undo", "kill", "kill before commit"]),
    max_size=35,
)


def do(desk: Desk, question: Question, act: str) -> None:
    if act == "skip":
        desk.skip(question)
    else:
        desk.answer(question, question.text[0] if act == "answer" else "z")


def opened(path: Path | None, policy: str, audit_rate: float) -> Desk:
    return open_toy(path, TEXTS, policy, audit_rate)


def killed(desk: Desk, path: Path, policy: str, audit_rate: float) -> Desk:
    """As after kill -9: the file is let go with nothing said, and opened again."""
    ledger_of(desk).abandon()
    return opened(path, policy, audit_rate)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("audit_rate", [0.0, 0.3])
@SOME
@given(script=acts)
def test_undone_acts_never_were_and_kills_change_nothing(policy: str, audit_rate: float, script: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.askless"
        desk, stands = opened(path, policy, audit_rate), []
        for act in script:
            if act == "kill":
                desk = killed(desk, path, policy, audit_rate)
            elif act == "kill before commit":
                desk.book.commit, committed = lambda: None, desk.book.commit  # type: ignore[method-assign]
                desk.next()
                desk.book.commit = committed  # type: ignore[method-assign]
                desk = killed(desk, path, policy, audit_rate)
            elif act == "undo":
                assert desk.undo() == bool(stands)
                del stands[-1:]
            elif (question := desk.next()) is not None:
                do(desk, question, act)
                stands.append(act)
        again = killed(desk, path, policy, audit_rate)
        twin = opened(None, policy, audit_rate)  # never killed, never asked to undo
        for act in stands:
            question = twin.next()
            assert question is not None
            do(twin, question, act)
        assert again.next() == twin.next()
        assert standing_of(again) == standing_of(twin)
        assert again.labels == twin.labels
        assert again.book.state.history == twin.book.state.history
        ledger_of(again).close()
        ledger_of(twin).close()


given_acts = st.lists(
    st.sampled_from(["answer", "answer", "other", "skip", "undo", "kill", "give", "give", "seed", "withdraw"]),
    max_size=35,
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("audit_rate", [0.0, 0.3])
@SOME
@given(script=given_acts)
def test_labels_given_and_withdrawn_are_what_a_replay_says(policy: str, audit_rate: float, script: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.askless"
        desk = opened(path, policy, audit_rate)
        source: dict[int, str] = {}  # of each label that was given, the last one
        seeds: dict[int, str] = {}  # the labels that the seed file gave
        for number, act in enumerate(script):
            if act == "kill":
                desk = killed(desk, path, policy, audit_rate)
            elif act == "undo":
                desk.undo()
            elif act in ("give", "seed"):
                label = f"{act} {number % 2}"
                ids = [id for text in TEXTS[number % 4 :: 4] if (id := desk.id_of(text)) is not None]
                stands = {id: (desk.case(id).status, desk.case(id).label) for id in ids}
                desk.give([(id, label) for id in ids], act)
                for id, (status, before) in stands.items():
                    if status is not Status.ANSWERED and (status, before) != (Status.GIVEN, label):
                        source[id] = act
                        seeds |= {id: label} if act == "seed" else {}
            elif act == "withdraw":
                answered = [case.query.id for case in desk.cases() if case.status is Status.ANSWERED]
                given = {case.query.id for case in desk.cases() if case.status is Status.GIVEN}
                mine, questions = [source[id] for id in given].count("give"), desk.questions
                assert desk.withdraw(list(desk.book.queries), "another file") == (0, 0)
                assert desk.withdraw(list(desk.book.queries), "give").labels == mine
                for id in given:
                    case, left = desk.case(id), seeds.get(id)
                    assert (case.status, case.label) == (Status.GIVEN if left else Status.WAITING, left)
                    source[id] = "seed"
                assert desk.questions == questions
                assert [case.query.id for case in desk.cases() if case.status is Status.ANSWERED] == answered
            elif (question := desk.next()) is not None:
                do(desk, question, act)
            sure = [case for case in desk.cases() if case.status in (Status.ANSWERED, Status.GIVEN)]
            assert desk.book.state.labels == Counter(case.label for case in sure)
            assert set(desk.book.state.near.ids) == {c.query.id for c in sure if c.query.vector is not None}
        again = killed(desk, path, policy, audit_rate)
        assert standing_of(again) == standing_of(desk)
        assert again.book.state.labels == desk.book.state.labels
        assert again.book.state.acts == desk.book.state.acts
        assert again.questions == desk.questions
        assert again.book.state.history == desk.book.state.history
        assert again.book.state.reviewed_to == desk.book.state.reviewed_to
        ledger_of(again).close()


def test_guesses_of_a_label_that_was_withdrawn_are_made_again(tmp_path: Path) -> None:
    desk = open_toy(tmp_path / "t.askless", TEXTS, "ghc:0.9", spread=0.05)
    labels = {desk.book.ids[key_of(text)]: text[0].upper() for text in TEXTS[:8] if text[0] in "ab"}
    desk.give(labels.items(), "file")
    while (question := desk.next()) is not None:
        desk.skip(question)
    stale = [case.query.id for case in desk.cases() if case.status is Status.GUESSED]
    assert stale
    assert desk.withdraw(labels, "file", coming=["A", "B"]) == (len(labels), 0)
    assert {desk.case(id).status for id in stale} == {Status.GUESSED}
    desk.give(labels.items(), "file")
    assert desk.withdraw(labels, "file") == (len(labels), len(stale))
    assert {desk.case(id).status for id in stale} == {Status.WAITING}
    ledger_of(desk).close()


def test_questions_about_guesses_that_are_made_again_were_put_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.askless"
    desk = open_toy(path, TEXTS, "ghc:0.9", audit_rate=1.0, spread=0.05)
    labels = {desk.book.ids[key_of(text)]: text[0].upper() for text in TEXTS[:8] if text[0] in "ab"}
    desk.give(labels.items(), "file")
    while (question := desk.next()) is not None:
        desk.skip(question)
    questions, acts = desk.questions, len(desk.book.state.acts)
    assert questions == acts
    assert desk.withdraw(labels, "file").guesses > 3
    assert desk.questions == questions
    assert len(desk.book.state.acts) < acts  # nothing is left of the others to take back
    ledger_of(desk).close()
    desk = open_toy(path, TEXTS, "ghc:0.9", audit_rate=1.0, spread=0.05, max_questions=questions)
    assert desk.questions == questions
    assert desk.next() is None
    ledger_of(desk).close()


def test_every_decision_is_that_of_a_policy_with_the_events_it_had_seen(tmp_path: Path) -> None:
    """A slow reference: for each decision a new state from the events up to the last one seen."""
    from askless.desk.decisions import read, written
    from askless.desk.state import State
    from askless.ledger.events import standing
    from toy_desk import policy_of

    desk = opened(tmp_path / "t.askless", "ghc:0.8", 0.2)
    for act in ["answer"] * 6 + ["undo", "undo", "other", "answer", "skip"] + ["answer"] * 40:
        if act == "undo":
            desk.undo()
        elif (question := desk.next()) is not None:
            do(desk, question, act)
    events = ledger_of(desk).events(desk.book._row)
    decided = [e for e in events if e.kind == kinds.DECIDED]
    assert len(decided) > 25
    for event in decided:
        state = State(policy_of(desk.book.settings), desk.book.queries)
        for before in standing(e for e in events if e.id <= (event.seen or 0)):
            state.apply(before)
        assert event.query is not None
        vector = desk.book.queries[event.query].vector
        assert vector is not None
        assert read(event.payload) == read(written(state.policy.decide(vector)))
    ledger_of(desk).close()


def test_a_label_that_was_taken_back_does_not_come_back(tmp_path: Path) -> None:
    desk = open_toy(tmp_path / "t.askless", TEXTS, "ghc:0.9", spread=0.05)
    id = desk.book.ids[key_of(TEXTS[0])]
    desk.give([(id, "B")], "file")
    desk.withdraw([id], "file")
    desk.give([(id, "A")], "seed file")
    desk.withdraw([id], "seed file")
    assert desk.case(id).label != "B"
    desk.give([(id, "A")], "seed file")
    desk.give([(id, "B")], "file")
    desk.withdraw([id], "file")
    assert desk.case(id).label == "A"
    desk.withdraw([id], "seed file")
    assert desk.case(id).label != "B"
