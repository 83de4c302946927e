"""How many questions are still to come, from how the questions have thinned out so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEAST = 200  # decisions before anything is said


def questions_to_come(asked: Sequence[bool], left: int) -> int | None:
    """About how many of the `left` texts will be asked, given which of the ones so far were; None if it is too early.

    Questions thin out as examples gather. With c questions among the first n texts and h among the first half of
    those, take c(m) = c (m / n)^b for the count after m texts, b = log2(c / h): b is 1 where questions come as often
    as before and 0 where they have stopped. Since h is small at first and noisy, b is held between 0 and 1, one
    question is added to each count, and nothing is said before 200 texts. Rounds in which the policy was exploring are
    not among them: they say how long it explores, and nothing of how often it asks afterwards.
    """
    n = len(asked)
    if n < _LEAST or left <= 0:
        return None if left > 0 else 0
    count, half = sum(asked) + 1, sum(asked[: n // 2]) + 1
    growth = min(1.0, max(0.0, math.log(count / half) / math.log(n / (n // 2))))
    expected: float = count * (((n + left) / n) ** growth - 1.0)
    return min(left, round(expected))
