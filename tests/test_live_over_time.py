"""The figures over time, and the regret of guessing always, against a slow count by hand."""

from __future__ import annotations

import statistics as by_hand
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from askless.desk.live import examples, labels, tickets
from askless.desk.live.guess_always import regret_of_guessing
from askless.desk.live.over_time import over_time
from askless.desk.live.spans import BUCKETS
from askless.desk.live.types import NewQuery
from askless.errors import InvalidInput
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.types import Costs
from filled_ledger import START, bucket_of, filled
from live_admin import ADMIN, NAME, answer_all, ask, toy

COSTS = Costs(-1, 1, -10)


def is_guess(row: dict[str, Any]) -> bool:
    looked_at = row["status"] == "answered" and row["why"] in ("audit", "feedback") and row["guess"]
    return bool(row["status"] == "guessed" or looked_at)


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("span", [(None, None), (50, 300)])
def test_each_span_is_counted_as_by_hand(database: Database, bucket: str, span: tuple[int | None, int | None]) -> None:
    rows = filled(database)
    since, until = (None if k is None else rows[k]["at"] for k in span)
    came = [r for r in rows[slice(*span)] if r["status"] != "given"]
    found = over_time(database, 1, since=since, until=until, bucket=bucket)
    assert [one.start for one in found] == sorted({bucket_of(r["at"], bucket) for r in came})
    for one in found:
        mine = [r for r in came if bucket_of(r["at"], bucket) == one.start]
        guesses = [r for r in mine if is_guess(r)]
        calls = [r for r in mine if r.get("ticket") == "answered"]
        audited = [r for r in calls if r["why"] == "audit" and r["guess"]]
        wrong = sum(r["guess"] != r["label"] for r in audited)
        assert (one.received, one.guesses, one.calls) == (len(mine), len(guesses), len(calls))
        assert one.automated == len(guesses) / len(mine)
        assert (one.audited, one.audited_wrong) == (len(audited), wrong)
        if audited:
            exact = binomtest(wrong, len(audited)).proportion_ci(0.95, method="exact")
            assert one.audits is not None
            assert (one.audits.low, one.audits.high) == pytest.approx((exact.low, exact.high))
        else:
            assert one.audits is None
        shadow = [r for r in mine if r["why"] == "shadow" and r["guess"]]
        seen = [r for r in shadow if r["ticket"] == "answered"]
        counted = (one.shadow_guesses, one.shadowed, one.shadowed_wrong)
        assert counted == (len(shadow), len(seen), sum(r["guess"] != r["label"] for r in seen))
        assert (one.shadow is None) == (not seen)
        sure = [0.5 if r["p"] is None else r["p"] for r in guesses]
        assert one.mean_probability == (pytest.approx(np.mean(sure)) if sure else None)
        waits = [r["seconds"] for r in calls if not is_guess(r)]
        assert one.median_wait_seconds == (pytest.approx(by_hand.median(waits), abs=1e-3) if waits else None)


def test_bad_spans_are_refused_and_an_empty_desk_has_none(database: Database) -> None:
    assert over_time(database, 1) == ()
    for wrong in ({"since": START, "until": START}, {"since": datetime(2026, 1, 1)}, {"bucket": "year"}):
        with pytest.raises(InvalidInput):
            over_time(database, 1, **wrong)
    with pytest.raises(InvalidInput):
        regret_of_guessing(database, 1, COSTS, since=START, until=START)


# -- guessing always --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("span", [(None, None), (50, 300)])
def test_guessing_always_costs_what_a_count_by_hand_says(
    database: Database, span: tuple[int | None, int | None]
) -> None:
    rows = filled(database)
    since, until = (None if k is None else rows[k]["at"] for k in span)
    rows = rows[slice(*span)]
    guesses = [r for r in rows if is_guess(r)]
    asked = [r for r in rows if r["status"] == "answered" and not is_guess(r)]
    mistakes = sum(r["likeliest"] != r["label"] for r in asked)
    assert 0 < mistakes < len(asked)
    audited = [r for r in guesses if r.get("ticket") == "answered" and r["why"] == "audit"]
    wrong = sum(r["guess"] != r["label"] for r in audited)
    exact = binomtest(wrong, len(audited)).proportion_ci(0.95, method="exact")
    found = regret_of_guessing(database, 1, COSTS, since=since, until=until)
    assert found is not None
    for value, rate in ((found.value, wrong / len(audited)), (found.low, exact.low), (found.high, exact.high)):
        assert value == pytest.approx(11 * (mistakes + rate * len(guesses)))


def test_labels_count_by_the_names_they_have_now(database: Database) -> None:
    with toy(database, mode="shadow") as desks:
        for text in ("a1", "b1", "a2", "b2", "a3", "?4"):
            ask(desks, [text])
            answer_all(desks)
        desk = desks.row(NAME).id
        with database.read() as connection:
            events = list(events_after(connection, desk))
        said = {e.query: e.payload["label"] for e in events if e.kind == "answered"}
        held = {e.query: e.payload for e in events if e.kind == "decided"}
        likeliest = {
            query: told.get("label") or (told["suggestions"][0][0] if told["suggestions"] else None)
            for query, told in held.items()
        }
        mistakes = sum(likeliest.get(query) != label for query, label in said.items())
        assert len(held) == 5  # nothing is known of the last
        assert 2 <= mistakes < 6
        for change in (
            lambda desk: labels.rename(desk, "a", "first", ADMIN),
            lambda desk: labels.create(desk, "a", None, ADMIN),  # another one, of the old name
            lambda desk: labels.delete_label(desk, "first", ADMIN),
        ):
            found = regret_of_guessing(database, desk, COSTS)
            assert found is not None
            assert (found.value, found.low, found.high) == (11 * mistakes,) * 3
            desks.run(NAME, change).result()
        found = regret_of_guessing(database, desk, COSTS)
        assert found is not None
        assert found.value == 11 * mistakes
        desks.run(NAME, lambda desk: labels.create(desk, "b2", None, ADMIN)).result()
        desks.run(NAME, lambda desk: labels.merge(desk, "b", "b2", ADMIN)).result()
        found = regret_of_guessing(database, desk, COSTS)
        assert found is not None
        assert found.value == 11 * mistakes


def test_waiting_queries_count_for_nothing_and_guesses_need_an_audit(database: Database) -> None:
    with toy(database) as desks:
        ask(desks, ["a1", "b1"])
        desk = desks.row(NAME).id
        found = regret_of_guessing(database, desk, COSTS)
        assert found is not None
        assert found.value == 0.0
        answer_all(desks)
        found = regret_of_guessing(database, desk, COSTS)
        assert found is not None
        assert found.value == 22.0  # nothing was known when they came
        (guessed,) = desks.submit(NAME, [NewQuery("again", "a1")], "client").result()
        assert guessed.status == "guessed"
        assert regret_of_guessing(database, desk, COSTS) is None
        desks.run(NAME, lambda desk: examples.relabel(desk, "again", "b", "eve")).result()
        assert regret_of_guessing(database, desk, COSTS) is None  # it was a guess all the same


def test_an_answer_taken_back_waits_again(database: Database) -> None:
    with toy(database) as desks:
        ask(desks, ["a1"])
        ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
        desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, "a", "eve")).result()
        desk = desks.row(NAME).id
        values = [regret_of_guessing(database, desk, COSTS)]
        desks.run(NAME, lambda desk: tickets.undo(desk, ticket.id, "eve")).result()
        values.append(regret_of_guessing(database, desk, COSTS))
        assert [None if v is None else v.value for v in values] == [11.0, 0.0]
