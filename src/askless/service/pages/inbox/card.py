"""A question on the screen: its text, who asked and when, why, and the labels to choose from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from nicegui import ui

from askless.desk.live.types import Offer, Ticket
from askless.service.pages.inbox.words import kept_until, why_asked
from askless.service.pages.parts import ago, moment, one_line, percent, words
from askless.service.pages.seat import Seat

NUMBERED = 9
_LONG = 280  # characters from which on a text is shown in smaller letters


class Card:
    """The question and its suggestions; `take` is called with the ticket's number and the label that was chosen."""

    def __init__(self, seat: Seat, take: Callable[[int, str], Awaitable[object]]) -> None:
        self._seat, self._take = seat, take
        self._question = ui.element("section").classes("question card").props('aria-label="Question"')
        self.text_id = ""
        self._opened_at = datetime.now(UTC)

    def make_offers(self) -> None:
        """The place of the suggestions, where it is called."""
        self._offers = ui.element("section").classes("offers").props('aria-label="Suggestions"')

    def show(self, ticket: Ticket, blind: bool) -> None:
        """Show a ticket in place of the one before."""
        self._opened_at = ticket.opened_at
        self._question.clear()
        self._question.props["data-ticket"] = ticket.id
        with self._question:
            with ui.element("div").classes("facts soft"):
                words("span", f"From {ticket.asker}" if ticket.asker else "From an unknown asker").classes("text")
                self._when = moment(ticket.opened_at, datetime.now(UTC))
                self._lease = words("span", "").classes("lease")
            text = words("p", ticket.text or one_line(None, ticket.key)).classes("asked text").props("tabindex=0")
            text.classes("long" if len(ticket.text or "") > _LONG else "")
            self.text_id = text.html_id
            words("p", why_asked(ticket, blind)).classes("why soft text")
        self._offers.clear()
        with self._offers:
            if not ticket.offers:
                words("p", "There is no suggestion yet. Search the labels, or make a new one.").classes("soft")
            for number, offer in enumerate(ticket.offers[:NUMBERED], start=1):
                self._offer(ticket.id, number, offer)
        self.renew(ticket.lease_until)

    def renew(self, until: datetime | None) -> None:
        """Say anew how long ago it was asked, and until when it is kept."""
        self._when.set_text(ago(self._opened_at, datetime.now(UTC)))
        self._lease.set_text(kept_until(until, self._seat.zone))
        self._lease.classes(remove="warn") if until else self._lease.classes("warn")

    def set_visibility(self, *, question: bool, offers: bool) -> None:
        """Show or hide the question, and its suggestions."""
        self._question.set_visibility(question)
        self._offers.set_visibility(offers)

    def _offer(self, ticket: int, number: int, offer: Offer) -> None:
        row = ui.element("button").classes("offer").props("type=button")
        row.props["aria-keyshortcuts"] = str(number)
        row.on("click", partial(self._take, ticket, offer.label), args=[])
        with row:
            words("kbd", str(number))
            with ui.element("span").classes("what"):
                words("strong", offer.label).classes("text")
                sent = one_line(offer.answer, "", 400) if offer.answer else "the label alone, which has no answer text"
                _piece("Would be sent", sent)
                if offer.example is not None:
                    _piece("Closest past question", one_line(offer.example, "", 200))
            if offer.probability is not None:
                words("span", percent(offer.probability)).classes("likely")


def _piece(title: str, text: str) -> None:
    with ui.element("span").classes("piece"):
        words("span", f"{title}: ").classes("soft")
        words("span", text).classes("text")
