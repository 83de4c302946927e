"""The figures of a desk against a slow count by hand, and its conflicts against the geometry."""

from __future__ import annotations

import statistics as by_hand
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy.stats import binomtest
from sqlalchemy import func, select, update

from askless.desk.live import examples, feedback, labels, tickets
from askless.desk.live.conflicts import causes, conflicts, contradictions
from askless.desk.live.desks import Desks
from askless.desk.live.over_time import over_time
from askless.desk.live.spans import BUCKETS
from askless.desk.live.statistics import Prices, statistics
from askless.desk.live.types import NewQuery
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from askless.types import Costs
from filled_ledger import START, bucket_of, filled
from live_admin import ADMIN, NAME, answer_all, ask, query_row, toy

COSTS = Costs(-1, 1, -10)


@pytest.mark.parametrize("span", [(None, None), (50, 300)])
def test_the_figures_are_those_of_a_count_by_hand(database: Database, span: tuple[int | None, int | None]) -> None:
    rows = filled(database)
    since, until = (None if k is None else rows[k]["at"] for k in span)
    rows = rows[slice(*span)]
    came = [r for r in rows if r["status"] != "given"]
    calls = [r for r in rows if r.get("ticket") == "answered"]
    checked = [r for r in calls if r["guess"]]
    guesses = [r for r in came if r["status"] == "guessed" or (r in checked and r["why"] in ("audit", "feedback"))]
    audited = [r for r in checked if r["why"] == "audit"]
    wrong = sum(r["guess"] != r["label"] for r in audited)
    exact = binomtest(wrong, len(audited)).proportion_ci(0.95, method="exact")
    for bucket in BUCKETS:
        found = statistics(database, 1, COSTS, prices=Prices(2.0, 30.0), since=since, until=until, bucket=bucket)
        expected = Counter(bucket_of(r["at"], bucket) for r in came)
        assert {b.start: b.received for b in found.buckets} == expected
        assert [b.start for b in found.buckets] == sorted(expected)
        assert sum(b.guesses for b in found.buckets) == found.guesses == len(guesses)
        assert sum(b.calls for b in found.buckets) == found.calls == len(calls)
    assert found.received == len(came)
    assert found.given == len(rows) - len(came)
    assert found.waiting == sum(r.get("ticket") == "open" for r in rows)
    assert found.withdrawn == sum(r.get("ticket") == "withdrawn" for r in rows)
    assert found.received == found.guesses + found.calls - found.calls_again + found.waiting - found.waiting_again
    assert found.calls_again == sum(r["why"] in ("audit", "feedback") for r in checked)
    assert found.automated == len(guesses) / len(came)
    complaints = [r for r in calls if r["why"] == "feedback"]
    assert found.feedback_answered == len(complaints) > 0
    assert found.feedback_wrong == sum(r["guess"] != r["label"] for r in complaints if r["guess"]) > 0
    assert found.audits is not None
    assert (found.audits.audited, found.audits.wrong) == (len(audited), wrong)
    assert (found.audits.low, found.audits.high) == pytest.approx((exact.low, exact.high))
    assert found.mean_probability == pytest.approx(np.mean([0.5 if r["p"] is None else r["p"] for r in guesses]))
    shadow = [r for r in came if r["why"] == "shadow" and r["guess"]]
    assert found.shadow_guesses == len(shadow)
    assert found.shadow is not None
    assert found.shadow.audited == sum(r["ticket"] == "answered" for r in shadow)
    rate = wrong / len(audited)
    assert found.regret is not None
    assert found.regret.value == pytest.approx(2 * len(calls) + 11 * rate * len(guesses))
    assert found.regret.low < found.regret.value < found.regret.high
    settled = sum(r["status"] in ("guessed", "answered") for r in came)  # who waits has cost nothing yet
    assert settled < len(came)
    assert found.regret_of_asking == 2 * settled
    assert found.saved is not None
    assert found.saved.value == pytest.approx(2 * settled - 2 * len(calls) - 30 * rate * len(guesses))
    assert found.saved.low < found.saved.value < found.saved.high
    waited = [r["seconds"] for r in calls if r not in guesses]
    assert 0 < len(waited) < len(calls)
    assert found.median_wait_seconds == pytest.approx(by_hand.median(waited), abs=1e-3)
    most = Counter(r["label"] for r in calls)
    assert [load.calls for load in found.labels] == [n for _, n in most.most_common(10)]
    assert all(most[load.label] == load.calls for load in found.labels)


