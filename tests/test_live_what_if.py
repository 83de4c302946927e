"""What other costs would have changed: against the policy's own rule, fed with the same decisions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import insert

from askless.desk.decisions import written
from askless.desk.live.configure import configure
from askless.desk.live.settings import LiveSettings
from askless.desk.live.what_if import CostEffect, effect_of_costs, ignores_costs
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.entry import events_after
from askless.policies.answer_value import AnswerValue
from askless.policies.named import POLICIES
from askless.types import Ask, Conflict, Costs, Decision, Exploring, Guess, NoExamples, Suggestion, TooUncertain
from live_admin import ADMIN, NAME, answer_all, ask, toy
from toy_desk import some_texts

COSTS = Costs(-1, 1, -10)
CHEAP, DEAR = Costs(-1, 1, -4), Costs(-1, 1, -40)


def decided(costs: Costs, sure: Sequence[float]) -> list[Decision]:
    """What the policy decides where the best label is as likely as this, one after the other."""
    value, found = AnswerValue(costs), []
    for p in sure:
        needed = value.needed
        found.append(Guess("a", 0.1, probability=p) if p >= needed else asks(p, needed))
        value.observe(found[-1])
    return found


def record(database: Database, parts: Sequence[tuple[LiveSettings, Sequence[Decision]]]) -> None:
    """A desk 1 with these settings in turn, and what it decided with each."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with database.write() as connection:
        connection.execute(insert(schema.desks), {"id": 1, "name": "d", "embedder": "e", "created_at": at})
        connection.execute(insert(schema.queries), {"id": 1, "desk": 1, "key": "k"})
        rows = []
        for settings, decisions in parts:
            rows.append({"kind": "configured", "query": None, "payload": settings.written()})
            rows += [{"kind": "decided", "query": 1, "payload": written(decision)} for decision in decisions]
        connection.execute(insert(schema.events), [{"desk": 1, "at": at, "who": None, **row} for row in rows])


def effect(database: Database, costs: Costs, last: int = 1000, desk: int = 1) -> CostEffect:
    with database.read() as connection:
        return effect_of_costs(connection, desk, costs, last=last)


