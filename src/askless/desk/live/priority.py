"""Which ticket is the most useful to answer: the one whose label is least certain.

In steps of a tenth, so that among tickets that teach about as much the oldest comes first. Audits stand where most
questions of a desk that has learned something stand: they wait no longer than those, and their place does not give
them away. Complaints come first, since somebody has a wrong answer in hands.
"""

from __future__ import annotations

from askless.types import Ask, Decision

UNKNOWN = 1.0  # nothing is known of it
AUDIT = 0.9
FEEDBACK = 2.0


def priority_of(decision: Decision | None) -> float:
    """The priority of a query that is asked because of this decision, or, without one, of its unknown words."""
    probability = None
    if isinstance(decision, Ask):
        known = [p for s in decision.suggestions if (p := (tuple(s) + (None,) * 4)[3]) is not None]
        probability = max(known, default=None)
    elif decision is not None:
        return AUDIT
    return UNKNOWN if probability is None else round(1.0 - float(probability), 1)
