"""Another embedder for a desk: all stored texts are embedded in the background, then the desk is switched at once.

The desk works with the old embedder until then. Vectors of the new one gather in `new_vectors`, under a row of `jobs`
that says how far the work is; so it goes on after a restart, and a failure leaves everything as it was. Queries that
come in meanwhile are caught up with before the switch.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, select

from askless.desk.live import switch
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import Progress
from askless.desk.live.switch import Job, JobStatus
from askless.embed.cache import EmbeddingCache
from askless.embed.run import embed_texts
from askless.errors import AsklessError, Unavailable, Unknown, UnknownDesk
from askless.ledger import schema

_BLOCK = 256  # texts between two entries of progress
_RETRY_SECONDS = 1.0

_queries, _jobs = schema.queries, schema.jobs


def start(desks: Desks, name: str, spec: str, who: str | None, *, forget_vectors: bool = False) -> Job:
    """Begin a job; `work` or `Reembedding` does it.

    Examples and open questions that came as vectors alone have no text to embed. Where there are some, the job is
    refused unless `forget_vectors` says that the examples may be forgotten, and that nothing need be learned from the
    answers to the questions.
    """
    made_by = desks.embedder(spec).id  # one that cannot be had is refused before anything is written
    return desks.run(name, lambda desk: switch.start(desk, spec, made_by, who, forget_vectors)).result()


def cancel(desks: Desks, name: str, job: int, who: str | None) -> Job:
    """End a job before its switch: the desk keeps its embedder. One that has ended stays as it is."""
    return desks.run(name, lambda desk: switch.end(desk, job, JobStatus.CANCELLED, f"cancelled by {who}")).result()


def jobs(connection: Connection, desk: int) -> list[Job]:
    """All jobs of a desk, the newest first."""
    mine = select(_jobs).where(_jobs.c.desk == desk, _jobs.c.kind == switch.KIND).order_by(_jobs.c.id.desc())
    return [switch.as_job(row) for row in connection.execute(mine)]


def find(connection: Connection, desk: int, job: int) -> Job:
    """One job of a desk."""
    return switch.as_job(switch.row_of(connection, desk, job))


def work(
    desks: Desks, name: str, job: int, *, stop: threading.Event | None = None, progress: Progress | None = None
) -> Job:
    """Do the job, or go on with it, until the desk is switched; where `stop` is set, until the block at hand is done.

    Where another process is at work on it, it is left to that one; who leaves it unfinished, for whatever reason, says
    so, and another may go on at once. An embedder that fails ends the job, with the reason in it; a database that
    cannot be reached is waited for.
    """
    stop, token = stop or threading.Event(), secrets.token_hex(8)
    try:
        _work(desks, name, job, token, stop, progress)
    finally:
        with suppress(AsklessError):
            desks.run(name, lambda desk: switch.release(desk, job, token)).result()
    return _now(desks, name, job)


def _work(
    desks: Desks, name: str, job: int, token: str, stop: threading.Event, progress: Progress | None = None
) -> None:
    now = _now(desks, name, job)
    while now.status is JobStatus.RUNNING and not stop.is_set():
        try:
            mine = desks.run(name, lambda desk: switch.claim(desk, job, token)).result()
            if not mine:
                break
            _step(desks, name, now)
            now = _now(desks, name, job)
            if progress is not None:
                progress(now.done, now.total)
        except Unavailable:
            stop.wait(_RETRY_SECONDS)
        except UnknownDesk:
            raise
        except AsklessError as error:
            why = str(error)
            now = desks.run(name, lambda desk: switch.end(desk, job, JobStatus.FAILED, why)).result()  # noqa: B023


def _step(desks: Desks, name: str, job: Job) -> None:
    """Embed one block; or, where few texts are left, those and the switch."""
    embedder = desks.embedder(job.embedder)
    with desks.database.read() as connection:
        block = switch.left(connection, job, _BLOCK)
    if len(block) <= switch.LAST:
        desks.run(name, lambda desk: switch.switch(desk, job.id, embedder)).result()
        return
    texts = [text for _, text in block]
    vectors = embed_texts(embedder, texts)
    kept = desks.run(name, lambda desk: switch.store(desk, job.id, [id for id, _ in block], vectors)).result()
    erased = [text for id, text in block if id not in kept]
    if erased:  # while they were embedded, which may have put them into the cache again
        with EmbeddingCache() as cache:
            cache.forget(erased)


def _now(desks: Desks, name: str, job: int) -> Job:
    with desks.database.read() as connection:
        return find(connection, desks.row(name).id, job)


class Reembedding:
    """The jobs of a service, each in a thread of its own.

    `resume` takes up what another process left unfinished; call it now and then, since one that was killed cannot say
    that it has left. `close` lets each thread end its block, and the next process goes on from there.
    """

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._under_way: set[int] = set()  # jobs that have a thread here
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="askless-reembed")

    def start(self, name: str, spec: str, who: str | None, *, forget_vectors: bool = False) -> Job:
        """Begin a job and do it in the background."""
        job = start(self._desks, name, spec, who, forget_vectors=forget_vectors)
        self._submit(name, job.id)
        return job

    def resume(self) -> list[Job]:
        """Give the jobs that run a thread each, where they have none; these. One that another is at work on ends it."""
        names = {row.id: row.name for row in self._desks.rows()}
        with self._desks.database.read() as connection:
            found: Sequence[Job] = [job for desk in names for job in jobs(connection, desk)]
        running = [job for job in found if job.status is JobStatus.RUNNING]
        return [job for job in running if self._submit(names[job.desk], job.id)]

    def close(self) -> None:
        """Return once the threads have ended their blocks."""
        with self._lock:
            self._stop.set()
        self._threads.shutdown(wait=True)

    def _submit(self, name: str, job: int) -> bool:
        """Give a job a thread, unless it has one already; whether it got one."""
        with self._lock:
            if job in self._under_way or self._stop.is_set():
                return False
            self._under_way.add(job)
            future: Future[Job] = self._threads.submit(work, self._desks, name, job, stop=self._stop)
        future.add_done_callback(lambda done: self._ended(name, job, done))
        return True

    def _ended(self, name: str, job: int, done: Future[Any]) -> None:
        """What an embedder raised that is no error of askless ends the job as well."""
        with self._lock:
            self._under_way.discard(job)
        error = None if done.cancelled() else done.exception()
        if error is not None and not isinstance(error, (Unknown, Unavailable)):  # the latter: `resume` tries again
            why = f"{type(error).__name__}: {error}"
            self._desks.run(name, lambda desk: switch.end(desk, job, JobStatus.FAILED, why)).result()