def figures(desks: Desks, database: Database) -> tuple[int, int, int, int, int]:
    found = statistics(database, desks.row(NAME).id, COSTS)
    audited = 0 if found.audits is None else found.audits.audited
    return found.calls, found.guesses, audited, found.feedback_answered, found.feedback_wrong


def test_a_complaint_loses_no_call_and_its_answer_is_a_second_one(database: Database) -> None:
    with toy(database) as desks:
        ask(desks, ["a1", "b1"])
        answer_all(desks)
        assert figures(desks, database) == (2, 0, 0, 0, 0)
        desks.run(NAME, lambda desk: feedback.feedback(desk, "a1", "b", "client")).result()
        assert figures(desks, database) == (2, 0, 0, 0, 0)
        ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
        desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, "b", "eve")).result()
        assert figures(desks, database) == (3, 0, 0, 1, 0)
        load = {one.label: one.calls for one in statistics(database, desks.row(NAME).id, COSTS).labels}
        assert load == {"a": 1, "b": 2}
        desks.run(NAME, lambda desk: tickets.undo(desk, ticket.id, "eve")).result()
        assert figures(desks, database) == (2, 0, 0, 0, 0)


def test_wrong_guesses_that_askers_find_are_counted_apart_from_audits(database: Database) -> None:
    with toy(database) as desks:
        ask(desks, ["a1", "b1", "a2", "b2"])
        answer_all(desks)
        calls = figures(desks, database)[0]
        guessed = [o for o in ask(desks, ["a1 ?", "b1 ?"]) if o.status == "guessed"]
        assert len(guessed) == 2
        already = figures(desks, database)[1]
        for outcome, label in zip(guessed, ("wrong", guessed[1].label), strict=True):
            desks.run(NAME, lambda desk: feedback.feedback(desk, outcome.key, None, "client")).result()  # noqa: B023
            ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
            desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, label, "eve")).result()  # noqa: B023
        assert figures(desks, database) == (calls + 2, already, 0, 2, 1)
        again = guessed[0].key  # a second complaint: the guess was given all the same
        desks.run(NAME, lambda desk: feedback.feedback(desk, again, "a", "client")).result()
        assert figures(desks, database) == (calls + 2, already, 0, 2, 1)
        ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
        desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, "a", "eve")).result()
        assert figures(desks, database) == (calls + 3, already, 0, 3, 1)


def test_a_complaint_about_an_audited_guess_leaves_the_audit_counted(database: Database) -> None:
    with toy(database, audit_rate=1.0) as desks:
        ask(desks, ["a1", "b1", "a2", "b2"])
        answer_all(desks)
        (guessed,) = desks.submit(NAME, [NewQuery("again", "a1")], "client").result()
        assert guessed.status == "guessed"
        ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
        desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, "wrong", "eve")).result()
        before = figures(desks, database)
        assert before[2] > 0
        desks.run(NAME, lambda desk: feedback.feedback(desk, guessed.key, "a", "client")).result()
        assert figures(desks, database) == before
        rate = statistics(database, desks.row(NAME).id, COSTS).audits
        assert rate is not None
        assert rate.wrong == 1


def test_a_guess_that_an_expert_corrects_stays_a_guess_and_is_no_call(database: Database) -> None:
    with toy(database) as desks:
        ask(desks, ["a1", "b1", "a2", "b2"])
        answer_all(desks)
        (guessed,) = desks.submit(NAME, [NewQuery("again", "a1")], "client").result()
        before = figures(desks, database)
        assert guessed.status == "guessed"
        desks.run(NAME, lambda desk: examples.relabel(desk, "again", "b", "eve")).result()
        assert figures(desks, database) == before


