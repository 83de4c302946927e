"""All desks of a database in one process: opened when they are first wanted."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection, delete, insert, select

from askless.desk.live.bus import Bus
from askless.desk.live.desk import LiveDesk, find_desk, live_desks
from askless.desk.live.embedding import EmbeddingThread
from askless.desk.live.intake import Submission
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery, Outcome
from askless.desk.live.watch import Watch
from askless.desk.live.worker import DeskWorker
from askless.embed.cache import CachedEmbedder, EmbeddingCache
from askless.embed.named import make_embedder
from askless.errors import Conflicting, InvalidInput, Unavailable
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.events import CONFIGURED
from askless.ledger.ledger import DeskRow
from askless.types import Embedder

T = TypeVar("T")

_FAST = "wordllama"  # quicker than a look into the cache
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_table = schema.desks


class Desks:
    """The desks of a ledger: made and deleted, and asked to do things, each by its own worker.

    With `listen` what other processes record reaches this one within a second: it is applied to the desks that are
    open here, and told on the `bus`. `clock` and `embedders` are for tests.
    """

    def __init__(
        self,
        database: Database,
        *,
        listen: bool = True,
        clock: Callable[[], datetime] | None = None,
        embedders: Callable[[str], Embedder] = make_embedder,
    ) -> None:
        self.database = database
        self.bus = Bus()
        self._clock, self._make_embedder = clock, embedders
        self._lock = threading.RLock()
        self._workers: dict[str, DeskWorker] = {}
        self._embedders: dict[str, EmbeddingThread] = {}
        self._closed = False
        self._watch = Watch(database, self._heard) if listen else None

    # -- desks -----------------------------------------------------------------------------------------------------
    def rows(self) -> list[DeskRow]:
        """All desks of the service, in the order of their names."""
        with self.database.read() as connection:
            found = connection.execute(live_desks().order_by(_table.c.name)).all()
        return [DeskRow(row.id, row.name, row.embedder) for row in found]

    def row(self, name: str) -> DeskRow:
        """The desk of that name."""
        with self.database.read() as connection:
            return find_desk(connection, name)

    def create(self, name: str, settings: LiveSettings, who: str | None) -> DeskRow:
        """A new desk; refused where the name is taken, or its policy or embedder cannot be had."""
        name = desk_name(name)
        settings.make_policy()
        embedder = self.embedder(settings.embedder)
        at = datetime.now(UTC) if self._clock is None else self._clock()
        with self.database.write() as connection:
            if connection.execute(select(_table.c.id).where(_table.c.name == name)).scalar() is not None:
                raise Conflicting(f"There is a desk {name!r} already; choose another name.")
            row = {"name": name, "embedder": embedder.id, "created_at": at}
            id = connection.execute(insert(_table).returning(_table.c.id), row).scalar_one()
            event = {"desk": id, "kind": CONFIGURED, "at": at, "who": who, "payload": settings.written()}
            connection.execute(insert(schema.events), event)
        return DeskRow(id, name, embedder.id)

    def delete(self, name: str, who: str | None) -> None:
        """Delete a desk and all that belongs to it; it cannot be taken back."""
        row = self.row(name)
        with self._lock:
            worker = self._workers.pop(name, None)
        if worker is not None:
            worker.close()
        with self.database.desk(row.id) as entry:
            _delete_all(entry.connection, row.id)
        logging.getLogger(__name__).info("The desk %s was deleted by %s.", name, who)

    # -- operations ------------------------------------------------------------------------------------------------
    def run(self, name: str, operation: Callable[[LiveDesk], T]) -> Future[T]:
        """Have an operation run by the desk's worker; the future is resolved once what it did is durable."""
        return self._worker(name).run(operation)

    def submit(self, name: str, queries: Sequence[NewQuery], who: str | None) -> Future[list[Outcome]]:
        """Take in queries: texts are embedded first, then each is decided in turn."""
        submission = Submission(list(queries), who)
        worker = self._worker(name)
        spec = worker.embedder  # once: a worker that fails has none until it is loaded anew

        def go_on(opened: Future[None] | None = None) -> None:
            error = None if opened is None else opened.exception()
            if error is not None:
                submission.fail(error)
                return
            try:
                if not (named := spec or worker.embedder):
                    raise Unavailable("The desk is being loaded anew; try again in a moment.")
                self._embedding(named).put(submission, worker.submit)
            except Unavailable as closed:
                submission.fail(closed)

        if spec:
            go_on()
        else:
            worker.run(lambda desk: None).add_done_callback(go_on)  # which opens the desk
        return submission.future

    def embedder(self, spec: str) -> Embedder:
        """The embedder of that name, made once for all desks; slow ones look into the cache first."""
        return self._embedding(spec).embedder

    def close(self) -> None:
        """Finish what was handed in, and end all threads; the database stays open."""
        with self._lock:
            self._closed = True
            embedders, self._embedders = list(self._embedders.values()), {}
        if self._watch is not None:
            self._watch.close()
        for thread in embedders:
            thread.close()
        for worker in list(self._workers.values()):
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- parts -----------------------------------------------------------------------------------------------------
    def _worker(self, name: str) -> DeskWorker:
        """The worker of a desk, which is started where there is none, or where the desk was deleted and made anew."""
        worker = self._workers.get(name)
        if worker is not None and not worker.gone:
            return worker
        row = self.row(name)
        with self._lock:
            self._check_open()
            before = self._workers.get(name)
            if before is not None and not before.gone:
                return before
            worker = self._workers[name] = DeskWorker(self.database, row, self.bus, clock=self._clock)
        if before is not None:
            before.close()
        return worker

    def _embedding(self, spec: str) -> EmbeddingThread:
        with self._lock:
            self._check_open()
            if spec not in self._embedders or self._embedders[spec].failed:
                self._embedders[spec] = EmbeddingThread(lambda: self._made(spec))
            return self._embedders[spec]

    def _made(self, spec: str) -> Embedder:
        made = self._make_embedder(spec)
        return made if spec.startswith(_FAST) else CachedEmbedder(made, EmbeddingCache())

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("The desks are being closed; try again in a moment.")

    def _heard(self, desk: int, event: int) -> None:
        """Something was recorded, here or elsewhere."""
        for worker in list(self._workers.values()):
            if worker.desk == desk:
                worker.wake(event)
        self.bus.publish(desk, event)


def desk_name(name: object) -> str:
    """A name that can stand in an address: letters, digits, dots, hyphens and underscores."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            "The name of a desk has 1 to 64 letters, digits, dots, hyphens or underscores and begins with a letter or "
            f"digit; found {name!r:.80}."
        )
    return name


def _delete_all(connection: Connection, desk: int) -> None:
    """Every row of a desk, those first that others do not refer to."""
    tables = schema
    jobs = select(tables.jobs.c.id).where(tables.jobs.c.desk == desk)
    keys = select(tables.keys.c.id).where(tables.keys.c.desk == desk)
    connection.execute(delete(tables.new_vectors).where(tables.new_vectors.c.job.in_(jobs)))
    connection.execute(delete(tables.sessions).where(tables.sessions.c.key.in_(keys)))
    owned = (
        tables.deliveries,
        tables.webhooks,
        tables.keys,
        tables.jobs,
        tables.snapshots,
        tables.tickets,
        tables.labels,
        tables.events,
        tables.queries,
    )
    for table in owned:
        connection.execute(delete(table).where(table.c.desk == desk))
    connection.execute(delete(_table).where(_table.c.id == desk))
