"""One ticket of the queue in a panel, with its suggestions, to be answered there."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from askless.desk.live import tickets, together
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import Offer, Ticket, TicketStatus
from askless.errors import Conflicting
from askless.service.pages.choose import choose_label
from askless.service.pages.panel import side_panel, time_left, whole_text
from askless.service.pages.parts import moment, percent, words
from askless.service.pages.queue.batch import Batch
from askless.service.pages.seat import Seat

_KEYS = 9


class TicketPanel:
    """Shows a ticket and holds it meanwhile; `batch` answers it and tells what that did."""

    def __init__(self, seat: Seat, batch: Batch) -> None:
        self._seat, self._batch = seat, batch
        self._busy = False
        self._answered = 0  # the ticket that was answered last: it is not put back when its panel closes

    async def show(self, id: int) -> None:
        """Open the ticket; what another expert holds is shown without a way to answer it."""
        if self._busy:
            return
        self._busy = True
        try:
            with self._seat.telling():
                ticket, mine, refused = await self._seat.change(lambda desk: _take(desk, id, self._seat.who))
                self._build(ticket, refused, keep=mine)
        finally:
            self._busy = False

    def _build(self, ticket: Ticket, refused: str | None, *, keep: bool) -> None:
        now = datetime.now(UTC)
        with side_panel(self._seat, f"Ticket {ticket.id}") as opened:
            whole_text(ticket.text, ticket.key)
            with ui.element("p").classes("soft facts"):
                words("span", f"asked by {ticket.asker}" if ticket.asker else "asked").classes("text")
                moment(ticket.opened_at, now)
            if ticket.reason:
                words("p", f"Why it is asked: {ticket.reason}").classes("text soft")
            if ticket.suggested:
                words("p", f"Its asker says that {ticket.suggested} is right.").classes("text")
            if refused is not None:
                words("p", refused).classes("text warn").props("role=status")
            else:
                self._offers(ticket, opened)
                if ticket.lease_until is not None:
                    words("p", f"Kept for you for {time_left(ticket.lease_until, now)}.").classes("soft")
        if refused is None and not keep:
            opened.on_value_change(partial(self._put_back, ticket.id))
        opened.open()

    def _offers(self, ticket: Ticket, opened: ui.dialog) -> None:
        words("h3", "Suggestions" if ticket.offers else "No suggestion yet")
        for number, offer in enumerate(ticket.offers[:_KEYS], start=1):
            self._offer(number, offer, ticket.id, opened)
        other = ui.button("Another label", on_click=partial(self._other, ticket.id, opened), icon="search")
        other.props("outline no-caps data-another").classes("other")

    def _offer(self, number: int, offer: Offer, id: int, opened: ui.dialog) -> None:
        button = ui.element("button").classes("take").props(f'type=button data-offer="{number}"')
        button.on("click", partial(self._take, id, offer.label, opened), args=[])
        with button:
            words("kbd", str(number))
            with ui.element("span").classes("take-words"):
                with ui.element("span").classes("take-top"):
                    words("strong", offer.label).classes("text")
                    if offer.probability is not None:
                        words("span", percent(offer.probability)).classes("soft")
                if offer.answer:
                    words("span", f"would be sent: {offer.answer}").classes("text clamp")
                if offer.example:
                    words("span", f"closest: {offer.example}").classes("text clamp soft")

    async def _other(self, id: int, opened: ui.dialog) -> None:
        with self._seat.telling():
            label = await choose_label(self._seat, "Which label?")
            if label is not None and await self._batch.confirmed(1, label):
                await self._take(id, label, opened)

    async def _take(self, id: int, label: str, opened: ui.dialog) -> None:
        if self._busy:  # a key that was pressed twice
            return
        self._busy, self._answered = True, id
        try:
            opened.close()
            await self._batch.answer([id], label)
        finally:
            self._busy = False

    async def _put_back(self, id: int, event: ValueChangeEventArguments[Any]) -> None:
        if event.value or id == self._answered:  # it opens, or has its answer
            return
        with self._seat.telling():
            await self._seat.change(lambda desk: together.let_go(desk, [id], self._seat.who))


def _take(desk: LiveDesk, id: int, who: str) -> tuple[Ticket, bool, str | None]:
    """The ticket, leased where it is free; whether it was theirs before; and why it cannot be had, where it cannot."""
    before = tickets.show(desk, id)
    if before.status is not TicketStatus.OPEN:
        return before, False, "This question waits no more: it was answered, or the desk can answer it by now."
    try:
        return tickets.claim(desk, id, who), before.lease_by == who, None
    except Conflicting as held:
        return before, False, str(held)