def test_an_answer_after_the_guess_is_a_call_and_the_guess_stays_one(database: Database) -> None:
    with toy(database) as desks:
        queries = [NewQuery(key, text) for key, text in (("x", "a0"), ("y", "b0"), ("late", "a0"))]
        x, y, late = (outcome.ticket or 0 for outcome in desks.submit(NAME, queries, "client").result())
        for ticket, label in ((y, "b"), (x, "a")):
            desks.run(NAME, lambda desk: tickets.answer(desk, ticket, label, "eve")).result()  # noqa: B023
        assert figures(desks, database)[:2] == (2, 1)
        desks.run(NAME, lambda desk: tickets.answer(desk, late, "b", "eve")).result()
        assert figures(desks, database)[:2] == (3, 1)
        desks.run(NAME, lambda desk: feedback.feedback(desk, "late", "a", "client")).result()
        assert figures(desks, database)[:2] == (3, 1)
        found = statistics(database, desks.row(NAME).id, COSTS)
        assert (found.received, found.calls_again, found.waiting, found.waiting_again) == (3, 1, 1, 1)


def test_only_who_waited_for_an_expert_counts_in_the_median_wait(database: Database) -> None:
    with toy(database, audit_rate=1.0) as desks:

        def waits(*seconds: int) -> bool:
            """Whether the median is that of these, for the statistics and for a chart over time."""
            desk, wanted = desks.row(NAME).id, pytest.approx(by_hand.median(seconds), abs=0.1) if seconds else None
            (span,) = over_time(database, desk, bucket="month")
            found = statistics(database, desk, COSTS).median_wait_seconds
            return bool(found == wanted and span.median_wait_seconds == wanted)

        def answered(key: str, label: str, after: int) -> None:
            ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
            assert ticket.key == key
            desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, label, "eve")).result()
            since = query_row(database, key).received_at + timedelta(seconds=after)
            with database.write() as connection:
                mine = schema.tickets.c.id == ticket.id
                connection.execute(update(schema.tickets).where(mine).values(closed_at=since))
                newest = select(func.max(schema.events.c.id)).where(schema.events.c.kind == "answered")
                mine = schema.events.c.id == newest.scalar_subquery()
                connection.execute(update(schema.events).where(mine).values(at=since))

        ask(desks, ["a1"])
        assert waits()
        answered("a1", "a", 100)
        ask(desks, ["b1"])
        answered("b1", "b", 300)
        assert waits(100, 300)
        (guessed,) = desks.submit(NAME, [NewQuery("again", "a1")], "client").result()
        assert guessed.status == "guessed"
        answered("again", "b", 5000)  # to audit it
        assert waits(100, 300)
        desks.run(NAME, lambda desk: feedback.feedback(desk, "again", "a", "client")).result()
        answered("again", "a", 6000)
        assert waits(100, 300)
        desks.run(NAME, lambda desk: feedback.feedback(desk, "b1", "a", "client")).result()
        assert waits(100, 300)  # who complains of an expert's answer has waited for that one
        answered("b1", "a", 9000)
        assert waits(100, 300)


def test_an_empty_desk_has_no_rates(database: Database) -> None:
    with toy(database) as desks:
        found = statistics(database, desks.row(NAME).id, COSTS, prices=Prices(1.0, 1.0))
    assert (found.received, found.guesses, found.audits, found.automated) == (0, 0, None, None)
    assert found.regret is not None  # nothing was guessed: nothing is unknown
    assert found.regret.value == found.regret_of_asking == 0.0
    assert (found.median_wait_seconds, found.buckets, found.labels) == (None, (), ())


def test_bad_spans_and_prices_are_refused(database: Database) -> None:
    for wrong in ({"since": START, "until": START}, {"since": datetime(2026, 1, 1)}, {"bucket": "year"}):
        with pytest.raises(InvalidInput):
            statistics(database, 1, COSTS, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="price"):
        Prices(-1.0, float("nan"))


