"""Many queries at once: begun while the desk is busy, decided as things stand at their turn, shown as they are now."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from askless import SelfTuning
from askless.desk.live import configure, erase, examples, labels, supports
from askless.desk.live.desk import LiveDesk
from askless.desk.live.exchange import GivenExample
from askless.desk.live.give import give
from askless.desk.live.intake import Submission
from askless.desk.live.read import evidence
from askless.desk.live.types import NewQuery, QueryStatus
from askless.desk.live.verify import verify
from askless.errors import Unavailable
from askless.ledger.database import Database
from askless.policies.named import make_policy
from askless.service.bodies import LongResponse
from askless.service.shown import outcome_shown
from askless.types import Decision, Policy
from live_desks import NAME, Toy, a_desk
from toy_desk import LETTERS, Letters

MANY = 200


def texts(name: str, count: int = MANY) -> list[str]:
    return [f"{LETTERS[k % 4]} {name} {k}" for k in range(count)]


@contextmanager
def a_taught_desk(database: Database) -> Iterator[Toy]:
    """With enough examples that it guesses, and enough decisions in a row that it looks ahead."""
    with a_desk(database, policy="self-tuning") as toy:
        give(toy.desks, NAME, [GivenExample(text, text[0], text) for text in texts("known", 120)], "admin")
        toy.send(*texts("before"))
        yield toy


@contextmanager
def kept_busy(toy: Toy) -> Iterator[None]:
    """The desk's worker does nothing else until the block ends: what is handed in meanwhile waits in line."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(desk: LiveDesk) -> None:
        begun.set()
        assert go_on.wait(30)

    waiting = toy.desks.run(NAME, wait)
    assert begun.wait(30)
    try:
        yield
    finally:
        go_on.set()
        waiting.result(30)


def queries(names: list[str]) -> list[NewQuery]:
    return [NewQuery(text, text) for text in names]


def assert_verified(database: Database) -> None:
    found = verify(database, NAME)
    assert (found.differing, found.same) == (0, found.decisions)


# -- begun ahead -----------------------------------------------------------------------------------------------------
def test_only_many_with_vectors_are_begun_ahead_and_only_by_a_policy_that_can() -> None:
    X, y = Letters().embed(texts("known")), [text[0] for text in texts("known")]
    policy, hulls = SelfTuning(), make_policy("ghc:0.8", space="sphere")
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
        hulls.learn(x, label)

    def begun(by: object, vectors: list[np.ndarray | None]) -> bool:
        submission = Submission([NewQuery(str(k), "text", x) for k, x in enumerate(vectors)], "me")
        submission.look_ahead(by)  # type: ignore[arg-type]
        return submission.ahead is not None

    assert begun(policy, list(X))
    assert not begun(hulls, list(X))
    assert not begun(policy, list(X[:63]))
    assert not begun(policy, [None, *X])
    assert not begun(policy, [x[:3] for x in X])  # refused with its reason when its turn comes


def test_a_batch_is_begun_while_the_desk_is_busy_and_decided_as_its_queries_one_by_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    by, stream = list[str](), SelfTuning.stream

    def noted(policy: SelfTuning, X: np.ndarray) -> Iterator[Decision]:
        by.append(threading.current_thread().name)
        return stream(policy, X)

    with a_taught_desk(database) as toy:
        monkeypatch.setattr(SelfTuning, "stream", noted)
        with kept_busy(toy):
            together = toy.desks.submit(NAME, queries(texts("new")), "client")
        outcomes = together.result(30)
        assert by == ["askless-embedder"]
        assert sum(outcome.status is QueryStatus.GUESSED for outcome in outcomes) > MANY / 2
        toy.check()
    assert_verified(database)  # which decides each of them by itself


