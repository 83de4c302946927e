"""A plausible week at a support desk: what the pictures of the pages are taken of.

The sample's questions come in over seven days, mostly by day; two experts answer with the sample's own labels after a
few minutes each, and a tenth of the guesses is audited. The same seed gives the same questions at the same moments.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from askless.datasets.sample import support_questions
from askless.desk.live import labels, tickets
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery
from askless.desk.sample import ANSWERS, LEFT_OUT

EXPERTS = ("alma", "jonas")
ASKERS = ("web form", "app", "e-mail")
DAYS = 7
BUSY = np.array([1, 1, 1, 1, 1, 2, 4, 8, 14, 16, 15, 14, 12, 13, 14, 13, 12, 11, 9, 8, 7, 5, 3, 2], dtype=float)
MINUTES = 4.0  # until an expert looks at a question, in the median
UNWATCHED = timedelta(minutes=50)  # before the end: what was asked then still waits


@dataclass
class Clock:
    """A time that stands until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        """The time."""
        return self.now


def played_week(
    desks: Desks,
    desk: str,
    clock: Clock,
    *,
    end: datetime,
    questions: int = 840,
    audit_rate: float = 0.1,
    seed: int = 0,
) -> None:
    """Make the desk with its labels, which have no examples yet, and play the week up to `end` into it.

    The desks must have been opened with that clock, which is moved on from one happening to the next.
    """
    rng = np.random.default_rng(seed)
    clock.now = end - timedelta(days=DAYS, hours=2)
    desks.create(desk, LiveSettings(audit_rate=audit_rate), "admin")
    desks.run(desk, _make_labels).result()
    texts, truth = support_questions()
    order = [int(k) for k in rng.permutation(len(texts))[:questions]]
    happenings: list[tuple[datetime, int, int]] = []  # when, which question, or -1 where an expert looks
    for place, (at, k) in enumerate(zip(_moments(end, len(order), rng), order, strict=True)):
        heapq.heappush(happenings, (at, place, k))
        looked = at + timedelta(minutes=float(MINUTES * rng.lognormal(0.0, 0.9)))
        if looked < end - UNWATCHED:
            heapq.heappush(happenings, (looked, place, -1))
    answers = dict(zip(texts, truth, strict=True))
    while happenings:
        clock.now, place, k = heapq.heappop(happenings)
        if k < 0:
            _look(desks, desk, EXPERTS[place % len(EXPERTS)], answers)
        else:
            query = NewQuery(f"q{place:04d}", texts[k])
            desks.submit(desk, [query], ASKERS[place % len(ASKERS)]).result()
    clock.now = end


def _make_labels(live: LiveDesk) -> None:
    for label, answer in ANSWERS.items():
        labels.create(live, label, answer, "admin")


def _moments(end: datetime, count: int, rng: np.random.Generator) -> list[datetime]:
    """When the questions come: more by day than by night, and a few right before the end."""
    hours = [end.replace(minute=0, second=0, microsecond=0) - timedelta(hours=h) for h in range(DAYS * 24)]
    weights = np.array([BUSY[hour.astimezone(UTC).hour] * (0.4 if hour.weekday() >= 5 else 1.0) for hour in hours])
    chosen = rng.choice(len(hours), size=count - 40, p=weights / weights.sum())
    found = [hours[h] + timedelta(seconds=float(rng.uniform(0, 3600))) for h in chosen]
    found += [end - timedelta(seconds=float(rng.uniform(30, 3000))) for _ in range(40)]
    return sorted(min(at, end - timedelta(seconds=20)) for at in found)


def _look(desks: Desks, desk: str, expert: str, truth: dict[str, str]) -> None:
    """An expert answers what is most useful, where something waits."""

    def answer(live: LiveDesk) -> None:
        ticket = tickets.next_ticket(live, expert)
        if ticket is not None and ticket.text is not None:
            label = truth[ticket.text]
            tickets.answer(live, ticket.id, label, expert, answer=LEFT_OUT.get(label))

    desks.run(desk, answer).result()
