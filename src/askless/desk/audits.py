"""The error rate of the guesses, measured by asking about some of them as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Wrong guesses among those audited, and the interval that holds the true rate at 95 per cent or more."""

    audited: int
    wrong: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share of the audited guesses that were wrong."""
        return self.wrong / self.audited


def error_rate(audited: int, wrong: int, confidence: float = 0.95) -> ErrorRate | None:
    """The measured error rate with the interval of Clopper and Pearson; None where nothing was audited.

    That interval is exact: whatever the true rate is, it is covered with at least this confidence, for few audits
    too. The price is that it is somewhat wide.
    """
    if not audited:
        return None
    from scipy.stats import binomtest

    interval = binomtest(wrong, audited).proportion_ci(confidence, method="exact")
    return ErrorRate(audited, wrong, float(interval.low), float(interval.high))


def is_audited(query: int, rate: float) -> bool:
    """Whether a guess on this query is audited: drawn at the rate, by the query alone, so the same after a restart."""
    return rate > 0.0 and bool(np.random.default_rng([0xA0D17, query]).random() < rate)
