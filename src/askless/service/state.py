"""What the parts of one running service share."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.reembed import Reembedding
from askless.desk.live.types import NewQuery, Outcome
from askless.errors import UnknownDesk
from askless.ledger.database import Database
from askless.service.config import ServiceConfig
from askless.service.keys import KeyRing
from askless.service.limits import RateLimit
from askless.service.logs import LogThread, make_logger
from askless.service.metrics import Metrics
from askless.service.streams import Wakes

T = TypeVar("T")
P = ParamSpec("P")


class Service:
    """One service: its desks, keys, limits, metrics, and the threads that read for it.

    Nothing here blocks the event loop: changes go to the worker of their desk, reads to a pool of `config.readers`
    threads.
    """

    def __init__(self, database: Database, config: ServiceConfig) -> None:
        self.database = database
        self.config = config
        self.desks = Desks(database)
        self.keys = KeyRing(database, config.key_cache_seconds)
        self.rate = RateLimit(config)
        self.metrics = Metrics()
        self._log_thread = LogThread()
        self.log: Any = make_logger(self._log_thread.lines)
        self.wakes = Wakes(self.desks.bus, config.max_streams)
        self.reembedding = Reembedding(self.desks)
        self.ready = False  # once every desk was loaded
        self._open: set[str] = set()  # desks whose worker is there, so that nothing needs to be read to reach it
        self._readers = ThreadPoolExecutor(config.readers, thread_name_prefix="askless-read")

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function returns, run in a thread of the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, function, *arguments)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *arguments: P.args, **named: P.kwargs) -> T:
        """What the function returns, given an open read of the database, in a thread of the pool."""

        def reading() -> T:
            with self.database.read() as connection:
                return function(connection, *arguments, **named)

        return await self.work(reading)

    async def read_desk(
        self, desk: str, function: Callable[Concatenate[Connection, int, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """As `read`, with the number of the desk after the connection."""

        def reading() -> T:
            row = self.desks.row(desk)
            with self.database.read() as connection:
                return function(connection, row.id, *arguments, **named)

        return await self.work(reading)

    async def change(self, desk: str, operation: Callable[[LiveDesk], T]) -> T:
        """What the operation returns, once it is durable."""
        return await self._at(desk, self.desks.run, operation)

    async def submit(self, desk: str, queries: Sequence[NewQuery], who: str) -> list[Outcome]:
        """What stands about the queries, once they are embedded and decided and that is durable."""
        return await self._at(desk, self.desks.submit, queries, who)

    async def _at(self, desk: str, start: Callable[..., concurrent.futures.Future[T]], *arguments: Any) -> T:
        try:
            if desk in self._open:
                return await done(start(desk, *arguments))
            found = await done(await self.work(start, desk, *arguments))
        except UnknownDesk:
            self._open.discard(desk)
            raise
        self._open.add(desk)
        return found

    def close(self) -> None:
        """Stop the threads; what they were at is finished first."""
        self.reembedding.close()
        self.desks.close()
        self._readers.shutdown()
        self._log_thread.close()


async def done(future: concurrent.futures.Future[T]) -> T:
    """Wait for what a worker does. A caller that hangs up stops waiting; the work itself goes on to its end."""
    return await asyncio.shield(asyncio.wrap_future(future))
