"""Which of the submissions that wait for a desk is begun with, while the desk is busy with another."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from askless.desk.live.intake import Submission
from askless.types import Policy


class Begun:
    """One submission at a time is begun ahead, the first that waits: more would hold up the desk's own work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one: Submission | None = None
        self._waiting: dict[int, Submission] = {}  # by its id in memory

    def comes(self, submission: Submission, policy: Policy | None) -> None:
        """It is about to be handed in: it is begun at once, where no other is."""
        if not submission.is_large:
            return
        with self._lock:
            if self._one is not None or policy is None:
                self._waiting[id(submission)] = submission
                return
            self._one = submission
        submission.look_ahead(policy)

    def served(self, items: Iterable[object], policy: Policy | None) -> None:
        """The desk takes these up now: the next that waits is begun."""
        with self._lock:
            for item in items:
                self._waiting.pop(id(item), None)
                if item is self._one:
                    self._one = None
            if self._one is not None or policy is None or not self._waiting:
                return
            self._one = submission = self._waiting.pop(next(iter(self._waiting)))
        submission.look_ahead(policy)