# -- conflicts --------------------------------------------------------------------------------------------------------
@pytest.fixture
def torn(database: Database) -> Iterator[Desks]:
    """A desk whose experts gave the labels up and down to corners of hulls that meet."""
    with toy(database, "always-ask") as desks:
        corners = {"up1": [1, 0, 0, 0], "up2": [0, 1, 0, 0], "down1": [2, 1, 1, 0], "down2": [1, 2, -1, 0]}
        for key, x in corners.items():
            query = NewQuery(key, vector=np.array(x, dtype=np.float32))
            desks.submit(NAME, [query], "client").result()
            desks.run(NAME, lambda desk: None).result()
        label_all(desks)
        from askless.desk.live.configure import configure

        desks.run(NAME, lambda desk: configure(desk, {"policy": "chc"}, ADMIN)).result()
        yield desks


def label_all(desks: Desks) -> None:
    while (ticket := desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()) is not None:
        number, label = ticket.id, ticket.key[:-1]
        desks.run(NAME, lambda desk: tickets.answer(desk, number, label, "eve")).result()  # noqa: B023


def test_a_query_in_two_hulls_is_named_with_the_examples_that_cause_it(torn: Desks, database: Database) -> None:
    torn.submit(NAME, [NewQuery("between", vector=np.array([1, 1, 0, 0], dtype=np.float32))], "client").result()
    desk = torn.row(NAME).id
    with database.read() as connection:
        (found,) = conflicts(connection, desk)
        assert found.key == "between"
        assert set(found.labels) == {"up", "down"}
        sides = {side.label: side for side in causes(connection, desk, found.query, found.labels)}
    assert all(side.inside for side in sides.values())
    for label, parts in (("up", {"up1", "up2"}), ("down", {"down1", "down2"})):
        assert {part.key for part in sides[label].examples} == parts
        rows = [np.frombuffer(query_row(database, part.key).vector, np.float32) for part in sides[label].examples]
        point = sum(part.weight * row for part, row in zip(sides[label].examples, rows, strict=True))
        assert point / np.linalg.norm(point) == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0], abs=1e-6)
    torn.run(NAME, lambda desk: labels.rename(desk, "down", "below", ADMIN)).result()
    with database.read() as connection:
        assert set(conflicts(connection, desk)[0].labels) == {"up", "below"}
    torn.run(NAME, lambda desk: examples.forget(desk, "down2", ADMIN)).result()
    with database.read() as connection:
        sides = {side.label: side for side in causes(connection, desk, found.query, ("up", "below"))}
    assert (sides["up"].inside, sides["below"].inside) == (True, False)


def test_an_answered_conflict_waits_no_more(torn: Desks, database: Database) -> None:
    (waiting,) = torn.submit(
        NAME, [NewQuery("up3", vector=np.array([1, 1, 0, 0], dtype=np.float32))], "client"
    ).result()
    assert waiting.ticket is not None
    label_all(torn)
    with database.read() as connection:
        assert conflicts(connection, torn.row(NAME).id) == []


def test_equal_vectors_with_two_labels_are_found(database: Database) -> None:
    with toy(database, "always-ask") as desks:
        x = np.array([1, 2, 3, 4], dtype=np.float32)
        for key in ("yes1", "no1", "yes2", "maybe1"):
            vector = x if key != "maybe1" else x[::-1].copy()
            desks.submit(NAME, [NewQuery(key, vector=vector)], "client").result()
        label_all(desks)
        ask(desks, ["a1", "b1"])
        answer_all(desks)
        with database.read() as connection:
            (found,) = contradictions(connection, desks.row(NAME).id)
            assert connection.execute(select(schema.queries.c.id)).first() is not None
    assert [(part.key, part.label) for part in found.examples] == [("yes1", "yes"), ("no1", "no"), ("yes2", "yes")]
