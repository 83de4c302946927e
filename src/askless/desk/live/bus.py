"""Who wants to know that something has happened at a desk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

Callback: TypeAlias = Callable[[int, int], None]  # the desk's id, and the id of its newest event

_log = logging.getLogger(__name__)


class Bus:
    """Calls back after every commit, in this process or another, with the desk and its newest event.

    A callback runs in the thread of a desk's worker, or in the one that listens to other processes: it is to be quick,
    and to hand over to its own thread or loop. No news is told twice, nor after newer ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callback] = {}
        self._next = 0
        self._newest: dict[int, int] = {}

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Have it called from now on; what this returns ends that."""
        with self._lock:
            number = self._next
            self._next += 1
            self._callbacks[number] = callback

        def unsubscribe() -> None:
            with self._lock:
                self._callbacks.pop(number, None)

        return unsubscribe

    def publish(self, desk: int, event: int) -> None:
        """Tell everyone, unless they know already."""
        with self._lock:
            if event <= self._newest.get(desk, 0):
                return
            self._newest[desk] = event
            callbacks = list(self._callbacks.values())
        for callback in callbacks:
            try:
                callback(desk, event)
            except Exception:  # noqa: BLE001  (one that fails is not to keep the news from the others)
                _log.exception("A callback that wants to know of events failed.")
