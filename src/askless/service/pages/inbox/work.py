"""The work of an expert at the inbox: which question they hold, and what they do with it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from nicegui import ui
from nicegui.element import Element

from askless.desk.live import read, tickets
from askless.desk.live.best_guess import best_guess
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import LabelRow, Ticket
from askless.errors import Conflicting, Forbidden
from askless.service.pages.frame import count_waiting
from askless.service.pages.inbox.card import Card
from askless.service.pages.inbox.forms import NewLabel, keep, take_guess
from askless.service.pages.inbox.idle import Figures, Idle
from askless.service.pages.inbox.words import BLIND, changed_by, gone
from askless.service.pages.parts import one_line, words
from askless.service.pages.said import Said, taken_back
from askless.service.pages.seat import Seat

T = TypeVar("T")

_AWAY = 600.0  # seconds without a key or the mouse after which nothing is kept for the expert any more
_UNDONE = 20  # answers that can be taken back one after the other


@dataclass(frozen=True, slots=True)
class Taken:
    """A ticket that is leased to the expert, or None where none is free, and what the desk is set to."""

    ticket: Ticket | None
    blind: bool
    lease_seconds: int


def taking(who: str, ticket: int | None = None) -> Callable[[LiveDesk], Taken]:
    """Take the ticket of that number, or else the next one."""

    def operation(desk: LiveDesk) -> Taken:
        found = tickets.next_ticket(desk, who) if ticket is None else tickets.claim(desk, ticket, who)
        return Taken(found, desk.settings.blind, desk.settings.lease_seconds)

    return operation


class Inbox:
    """The question on the screen, and what is done with it: one thing at a time, in the order in which it was wanted.

    Everything that is done names the ticket that it is meant for. Where another one has come on the screen meanwhile,
    nothing is done: a key that was pressed twice never answers the question after. `holds_back` says whether no
    question is to be taken now.
    """

    def __init__(self, seat: Seat, make_idle: Callable[[], Idle]) -> None:
        self._seat = seat
        self.ticket: Ticket | None = None
        self.holds_back: Callable[[], bool] = lambda: False
        self._blind, self._lease_seconds = False, 300
        self._turn = asyncio.Lock()
        self._present_at = time.monotonic()
        self._done: list[int] = []  # tickets that they have answered or skipped, the last one last
        self._settled: dict[int, int] = {}  # how many others the answer to a ticket has settled
        self._needs: list[tuple[Element, bool]] = []
        self.said = Said(seat)
        self._news = words("p", "").classes("unseen").props("role=status")
        self._card = Card(seat, self.answer)
        self.form = NewLabel(seat, self.answer)
        self._card.make_offers()
        self._idle = make_idle()

    def begin(self, first: Taken, figures: Figures | None) -> None:
        """Show the first question, or that nothing waits."""
        if figures is not None:
            self._idle.show(figures)
        self._show(first)

    def needs_question(self, element: Element, *, tells: bool = False) -> None:
        """Show this element only while there is a question; what `tells` the desk's guess, only where that is told."""
        self._needs.append((element, tells))

    # -- what the expert does --------------------------------------------------------------------------------------
    async def answer(self, number: int, label: str, text: str | None = None) -> None:
        """Answer a ticket, if it is on the screen still, with a label that may be new; `text` is its answer text."""
        who = self._seat.who
        async with self._turn:
            with self._seat.telling():
                done = await self._do(number, lambda desk: tickets.answer(desk, number, label, who, answer=text))
                if done is not None:
                    self._note(number)
                    self._settled[number] = len(done.settled)
                    line = changed_by(done.outcome.label or label, len(done.settled))
                    self.said(line, self._undo_last, undone=taken_back(len(done.settled)))
                    self.form.close(clear=True)
                    await self._next(own=True)

    async def skip(self, number: int) -> None:
        """Pass a ticket by, if it is on the screen still."""
        async with self._turn:
            with self._seat.telling():
                if await self._do(number, lambda desk: tickets.skip(desk, number, self._seat.who)) is not None:
                    self._note(number)
                    await self._next(own=True)
                    only = "It is the only one that is free, so it comes again."
                    self.said(f"Skipped. {only if self._is_shown(number) else 'Others get it now.'}", self._undo_last)

    async def _do(self, number: int, operation: Callable[[LiveDesk], T]) -> T | None:
        """What the operation returns; None where its ticket is not on the screen, or is another's, which is said."""
        if not self._is_shown(number):
            return None
        try:
            return await self._seat.change(operation)
        except Conflicting as error:
            self.said(str(error))
            await self._check(told=True)
            return None

    async def take_back(self) -> None:
        """Undo the last answer or skip."""
        if not self._done:
            self.said("There is nothing to undo: here you have answered and skipped nothing yet.")
            return
        with self._seat.telling():
            settled = self._settled.get(self._done[-1], 0)
            await self._undo_last()
            self.said(taken_back(settled))

    async def _undo_last(self) -> None:
        async with self._turn:
            if not self._done:
                return
            number, shown = self._done[-1], self.ticket
            try:
                taken = await self._seat.change(lambda desk: self._undoing(desk, number, shown))
            except (Conflicting, Forbidden):
                self._done.pop()  # it will never be possible; the one before may be
                raise
            self._done.pop()
            self._keep_done()
            self._show(taken, own=True)

    def _undoing(self, desk: LiveDesk, number: int, shown: Ticket | None) -> Taken:
        """Have the ticket back, and let the one on the screen go to others."""
        who = self._seat.who
        if shown is not None and shown.id != number:
            with suppress(Conflicting):  # it is another's by now
                tickets.release(desk, shown.id, who)
        back = tickets.undo(desk, number, who, admin=self._seat.is_admin)
        return Taken(back, desk.settings.blind, desk.settings.lease_seconds)

    async def guess(self) -> None:
        """Show the desk's guess, which Enter takes."""
        shown = self.ticket
        if shown is None:
            return
        if self._blind:
            self.said(BLIND)
            return
        with self._seat.telling():
            found = await self._seat.change(lambda desk: best_guess(desk, shown.query))
            if found is None:
                self.said("The desk has no guess for this one: it knows no example that could help.")
            elif await take_guess(self._seat, found):
                await self.answer(shown.id, found.label)

    def open_form(self, known: Sequence[LabelRow], name: str | None = None, *, ticket: int | None = None) -> None:
        """Open the form of a new label, for the question on the screen or the one it is meant for."""
        shown = None if self.ticket is None else self.ticket.id
        self.form.open(ticket or shown, known, name)
        self._arrange()

    def close_form(self) -> None:
        """Close the form; what was typed is there when it is opened again."""
        if self.form.is_open:
            self.form.close()
            self._arrange()
            self._focus()

    def restore(self, kept: dict[str, str], known: Sequence[LabelRow]) -> None:
        """Have back what the browser has kept."""
        with suppress(ValueError):
            self._done = [int(number) for number in json.loads(kept.get("done", "[]"))]
        self.form.restore(None if self.ticket is None else self.ticket.id, known, kept)
        self._arrange()

    # -- what happens by itself ------------------------------------------------------------------------------------
    async def present(self) -> None:
        """The expert has moved: they are there."""
        was_away = self._is_away
        self._present_at = time.monotonic()
        if was_away:
            with self._seat.telling():
                await self.look()

    async def look(self) -> None:
        """Renew what is shown: take a question where one has come, leave one that is gone, lengthen the lease."""
        async with self._turn:
            if self.ticket is not None:
                await self._check()
            elif not self.holds_back():
                waiting = await self._seat.read_desk(count_waiting)
                if waiting and not self._is_away:
                    await self._next()
            if self.ticket is None:
                await self._idle.renew(away=self._is_away)
                self._arrange()

    async def _check(self, *, told: bool = False) -> None:
        """Leave the question on the screen where it is not the expert's any more, else see to its lease."""
        shown = self.ticket
        if shown is None:
            return
        now = datetime.now(UTC)
        found = await self._seat.read_desk(read.ticket, shown.id, blind=self._blind, now=now)
        why = gone(found, self._seat.who)
        left = 0.0 if found.lease_until is None else (found.lease_until - now).total_seconds()
        if why is None and left < self._lease_seconds / 2 and not self._is_away:
            try:
                found = await self._seat.change(lambda desk: tickets.claim(desk, shown.id, self._seat.who))
            except Conflicting as error:
                why = str(error)
        if why is None:
            self._card.renew(found.lease_until)
            return
        if not told:
            self.said(why)
        await self._next()

    # -- parts -----------------------------------------------------------------------------------------------------
    @property
    def _is_away(self) -> bool:
        return time.monotonic() - self._present_at > _AWAY

    def _is_shown(self, number: int) -> bool:
        return self.ticket is not None and self.ticket.id == number

    async def _next(self, *, own: bool = False) -> None:
        if self.holds_back():
            self._show(Taken(None, self._blind, self._lease_seconds))
            return
        self._show(await self._seat.change(taking(self._seat.who)), own=own)
        if self.ticket is None:
            await self._idle.renew(away=self._is_away, now=True)

    def _show(self, taken: Taken, *, own: bool = False) -> None:
        """Show a ticket; after an act of the expert's `own` the keyboard's focus goes to it."""
        self.ticket, self._blind, self._lease_seconds = taken.ticket, taken.blind, taken.lease_seconds
        if taken.ticket is not None:
            self._card.show(taken.ticket, taken.blind)
        self.form.question_is(None if taken.ticket is None else taken.ticket.id)
        self._arrange()
        if own and not self.form.is_open:
            self._focus()
        elif taken.ticket is not None:
            self._news.set_text(f"A question has come: {one_line(taken.ticket.text, taken.ticket.key)}")

    def _arrange(self) -> None:
        """What is to be seen: the question or that nothing waits, the form or the suggestions."""
        there = self.ticket is not None
        self._card.set_visibility(question=there, offers=there and not self.form.is_open)
        self._idle.set_visibility(not there and not self.holds_back())
        for element, tells in self._needs:
            element.set_visibility(there and not (tells and self._blind))

    def _focus(self) -> None:
        if self.ticket is not None:
            with self._seat.client:
                ui.run_javascript(f"document.getElementById('{self._card.text_id}')?.focus(); scrollTo(0, 0)")

    def _note(self, number: int) -> None:
        self._done = [*self._done, number][-_UNDONE:]
        self._keep_done()

    def _keep_done(self) -> None:
        keep(self._seat, "done", json.dumps(self._done) if self._done else "")
