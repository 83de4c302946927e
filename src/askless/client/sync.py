"""The client for ordinary code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Self, TypeVar

import httpx

from askless.client import administration, answering, asking, knowledge
from askless.client.call import Call
from askless.client.connect import DEFAULT_URL, TIMEOUT, Watching, address, gone, headers, only
from askless.client.pages import each
from askless.client.results import Outcome
from askless.client.retries import Retries, Tries
from askless.client.send import sends, steps

T = TypeVar("T")


class Client:
    """Talks to an askless service about one desk.

        with Client("http://127.0.0.1:8400", key, desk="support") as client:
            outcome = client.ask("How do I reset my password?")
            if outcome.waits:
                outcome = client.wait(outcome.id, timeout=60)
            print(outcome.label, outcome.answer)

    Where `desk` is left out it is the only one that the key opens; where there are several, the first call lists them
    in an error. Every method raises an error of `askless.client`: NotFound, NotAllowed, BadRequest, Conflict, TooMany,
    Unreachable, all ServiceError, all AsklessError. `timeout` is in seconds for one try; `retries` says when there is
    another.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        desk: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.desk = desk
        self._timeout = timeout
        self._retries = Retries() if retries is None else retries
        self._http = httpx.Client(base_url=address(url), headers=headers(key), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _named(self) -> str:
        """The desk that was named, or else the only one that there is, asked for once."""
        if self.desk is None:
            self.desk = only(self.desks())
        return self.desk

    def at(self, desk: str) -> Client:
        """The same client for another desk; the two share their connections, and closing one closes both."""
        other = Client.__new__(Client)
        other.__dict__.update(self.__dict__, desk=desk)
        return other

    def send(self, call: Call[T]) -> T:
        """Send a call, and again where that is safe and worth it; its result."""
        tries = Tries(self._retries, harmless=call.harmless, until=call.until)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(call.request(self._http, self._timeout))
            except httpx.TransportError as error:
                outcome = error
            pause = tries.pause(outcome)
            if pause is not None:
                time.sleep(pause)
            elif isinstance(outcome, httpx.Response):
                return call.result(outcome)
            else:
                raise gone(outcome, self._http.base_url, tries.made) from outcome

    def watch(self, id: str) -> Iterator[Outcome]:
        """The outcome of a query now and after each change, as the service tells it; ends once it waits no more.

        A stream that breaks is taken up again where it was. It has no time limit of its own: it goes on until nothing
        was heard of the service for as long as `retries` allows.
        """
        watching = Watching(self._named(), id, self._retries)
        while True:
            broken: httpx.Response | httpx.TransportError
            try:
                broken = self._http.send(watching.request(self._http, self._timeout), stream=True)
                try:
                    if not broken.is_success:
                        broken.read()
                    else:
                        for piece in broken.iter_text():
                            yield from watching.feed(piece)
                            if watching.done:
                                return
                finally:
                    broken.close()
            except httpx.TransportError as error:
                broken = error
            time.sleep(watching.pause(broken, self._http.base_url))

    each = each

    ask = steps(asking.ask)
    ask_many = steps(asking.ask_many)
    query = sends(asking.query)
    wait = steps(asking.wait_for)
    feedback = sends(asking.feedback)
    queries = sends(asking.queries)
    erase = sends(asking.erase)

    next_ticket = sends(answering.next_ticket)
    ticket = sends(answering.ticket)
    tickets = sends(answering.tickets)
    claim = sends(answering.claim)
    answer = sends(answering.answer)
    skip = sends(answering.skip)
    release = sends(answering.release)
    undo = sends(answering.undo)

    labels = sends(knowledge.labels)
    create_label = sends(knowledge.create_label)
    change_label = sends(knowledge.change_label)
    merge_labels = sends(knowledge.merge_labels)
    delete_label = sends(knowledge.delete_label)
    examples = sends(knowledge.examples)
    give_examples = steps(knowledge.give_examples)
    relabel = sends(knowledge.relabel)
    forget = sends(knowledge.forget)
    conflicts = sends(knowledge.conflicts)
    statistics = sends(knowledge.statistics)

    desks = sends(administration.desks, of_service=True)
    show = sends(administration.show)
    create_desk = sends(administration.create_desk, of_service=True)
    configure = sends(administration.configure)
    pause = sends(administration.pause)
    resume = sends(administration.resume)
    delete_desk = sends(administration.delete_desk)
    export = sends(administration.export)
    reembed = sends(administration.reembed)
    jobs = sends(administration.jobs)
    job = sends(administration.job)
    cancel_job = sends(administration.cancel_job)
    webhooks = sends(administration.webhooks)
    create_webhook = sends(administration.create_webhook)
    delete_webhook = sends(administration.delete_webhook)
    deliveries = sends(administration.deliveries)
    resend = sends(administration.resend)
    keys = sends(administration.keys, of_service=True)
    create_key = sends(administration.create_key, of_service=True)
    revoke_key = sends(administration.revoke_key, of_service=True)
