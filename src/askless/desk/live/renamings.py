"""What labels that old events name are called by now, in Python and in SQL."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, false, literal, or_, select

from askless.ledger import schema
from askless.ledger.events import LABEL_DELETED, MERGED, RENAMED

_e = schema.events.c


def of_desk(desk: int, *kinds: str) -> ColumnElement[bool]:
    """The events of these kinds that concern the desk and no query of it: few, and found by their index."""
    # Plus zero, so that SQLite does not go through all events of the desk: to it both indexes look equally good.
    return and_(_e.query.is_(None), _e.desk + 0 == desk, _e.kind.in_(kinds))


class Renamings:
    """The labels of a desk that were renamed or merged; with `deletions` also those that were deleted.

    Without them a deleted label keeps its name, as the queries do that were answered with it.
    """

    def __init__(self, connection: Connection, desk: int, *, deletions: bool) -> None:
        kinds = (RENAMED, MERGED, LABEL_DELETED) if deletions else (RENAMED, MERGED)
        found = connection.execute(select(_e.id, _e.payload).where(of_desk(desk, *kinds)))
        self._changes: list[tuple[int, str, str | None]] = sorted(
            (id, told["label"], told.get("to", told.get("into"))) for id, told in found
        )

    def now(self, label: str | None, since: int) -> str | None:
        """What the label that an event named is called by now; None where it was deleted."""
        for event, old, new in self._changes:
            if event > since and label == old:
                label = new
        return label

    def period(self, event: Any) -> ColumnElement[int]:
        """The last change before an event, or 0: a label that it named is `now(label, period)` by now."""
        if not self._changes:
            return literal(0)
        starts = [0, *(id for id, _, _ in self._changes)]
        cases = [(event < end, start) for start, end in pairwise(starts)]
        return case(*cases, else_=starts[-1])

    def is_now(self, named: Any, event: Any, label: str) -> ColumnElement[bool]:
        """Whether what an event named is called `label` by now."""
        names = {label, *(old for _, old, _ in self._changes)}
        ways = []
        for start in (0, *(id for id, _, _ in self._changes)):
            then = [name for name in names if self.now(name, start) == label]
            if then:
                ways.append(and_(self.period(event) == start, named.in_(then)))
        return or_(false(), *ways)
