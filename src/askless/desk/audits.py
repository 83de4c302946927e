"""The error rate of the guesses, measured by asking about some of them as well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from askless.desk.cases import Case, Status


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Wrong guesses among those audited, and the interval that holds the true rate at 95 per cent or more.

    It speaks of the `covered` guesses, from which the audits were drawn, and not of the `others`.
    """

    audited: int
    wrong: int
    low: float
    high: float
    covered: int = 0
    others: int = 0

    @property
    def rate(self) -> float:
        """The share of the audited guesses that were wrong."""
        return self.wrong / self.audited


def error_rate(
    audited: int, wrong: int, confidence: float = 0.95, *, covered: int = 0, others: int = 0
) -> ErrorRate | None:
    """The measured error rate with the interval of Clopper and Pearson; None where nothing was audited.

    That interval is exact: whatever the true rate is, it is covered with at least this confidence, for few audits
    too. The price is that it is somewhat wide.
    """
    if not audited:
        return None
    from scipy.stats import binomtest

    interval = binomtest(wrong, audited).proportion_ci(confidence, method="exact")
    return ErrorRate(audited, wrong, float(interval.low), float(interval.high), covered, others)


def awaits_audit(case: Case, rate: float) -> bool:
    """Whether a guess from before there were audits, or from when they were fewer, is to be audited at this rate."""
    open_to_it = case.status is Status.GUESSED and not case.audited and case.drawn < rate
    return open_to_it and is_audited(case.query.id, rate)


def coverage(cases: Iterable[Case], rate: float) -> tuple[int, int]:
    """How many guesses the audits were drawn from, the audited ones among them, and how many they were not.

    Guesses from before there were audits count as drawn from up to the first that is still to be audited.
    """
    covered = others = 0
    late = rate > 0.0  # until the first that awaits its audit
    for case in cases:
        late = late and not awaits_audit(case, rate)
        if case.audited or case.drawn or (late and case.status is Status.GUESSED):
            covered += 1
        elif case.status in (Status.GUESSED, Status.FORCED):
            others += 1
    return covered, others


def is_audited(query: int, rate: float) -> bool:
    """Whether a guess on this query is audited: drawn at the rate, by the query alone, so the same after a restart."""
    return rate > 0.0 and bool(np.random.default_rng([0xA0D17, query]).random() < rate)