def test_of_those_that_wait_one_at_a_time_is_begun(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, look_ahead, size = list[Submission](), Submission.look_ahead, 256  # one transaction each

    def noted(submission: Submission, policy: Policy) -> None:
        assert not any(other.ahead for other in begun if not (other.future.running() or other.future.done()))
        look_ahead(submission, policy)
        assert submission.ahead is not None
        begun.append(submission)

    with a_taught_desk(database) as toy:
        monkeypatch.setattr(Submission, "look_ahead", noted)
        with kept_busy(toy):
            sent = [toy.desks.submit(NAME, queries(texts(f"new {k}", size)), "client") for k in range(4)]
            few = toy.desks.submit(NAME, queries(["a few"]), "client")
            sent[0].cancel()
            sent[2].cancel()
        for batch in sent[1], sent[3]:
            assert len(batch.result(30)) == size
        assert len(few.result(30)) == 1
        assert [submission.queries[0].key for submission in begun] == [f"a new {k} 0" for k in range(4)]
        assert not any(submission.ahead for submission in begun)
        with kept_busy(toy):  # the place is free again, whatever came of the others
            last = toy.desks.submit(NAME, queries(texts("last")), "client")
        assert len(last.result(30)) == MANY
        assert len(begun) == 5
    assert_verified(database)


def test_a_look_ahead_that_fails_costs_nobody_anything(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SelfTuning.stream

    def no_thread(policy: SelfTuning, X: np.ndarray) -> Iterator[Decision]:
        if threading.current_thread().name == "askless-embedder":
            raise RuntimeError("can't start new thread")
        return stream(policy, X)

    monkeypatch.setattr(SelfTuning, "stream", no_thread)
    with a_taught_desk(database) as toy:
        assert len(toy.send(*texts("new"))) == MANY
        assert len(toy.send("a last")) == 1


def test_probabilities_of_any_kind_of_float_are_told_as_plain_ones(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a policy from outside may give them: JSON holds no others."""
    guess = SelfTuning._guess
    monkeypatch.setattr(
        SelfTuning, "_guess", lambda self, outlook: replace(guess(self, outlook), probability=np.float32(0.75))
    )
    with a_taught_desk(database) as toy:
        found = [o for o in toy.send(*texts("new")) if o.status is QueryStatus.GUESSED]
        assert 0.75 in {outcome.probability for outcome in found}
        assert {type(outcome.probability) for outcome in found} == {float}
        shown = [json.loads(LongResponse(outcome_shown(outcome, examples=True)).body) for outcome in found]
        assert [line["probability"] for line in shown] == [outcome.probability for outcome in found]


def test_what_is_learned_before_its_turn_counts(database: Database) -> None:
    with a_taught_desk(database) as toy:
        with kept_busy(toy):
            first = toy.do_later(lambda desk: examples.relabel(desk, "a known 0", "b", "admin"))
            batch = toy.desks.submit(NAME, queries(texts("new")), "client")
        first.result(30)
        batch.result(30)
        toy.check()
    assert_verified(database)


def test_a_policy_that_came_meanwhile_decides(database: Database) -> None:
    with a_taught_desk(database) as toy:
        with kept_busy(toy):
            changed = toy.do_later(lambda desk: configure.configure(desk, {"policy": "always-ask"}, "admin"))
            batch = toy.desks.submit(NAME, queries(texts("new")), "client")
        changed.result(30)
        assert {outcome.status for outcome in batch.result(30)} == {QueryStatus.ASKED}
        toy.check()
    assert_verified(database)


def test_what_is_known_already_is_left_as_it_is(database: Database) -> None:
    with a_taught_desk(database) as toy:
        known = toy.send(*texts("new"))
        again = toy.send(*texts("newer", 100), *texts("new"), *texts("newer", 100))
        assert again[100 : 100 + MANY] == known
        assert again[:100] == again[100 + MANY :]
        toy.check()
    assert_verified(database)


def test_one_that_is_refused_leaves_the_others_their_decisions(database: Database) -> None:
    with a_taught_desk(database) as toy:
        with kept_busy(toy):
            good = toy.desks.submit(NAME, queries(texts("new")), "client")
            clash = [NewQuery("a before 0", "another text"), *queries(texts("newer"))]
            bad = toy.desks.submit(NAME, clash, "client")
            other = toy.desks.submit(NAME, queries(texts("newest")), "client")
        with pytest.raises(Exception, match="was used for another query"):
            bad.result(30)
        assert len(good.result(30)) == len(other.result(30)) == MANY
        toy.check()
    assert_verified(database)


def test_two_batches_that_wait_are_answered_one_after_the_other(database: Database) -> None:
    with a_taught_desk(database) as toy:
        with kept_busy(toy):
            sent = [toy.desks.submit(NAME, queries(texts(f"new {k}", 256)), "client") for k in range(2)]
            few = [toy.desks.submit(NAME, queries([f"a few {k}"]), "client") for k in range(3)]
        first, second = (batch.result(30) for batch in sent)
        assert len({outcome.received_at for outcome in first}) == 1
        assert first[0].received_at < second[0].received_at
        assert len({done.result(30)[0].received_at for done in few}) == 1  # which share one transaction


# -- the examples behind a guess -------------------------------------------------------------------------------------
def behind(toy: Toy, name: str) -> dict[str, tuple[str | None, str]]:
    """The texts and labels of the examples that guesses on some new queries rest on."""
    return {e.key: (e.text, e.label) for outcome in toy.send(*texts(name)) for e in outcome.evidence}


def test_examples_are_shown_as_they_are_now(database: Database) -> None:
    with a_taught_desk(database) as toy:
        found = behind(toy, "one")
        assert len(found) > 40
        assert all(found[key] == (key, key[0]) for key in found)
        mine = sorted(key for key in found if key[0] == "a")
        erase.erase(toy.desks, NAME, [mine[0]], "admin")
        toy.do(lambda desk: labels.rename(desk, "b", "bee", "admin"))
        found = behind(toy, "two")
        assert mine[0] not in found
        assert {label for _, label in found.values()} == {"a", "bee", "c", "d"}
        toy.do(lambda desk: examples.relabel(desk, mine[1], "c", "admin"))
        assert behind(toy, "three").get(mine[1], (mine[1], "c")) == (mine[1], "c")


def test_the_examples_kept_in_memory_are_those_of_the_ledger(database: Database) -> None:
    with a_taught_desk(database) as toy:
        behind(toy, "one")
        erase.erase(toy.desks, NAME, ["a known 0", "b known 1"], "admin")
        toy.do(lambda desk: examples.relabel(desk, "c known 2", "d", "admin"))
        toy.do(lambda desk: labels.rename(desk, "d", "dee", "admin"))
        behind(toy, "two")

        def same(desk: LiveDesk) -> int:
            kept = dict(desk.supports._known)
            assert evidence(desk.entry.connection, list(kept)) == kept
            assert not any("a known 0" in (support.key, support.text) for support in kept.values())
            return len(kept)

        assert toy.do(same) > 40


def test_a_desk_that_failed_keeps_no_texts(database: Database) -> None:
    with a_taught_desk(database) as toy:
        behind(toy, "one")

        def fail(desk: LiveDesk) -> None:
            desk.entry.lost = Unavailable("The database is gone.")
            raise desk.entry.lost

        worker = toy.desks._worker(NAME)
        assert worker._desk.supports._known
        with pytest.raises(Unavailable):
            toy.do(fail)
        assert not worker._desk.loaded
        assert not worker._desk.supports._known
        assert behind(toy, "two")


def test_the_memory_of_examples_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supports, "_MOST", 200)
    with a_taught_desk(database) as toy:

        def read_few_by_few(desk: LiveDesk) -> None:
            ids = list(desk.fold.examples)
            for start in range(0, len(ids), 4):
                found = desk.supports.find(desk.entry.connection, ids[start : start + 4])
                assert all(found[id].text == found[id].key for id in ids[start : start + 4])
                assert len(desk.supports._known) <= 10  # of some 20 characters each

        toy.do(read_few_by_few)
