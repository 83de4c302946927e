"""What other costs would have changed: the probabilities that were recorded, against the new costs, nothing relearned.

The policy guesses where (1 - p) (mistake + value of an answer) <= question, which is p >= needed with

    needed = 1 - question / (mistake + value)        so that        value = question / (1 - needed) - mistake

A question records p and `needed`; a guess records p alone, and is taken to have needed what the question before it
did (before any, what a policy needs at its start), but no more than its p. The value of an answer is L, the mean of
min(question, (1 - p) mistake) over decisions, times what does not depend on the costs: rounds to come, answers so far,
how surprising they were. So with other costs it is the old value times L with the new costs over L with the old ones,
and at most 25 questions, as for the policy.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from askless.desk.decisions import read
from askless.desk.live.renamings import of_desk
from askless.desk.live.types import Mode
from askless.errors import InvalidInput
from askless.ledger import schema
from askless.ledger.events import CONFIGURED, DECIDED
from askless.types import Ask, Costs, Decision, TooUncertain

_e = schema.events.c
_MOST = 100_000  # decisions, each read from its event
_FIRST_VALUE = 2.0  # questions: what an answer is worth to a policy that has seen too little to tell
_HIGHEST_VALUE = 25.0


@dataclass(frozen=True, slots=True)
class CostEffect:
    """Of the last `decisions`, how many the policy `asked`, and how many it would have asked with other costs.

    `without_probability` of them hold no probability that costs could be compared with, and count as they were: the
    first ones of a desk, conflicts between experts, guesses by hulls, questions where these disagree with a guess, and
    all of a policy other than SelfTuning.
    `in_shadow` of them were made in shadow mode, where the desk asked whatever the policy had decided.
    """

    decisions: int
    asked: int
    would_ask: int
    without_probability: int
    in_shadow: int = 0


@dataclass(frozen=True, slots=True)
class _Told:
    """What a decision says of itself: whether it asked, and how sure the policy was, with which costs."""

    asked: bool
    costs: Costs
    probability: float | None
    needed: float | None  # of questions alone
    in_shadow: bool


def effect_of_costs(connection: Connection, desk: int, costs: Costs, *, last: int = 1000) -> CostEffect:
    """What these costs would have changed about the policy's last decisions, from what was recorded with each.

    What counts is the policy's own decision when a query came, also where the desk asked all the same: in shadow
    mode, or to audit. Nothing is relearned: a desk that asks less learns less, and would ask more later, so this is
    the effect at first. With the costs that the decisions were made with, it is what was asked.
    """
    if not 1 <= last <= _MOST:
        raise InvalidInput(f"The effect of costs is that on the last 1 to {_MOST:,} decisions; found {last}.")
    told = _told(connection, desk, last)
    known = [one.probability for one in told if one.probability is not None]
    losses = {each: _loss(each, known) for each in {costs, *(one.costs for one in told)}}
    would_ask = sum(_would_ask(one, needed, costs, losses) for one, needed in zip(told, _needed(told), strict=True))
    asked, in_shadow = sum(one.asked for one in told), sum(one.in_shadow for one in told)
    return CostEffect(len(told), asked, would_ask, len(told) - len(known), in_shadow)


def _told(connection: Connection, desk: int, last: int) -> list[_Told]:
    """The last decisions of a desk in their order; those on tickets that waited are none of their own."""
    first = _e.payload["again"].as_string().is_(None)
    found = select(_e.id, _e.payload).where(_e.desk == desk, _e.kind == DECIDED, first)
    rows = connection.execute(found.order_by(_e.id.desc()).limit(last)).all()[::-1]
    changes = connection.execute(select(_e.id, _e.payload).where(of_desk(desk, CONFIGURED)))
    settings = {
        id: (Costs(**told["costs"]), _tunes_itself(told["policy"]), told.get("mode") == Mode.SHADOW)
        for id, told in changes
    }
    events = sorted(settings)
    return [_read(read(payload), *settings[events[bisect_left(events, id) - 1]]) for id, payload in rows]


def _read(decision: Decision, costs: Costs, tuned: bool, shadow: bool) -> _Told:
    if isinstance(decision, Ask):
        if tuned and isinstance(decision.reason, TooUncertain):
            return _Told(True, costs, decision.reason.probability, decision.reason.needed, shadow)
        return _Told(True, costs, None, None, shadow)
    by_hulls = decision.ratio > 0.0  # a ratio of distances decided it: its probability is the least that was needed
    return _Told(False, costs, decision.probability if tuned and not by_hulls else None, None, shadow)


def ignores_costs(policy: str) -> bool:
    """Whether the costs have no bearing on what that policy decides; of one from outside of askless nobody knows."""
    return _follows_costs(policy) is False


def _tunes_itself(policy: str) -> bool:
    return _follows_costs(policy) is True


def _follows_costs(policy: str) -> bool | None:
    """Whether that is SelfTuning, the one policy whose decisions follow from a probability and the costs.

    None for a policy from outside of askless.
    """
    from askless.policies.named import policy_class
    from askless.policies.self_tuning import SelfTuning

    try:
        return issubclass(policy_class(policy.partition(":")[0].strip()), SelfTuning)
    except InvalidInput:
        return None


def _needed(told: Sequence[_Told]) -> Iterator[float]:
    """The probability that each decision needed: as recorded, or as the last question with the same costs says."""
    needed, before = 0.0, None
    for one in told:
        if one.costs != before:
            before = one.costs
            dearest = before.mistake + _FIRST_VALUE * before.question
            needed = 1.0 - before.question / dearest if dearest else 0.0
        if one.needed is not None:
            needed = one.needed
        yield needed


def _would_ask(one: _Told, needed: float, costs: Costs, losses: Mapping[Costs, float]) -> bool:
    p = one.probability
    if p is None or math.isclose(_share(costs), _share(one.costs), rel_tol=1e-12):
        return one.asked
    dearest = costs.mistake + _value(one.costs, needed if one.asked else min(needed, p), costs, losses)
    return (1.0 - p) * dearest > costs.question


def _share(costs: Costs) -> float:
    """All that a decision depends on: the policy is the same whatever unit the costs are in."""
    return costs.question / costs.mistake if costs.mistake else math.inf


def _value(before: Costs, needed: float, costs: Costs, losses: Mapping[Costs, float]) -> float:
    """What an answer would be worth with `costs`, where with those from before `needed` was needed."""
    if needed >= 1.0 or not losses[before]:  # nothing tells what it was worth
        return _FIRST_VALUE * costs.question
    value = max(before.question / (1.0 - needed) - before.mistake, 0.0)
    return min(value * losses[costs] / losses[before], _HIGHEST_VALUE * costs.question)


def _loss(costs: Costs, known: Sequence[float]) -> float:
    """The mean expected cost of a decision, where the cheaper of a question and a guess is taken."""
    return sum(min(costs.question, (1.0 - p) * costs.mistake) for p in known) / max(len(known), 1)
