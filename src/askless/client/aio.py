"""The client for code that awaits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Self, TypeVar

import httpx

from askless.client import administration, answering, asking, knowledge
from askless.client.call import Call
from askless.client.connect import DEFAULT_URL, TIMEOUT, Watching, address, gone, headers, only
from askless.client.pages import each_later
from askless.client.results import Outcome
from askless.client.retries import Retries, Tries
from askless.client.send import sends_later, steps_later

T = TypeVar("T")


class AsyncClient:
    """`Client`, awaited: the same methods with the same parameters.

    async with AsyncClient("http://127.0.0.1:8400", key, desk="support") as client:
        outcome = await client.ask("How do I reset my password?", wait=60)
        async for change in client.watch(outcome.id):
            print(change.status, change.label)
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        desk: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.desk = desk
        self._timeout = timeout
        self._retries = Retries() if retries is None else retries
        self._http = httpx.AsyncClient(base_url=address(url), headers=headers(key), transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _named(self) -> str:
        """The desk that was named, or else the only one that there is, asked for once."""
        if self.desk is None:
            self.desk = only(await self.desks())
        return self.desk

    def at(self, desk: str) -> AsyncClient:
        """The same client for another desk; the two share their connections, and closing one closes both."""
        other = AsyncClient.__new__(AsyncClient)
        other.__dict__.update(self.__dict__, desk=desk)
        return other

    async def send(self, call: Call[T]) -> T:
        """Send a call, and again where that is safe and worth it; its result."""
        tries = Tries(self._retries, harmless=call.harmless, until=call.until)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.send(call.request(self._http, self._timeout))
            except httpx.TransportError as error:
                outcome = error
            pause = tries.pause(outcome)
            if pause is not None:
                await asyncio.sleep(pause)
            elif isinstance(outcome, httpx.Response):
                return call.result(outcome)
            else:
                raise gone(outcome, self._http.base_url, tries.made) from outcome

    async def watch(self, id: str) -> AsyncIterator[Outcome]:
        """The outcome of a query now and after each change, as the service tells it; ends once it waits no more.

        A stream that breaks is taken up again where it was. It has no time limit of its own: it goes on until nothing
        was heard of the service for as long as `retries` allows.
        """
        watching = Watching(await self._named(), id, self._retries)
        while True:
            broken: httpx.Response | httpx.TransportError
            try:
                broken = await self._http.send(watching.request(self._http, self._timeout), stream=True)
                try:
                    if not broken.is_success:
                        await broken.aread()
                    else:
                        async for piece in broken.aiter_text():
                            for outcome in watching.feed(piece):
                                yield outcome
                            if watching.done:
                                return
                finally:
                    await broken.aclose()
            except httpx.TransportError as error:
                broken = error
            await asyncio.sleep(watching.pause(broken, self._http.base_url))

    each = each_later

    ask = steps_later(asking.ask)
    ask_many = steps_later(asking.ask_many)
    query = sends_later(asking.query)
    wait = steps_later(asking.wait_for)
    feedback = sends_later(asking.feedback)
    queries = sends_later(asking.queries)
    erase = sends_later(asking.erase)

    next_ticket = sends_later(answering.next_ticket)
    ticket = sends_later(answering.ticket)
    tickets = sends_later(answering.tickets)
    claim = sends_later(answering.claim)
    answer = sends_later(answering.answer)
    skip = sends_later(answering.skip)
    release = sends_later(answering.release)
    undo = sends_later(answering.undo)

    labels = sends_later(knowledge.labels)
    create_label = sends_later(knowledge.create_label)
    change_label = sends_later(knowledge.change_label)
    merge_labels = sends_later(knowledge.merge_labels)
    delete_label = sends_later(knowledge.delete_label)
    examples = sends_later(knowledge.examples)
    give_examples = steps_later(knowledge.give_examples)
    relabel = sends_later(knowledge.relabel)
    forget = sends_later(knowledge.forget)
    conflicts = sends_later(knowledge.conflicts)
    statistics = sends_later(knowledge.statistics)

    desks = sends_later(administration.desks, of_service=True)
    show = sends_later(administration.show)
    create_desk = sends_later(administration.create_desk, of_service=True)
    configure = sends_later(administration.configure)
    pause = sends_later(administration.pause)
    resume = sends_later(administration.resume)
    delete_desk = sends_later(administration.delete_desk)
    export = sends_later(administration.export)
    reembed = sends_later(administration.reembed)
    jobs = sends_later(administration.jobs)
    job = sends_later(administration.job)
    cancel_job = sends_later(administration.cancel_job)
    webhooks = sends_later(administration.webhooks)
    create_webhook = sends_later(administration.create_webhook)
    delete_webhook = sends_later(administration.delete_webhook)
    deliveries = sends_later(administration.deliveries)
    resend = sends_later(administration.resend)
    keys = sends_later(administration.keys, of_service=True)
    create_key = sends_later(administration.create_key, of_service=True)
    revoke_key = sends_later(administration.revoke_key, of_service=True)
