"""Texts to vectors beside the desks' workers: a thread for each embedder, which takes all that waits at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.desk.live.intake import ReadyQuery, Submission, ready
from askless.embed.run import embed_texts
from askless.errors import Unavailable
from askless.types import Embedder

_MOST = 64  # submissions embedded together


@dataclass(slots=True)
class _Task:
    submission: Submission
    forward: Callable[[Submission], None]


class EmbeddingThread:
    """Embeds the texts of submissions and passes these on; one that cannot be embedded fails by itself."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._make: Future[Embedder] = Future()
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, args=(make,), name="askless-embedder", daemon=True)
        self._thread.start()

    @property
    def embedder(self) -> Embedder:
        """The embedder, once it is made; or the error that kept it from being made."""
        return self._make.result()

    @property
    def failed(self) -> bool:
        """Whether the embedder could not be made."""
        return self._make.done() and self._make.exception() is not None

    def put(self, submission: Submission, forward: Callable[[Submission], None]) -> None:
        """Make the queries ready, embed the texts that have no vector yet, then call `forward`."""
        with self._lock:
            if not self._closed:
                self._tasks.put(_Task(submission, forward))
                return
        submission.fail(Unavailable("The desks are being closed; try again in a moment."))

    def close(self) -> None:
        """Finish what waits, and end the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._tasks.put(None)
        self._thread.join()

    def _work(self, make: Callable[[], Embedder]) -> None:
        try:
            self._make.set_result(make())
        except Exception as error:  # noqa: BLE001  (whatever it is, who wants the embedder is told)
            self._make.set_exception(error)
        while self._embed_next():
            pass

    def _embed_next(self) -> bool:
        """Embed what waits; False once there is nothing more to come. No text is kept here while nothing waits."""
        task = self._tasks.get()
        if task is None:
            return False
        tasks = [task]
        while len(tasks) < _MOST:
            try:
                more = self._tasks.get_nowait()
            except queue.Empty:
                break
            if more is None:
                self._tasks.put(None)
                break
            tasks.append(more)
        if tasks := [task for task in tasks if _is_ready(task.submission)]:
            self._embed(tasks)
        return True

    def _embed(self, tasks: list[_Task]) -> None:
        try:
            self._fill([task.submission for task in tasks])
        except Exception as error:  # noqa: BLE001  (whatever an embedder raises, its callers are told)
            if len(tasks) > 1:  # one bad text is not to fail the others
                for task in tasks:
                    self._embed([task])
            else:
                tasks[0].submission.fail(error)
            return
        for task in tasks:
            try:
                task.forward(task.submission)
            except Exception as error:  # noqa: BLE001  (the thread lives on)
                task.submission.fail(error)

    def _fill(self, submissions: list[Submission]) -> None:
        embedder = self.embedder
        for submission in submissions:
            submission.embedder, submission.dim = embedder.id, embedder.dim
        texts = [q.text for s in submissions for q in s.queries if q.vector is None and q.text is not None]
        vectors = iter(_vectors(embed_texts(embedder, texts))) if texts else iter(())
        for submission in submissions:
            submission.queries = [
                ReadyQuery(query.key, query.text, next(vectors))
                if query.vector is None and query.text is not None
                else query
                for query in submission.queries
            ]


def _vectors(rows: NDArray[np.float32]) -> list[NDArray[np.float32] | None]:
    """Each row by itself, which the others do not keep in memory; None where the embedder knows nothing of a text."""
    unknown = set(np.flatnonzero(np.isnan(rows).any(axis=1)).tolist())
    return [None if k in unknown else row.copy() for k, row in enumerate(rows)]


def _is_ready(submission: Submission) -> bool:
    """Whether the queries can be kept, now made ready; of one that cannot, its caller is told."""
    try:
        submission.queries = [ready(query) for query in submission.queries]
    except Exception as error:  # noqa: BLE001  (as an embedder's: the thread lives on)
        submission.fail(error)
        return False
    return True
