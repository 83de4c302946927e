"""The one thread of a process that changes a desk: operations in line, many to a transaction."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from askless.desk.live import again, snapshot
from askless.desk.live.begun import Begun
from askless.desk.live.bus import Bus
from askless.desk.live.desk import LiveDesk, find_desk
from askless.desk.live.intake import Submission, submit_all
from askless.errors import AsklessError, Unavailable, UnknownDesk
from askless.ledger.database import Database
from askless.ledger.ledger import DeskRow
from askless.types import Policy

T = TypeVar("T")

_MOST = 256  # operations to a transaction, each query counted as one: who is served first need not wait for the others
_SLICE = 0.01  # seconds of work of no hurry, before the next request is looked for
_REST = 0.02  # seconds between two such slices, so that the other threads come to their turn
_SNAPSHOT_EVERY = 5000  # events
_SNAPSHOT_AT_CLOSE = 500
_SNAPSHOT_PAUSE = 30.0  # seconds between two of them, so that many erasures one by one do not make one each
_LONGEST_REST = 60.0  # seconds
_MANY = 25  # changed examples after which the policy is made ready before the next request

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job:
    operation: Callable[[LiveDesk], Any]
    future: Future[Any] = field(default_factory=Future)


class _Wake:
    """Comes in line where another process has recorded something."""


_WAKE = _Wake()
_Item: TypeAlias = _Job | Submission
_Result: TypeAlias = tuple[_Item, Any, BaseException | None]


class DeskWorker:
    """Runs operations on a desk one after the other, and answers once what they did is durable.

    Operations that wait together share one transaction and one commit. Each has a savepoint: one that raises leaves
    nothing behind and does not trouble the others. Where the commit fails, nothing of all this was done: every caller
    is told so, and the state is read anew from the ledger before the next operation.
    """

    def __init__(
        self, database: Database, row: DeskRow, bus: Bus | None = None, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._database, self._bus, self._clock = database, bus or Bus(), clock
        self._desk = LiveDesk(database, row, clock)
        self._items: queue.SimpleQueue[_Item | _Wake | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self.gone = False  # whether the desk was deleted
        self._woken = False
        self._begun = Begun()
        self._ready_at = 0  # the changes of examples when the policy was last made ready
        self._snapshot_time = -_SNAPSHOT_PAUSE  # when the last snapshot was taken
        self._thread = threading.Thread(target=self._work, name=f"desk {row.name}", daemon=True)
        self._thread.start()

    @property
    def desk(self) -> int:
        """The desk's id."""
        return self._desk.row.id

    @property
    def embedder(self) -> str:
        """The name of the desk's embedder; blank until the desk is loaded."""
        return self._desk.settings.embedder if self._desk.loaded else ""

    @property
    def _policy(self) -> Policy | None:
        return self._desk.fold.policy if self._desk.loaded else None

    def run(self, operation: Callable[[LiveDesk], T]) -> Future[T]:
        """Have an operation run; the future is resolved once its transaction is committed, or has failed."""
        job = _Job(operation)
        self._put(job)
        return job.future

    def submit(self, submission: Submission) -> None:
        """Have queries taken in; the submission's own future is resolved as that of an operation."""
        self._begun.comes(submission, self._policy)
        self._put(submission)

    def wake(self, event: int | None = None) -> None:
        """Another process has recorded something, up to this event where that is known: read it soon."""
        if event is not None and event <= self._desk.fold.last_event:
            return
        with self._lock:
            if not self._closed:
                self._items.put(_WAKE)

    def close(self) -> None:
        """Finish what was handed in, write a snapshot where it is worth it, and end the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._items.put(None)
        self._thread.join()

    def _put(self, item: _Item) -> None:
        with self._lock:
            if not self._closed:
                self._items.put(item)
                return
        if item.future.set_running_or_notify_cancel():
            item.future.set_exception(Unavailable("The desk is being closed; try again in a moment."))

    # -- the thread ------------------------------------------------------------------------------------------------
    def _work(self) -> None:
        patience: float | None = None
        while True:
            items = self._take(patience)
            if items is None:
                self._rest(at_close=True)
                return
            if items:
                self._serve(items)  # which reads what other processes have recorded, too
                self._woken = False
            patience = self._rest()

    def _take(self, patience: float | None) -> list[_Item] | None:
        """What waits, up to so much; nothing where the time is up, None once the worker is closed and all is done."""
        items: list[_Item] = []
        wait, size = patience != 0.0, 0
        while size < _MOST:
            try:
                item = self._items.get(wait, patience if wait else None)
            except queue.Empty:
                break
            wait = False
            if item is None and items:
                self._items.put(None)  # after what was handed in before
                break
            if item is None:
                return None
            if isinstance(item, _Wake):
                self._woken = True
            else:
                items.append(item)
                size += len(item.queries) if isinstance(item, Submission) else 1
        return items

    def _serve(self, items: list[_Item]) -> None:
        """One transaction for all of them; the futures are resolved when it is over."""
        taken, items = items, [item for item in items if item.future.set_running_or_notify_cancel()]
        self._begun.served(taken, self._policy)
        results, failed = self._transaction(items)
        if isinstance(failed, UnknownDesk) and self._found_anew():
            results, failed = self._transaction(items)
        self.gone = isinstance(failed, UnknownDesk)
        if failed is None:
            self._bus.publish(self._desk.row.id, self._desk.fold.last_event)
            for item, result, refusal in results:
                _resolve(item, result, refusal)
        else:
            for item in items:
                _resolve(item, None, failed)
        for item in taken:
            if isinstance(item, Submission):
                item.ahead = None  # whatever came of it

    def _transaction(self, items: list[_Item]) -> tuple[list[_Result], Exception | None]:
        """What came of each of them, or why nothing of all this was done."""
        desk, results, failed = self._desk, list[_Result](), None
        try:
            if not desk.loaded:
                self._load()
            with self._database.desk(desk.row.id) as entry:
                desk.begin(entry)
                for group in _groups(items):
                    results += self._run(group)
                if desk.recorded:
                    entry.notify({"desk": desk.row.id, "event": desk.fold.last_event})
        except Exception as error:  # noqa: BLE001  (the callers are told, whatever it was; the thread lives on)
            failed = error
            desk.unload()
            if not isinstance(error, AsklessError):
                _log.exception("The desk %s failed.", desk.row.name)
        finally:
            desk.end()
        return results, failed

    def _found_anew(self) -> bool:
        """Whether there is another desk of that name by now; then it is the one to work at."""
        try:
            with self._database.read() as connection:
                row = find_desk(connection, self._desk.row.name)
        except AsklessError:
            return False
        self._desk = LiveDesk(self._database, row, self._clock)
        return True

    def _run(self, group: list[_Item]) -> list[_Result]:
        """One operation, or submissions side by side; where these fail together, one by one."""
        desk = self._desk
        desk.dirty = False
        try:
            with desk.entry.savepoint():
                found = _done(desk, group)
            if desk.fold.stale:
                desk.reload()
            return found
        except Exception as error:  # of one operation: its caller is told
            if desk.entry.lost is not None:
                raise
            if desk.dirty:
                desk.reload()
            if len(group) > 1:
                return [result for item in group for result in self._run([item])]
            if not isinstance(error, AsklessError):
                _log.exception("An operation on the desk %s failed.", desk.row.name)
            return [(group[0], None, error)]

    # -- what is in no hurry ---------------------------------------------------------------------------------------
    def _rest(self, *, at_close: bool = False) -> float | None:
        """Do a little of what waits for a quiet moment; in how many seconds to go on, None for when there is news."""
        desk = self._desk
        if not desk.loaded:
            return None
        try:
            if at_close:
                self._keep_snapshot(_SNAPSHOT_AT_CLOSE)
                return None
            if not self._items.empty():
                return 0.0
            waits = [self._keep_snapshot(_SNAPSHOT_EVERY, _SNAPSHOT_PAUSE)]
            if not self._items.empty():
                return 0.0
            if self._woken:
                self._woken = False
                if not desk.catch_up():
                    self._load()
                self._bus.publish(desk.row.id, desk.fold.last_event)
            if desk.fold.changes - self._ready_at >= _MANY:
                self._make_ready()
            again.take_back(desk)
            found = again.look(desk, _SLICE)
            if found:
                self._serve([_Job(lambda desk: again.act(desk, found))])
            waits += [again.take_back(desk), _REST if desk.due else None]
            wait = min((wait for wait in waits if wait is not None), default=None)
            return None if wait is None else min(max(wait, _REST), _LONGEST_REST)
        except Exception as error:  # noqa: BLE001  (the thread lives on, and reads the state anew)
            _log.warning("Work of no hurry on the desk %s failed: %r", desk.row.name, error)
            desk.unload()
            return None

    def _load(self) -> None:
        self._desk.load()
        self._make_ready()

    def _make_ready(self) -> None:
        """Have the policy compute now what it would compute at the next decision."""
        fold = self._desk.fold
        if len(fold.near):
            fold.policy.decide(fold.near.rows[-1])
        self._ready_at = fold.changes

    def _keep_snapshot(self, after: int, pause: float = 0.0) -> float | None:
        """Write a snapshot after so many events: a start that has to replay more of them takes seconds.

        Events count from the snapshot that stands, and all of them where none does. Where one is wanted so soon after
        the last, the seconds until it is to be written.
        """
        desk = self._desk
        if desk.fold.last_event - desk.fold.saved < after:
            return None
        wait = self._snapshot_time + pause - time.monotonic()
        if pause and wait > 0.0:
            return wait
        self._snapshot_time = time.monotonic()
        self._make_ready()
        taken = snapshot.take(desk.fold, desk.row.embedder)
        if taken is not None:
            with self._database.desk(desk.row.id) as entry:
                snapshot.store(entry, taken)
        desk.fold.saved = desk.fold.last_event
        return None


def _groups(items: list[_Item]) -> Iterator[list[_Item]]:
    """Operations one by one; submissions that follow each other together."""
    group: list[_Item] = []
    for item in items:
        if group and not (isinstance(item, Submission) and isinstance(group[-1], Submission)):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _done(desk: LiveDesk, group: list[_Item]) -> list[_Result]:
    submissions = [item for item in group if isinstance(item, Submission)]
    if not submissions:
        return [(item, item.operation(desk), None) for item in group if isinstance(item, _Job)]
    results: list[_Result] = []
    for submission, found in zip(submissions, submit_all(desk, submissions), strict=True):
        error = found if isinstance(found, AsklessError) else None
        results.append((submission, None if error else found, error))
    return results


def _resolve(item: _Item, result: Any, error: BaseException | None) -> None:
    if error is not None:
        item.future.set_exception(error)
    else:
        item.future.set_result(result)