def probabilities(count: int) -> list[float]:
    """The same ten again and again, so that the mean of any ten in a row is that of all."""
    return np.tile([0.3, 0.99, 0.6, 0.999, 0.8, 0.95, 0.9, 0.97, 0.995, 0.98], count // 10).tolist()


def test_it_is_what_the_policy_would_say_of_the_same_decisions(database: Database) -> None:
    decisions = decided(COSTS, probabilities(1500))
    record(database, [(LiveSettings(), decisions)])
    for costs in (CHEAP, DEAR, Costs(-0.2, 1, -10), Costs(-3, 1, -10), Costs(-2, 2, -20)):
        value, would_ask = AnswerValue(costs), []
        for decision in decisions:
            p = decision.probability if isinstance(decision, Guess) else decision.suggestions[0].probability
            would_ask.append(p < value.needed)
            value.observe(decision)
        found = effect(database, costs, last=1000)
        assert (found.decisions, found.without_probability) == (1000, 0)
        assert found.asked == sum(isinstance(decision, Ask) for decision in decisions[-1000:])
        assert found.would_ask == sum(would_ask[-1000:])
    assert effect(database, CHEAP).would_ask < found.asked < effect(database, DEAR).would_ask


def test_the_same_costs_in_any_unit_change_nothing(database: Database) -> None:
    rng = np.random.default_rng(0)
    decisions = decided(COSTS, (1.0 - 0.4 * rng.random(900) ** 3).tolist())
    record(database, [(LiveSettings(), decisions)])
    asked = sum(isinstance(decision, Ask) for decision in decisions)
    for costs in (COSTS, Costs(-3, 3, -30), Costs(0, 0.2, -0.9), Costs(9, 11, 0)):
        assert effect(database, costs) == CostEffect(900, asked, asked, 0)
    counts = [effect(database, Costs(-1, 1, -wrong)).would_ask for wrong in (1, 2, 5, 10, 20, 100, 1000)]
    assert counts == sorted(counts)
    assert counts[0] < asked < counts[-1]


def asks(p: float, needed: float) -> Ask:
    return Ask(TooUncertain(p, needed, "a"), (Suggestion("a", 0.1, None, p),))


def test_a_guess_needed_no_more_than_it_had(database: Database) -> None:
    record(database, [(LiveSettings(), [asks(0.9, 0.95), Guess("a", 0.1, probability=0.92)])])
    assert effect(database, Costs(-1, 1, -9.9)) == CostEffect(2, 1, 1, 0)  # mistakes are a little cheaper


def test_an_answer_is_worth_25_questions_at_most(database: Database) -> None:
    sure = [Guess("a", 0.1, probability=p) for p in (0.988, *[0.999] * 9)]
    record(database, [(LiveSettings(), [asks(0.5, 1.0 - 2.0 / (11.0 + 50.0)), *sure])])
    assert 0.012 * (110.0 + 50.0) < 2.0 < 0.012 * (110.0 + 1.9 * 50.0)
    assert effect(database, Costs(-1, 1, -109)) == CostEffect(11, 1, 1, 0)


def test_free_questions_are_all_asked_and_free_mistakes_never(database: Database) -> None:
    record(database, [(LiveSettings(), decided(COSTS, probabilities(300)))])
    assert effect(database, Costs(1, 1, -10)).would_ask == 300
    assert effect(database, Costs(1, 1, 1)).would_ask == 0


def test_free_questions_tell_nothing_of_the_value_of_an_answer(database: Database) -> None:
    free = Costs(1, 1, -10)
    record(database, [(LiveSettings(costs=free), decided(free, probabilities(300)))])
    assert effect(database, free) == CostEffect(300, 300, 300, 0)
    assert 0 < effect(database, COSTS).would_ask < 300


def test_decisions_count_with_the_costs_that_they_were_made_with(database: Database) -> None:
    first, second = decided(COSTS, probabilities(400)), decided(DEAR, probabilities(400))
    record(database, [(LiveSettings(), first), (LiveSettings(costs=DEAR), second)])
    asked = [sum(isinstance(decision, Ask) for decision in part) for part in (first, second)]
    assert asked[0] < asked[1]
    found = effect(database, DEAR)
    assert (found.decisions, found.asked) == (800, sum(asked))
    assert asked[1] + asked[0] < found.would_ask <= 800
    assert effect(database, DEAR, last=400) == CostEffect(400, asked[1], asked[1], 0)


def test_what_has_no_probability_stays_as_it_was(database: Database) -> None:
    likely = (Suggestion("a", 0.1, None, 0.99),)
    others: list[Decision] = [
        Ask(NoExamples()),
        Ask(Exploring("few")),
        Ask(Conflict(("a", "b")), likely),
        Guess("a", 0.1, "b", 0.2, (), 0.9),  # by the ratio of its distances to hulls
    ]
    record(database, [(LiveSettings(), others)])
    for costs in (COSTS, CHEAP, DEAR, Costs(1, 1, 1)):
        assert effect(database, costs) == CostEffect(4, 3, 3, 4)


@pytest.mark.parametrize("policy", ["ghc:0.8", "always-ask", "toy_desk_policy:Drifting"])
def test_other_policies_have_nothing_to_compare(database: Database, policy: str) -> None:
    with toy(database, policy) as desks:
        ask(desks, some_texts(12))
        answer_all(desks)
        ask(desks, ["a1 more", "b1 more", "c1 more"])
        desk = desks.row(NAME).id
        found = effect(database, DEAR, desk=desk)
        assert found.without_probability == found.decisions > 12
        assert found.would_ask == found.asked


def test_which_policies_the_costs_have_no_bearing_on() -> None:
    heeding = {name for name in POLICIES if not ignores_costs(name)}
    assert heeding == {"self-tuning"}
    assert ignores_costs("ghc:0.9")
    assert not ignores_costs("mine:Policy")  # nobody knows


@pytest.mark.parametrize("settings", [{}, {"mode": "shadow"}, {"audit_rate": 0.5}])
def test_at_a_desk_the_policys_own_decisions_count(database: Database, settings: dict[str, object]) -> None:
    with toy(database, "self-tuning", **settings) as desks:
        for start in range(0, 120, 20):
            ask(desks, some_texts(120)[start : start + 20])
            answer_all(desks)
        desk = desks.row(NAME).id
        with database.read() as connection:
            told = [e.payload for e in events_after(connection, desk) if e.kind == "decided"]
        first = [t for t in told if not t.get("again")]
        asked = sum(t["action"] == "ask" for t in first)
        assert 0 < asked < len(first)
        found = effect(database, COSTS, desk=desk)
        assert (found.decisions, found.asked, found.would_ask) == (len(first), asked, asked)
        assert 25 <= found.without_probability < len(first)
        assert found.in_shadow == (len(first) if "mode" in settings else 0)
        assert effect(database, DEAR, desk=desk).would_ask > asked
        desks.run(NAME, lambda desk: configure(desk, {"costs": DEAR, "mode": "live"}, ADMIN)).result()
        assert effect(database, COSTS, desk=desk) == found  # nothing was decided with those yet


def test_a_desk_without_decisions_and_odd_numbers_of_them(database: Database) -> None:
    record(database, [(LiveSettings(), [])])
    assert effect(database, DEAR) == CostEffect(0, 0, 0, 0)
    for last in (0, -1, 10**9):
        with pytest.raises(InvalidInput, match="decisions"):
            effect(database, DEAR, last=last)
