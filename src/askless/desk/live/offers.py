"""The labels that a ticket offers to the expert, as the desk sees it when it is shown."""

from __future__ import annotations

import math

from askless.desk.live import read
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import Offer
from askless.desk.questions import offered
from askless.types import Suggestion


def offers_of(desk: LiveDesk, query: int) -> tuple[Offer, ...]:
    """The labels to offer for a waiting query, best first.

    At a desk where answers measure the policy nothing may tell a guess from another ticket, nor name it first: as
    many labels, in the order of their names, without probabilities.
    """
    waiting = desk.fold.waiting.get(query)
    if waiting is None or waiting.vector is None:
        return ()
    decision = desk.fold.policy.decide(waiting.vector)
    found = offered(waiting.vector, decision, desk.fold.near)
    examples = read.evidence(desk.entry.connection, [s.example for s in found if isinstance(s.example, int)])
    blind = desk.settings.blind
    offers = [_offer(desk, s, None if s.example is None else examples.get(s.example), blind) for s in found]
    if blind:
        return tuple(sorted(offers, key=lambda o: o.label.casefold()))
    return tuple(offers)


def _offer(desk: LiveDesk, suggestion: Suggestion, example: read.Support | None, blind: bool) -> Offer:
    label = str(suggestion.label)
    known = desk.fold.labels.get(label)
    distance = suggestion.distance if math.isfinite(suggestion.distance) and not blind else None
    return Offer(
        label,
        None if known is None else known.answer,
        None if example is None else example.text,
        distance,
        None if blind else suggestion.probability,
    )
