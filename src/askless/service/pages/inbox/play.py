"""Playing the sample in: questions come to the desk one after the other, so that a newcomer sees it learn."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from random import Random

from nicegui import background_tasks, ui
from nicegui.element import Element
from sqlalchemy import Connection, func, select

from askless.desk.live import labels, tickets
from askless.desk.live.types import NewQuery, Outcome, TicketStatus
from askless.desk.sample import ANSWERS, LEFT_OUT, answer_of, mixed_questions
from askless.errors import Conflicting
from askless.ledger import schema
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.parts import percent, words
from askless.service.pages.seat import Seat

QUESTIONS = 60
EXPERT = "the sample's expert"  # the name under which its answers are recorded
_PACE = 0.5  # seconds between two questions
_SHARE_OF = 20  # questions that the share automated is taken over
_LISTED = 6
_ITS_KEYS = "sample ________ %"  # the ids of the questions that were played in, for LIKE: of which play, and which one
_NOT_HERE = "This desk has labels or questions of its own by now, and the sample's would stand among them."


def can_play(connection: Connection, desk: int) -> bool:
    """Whether the sample's questions disturb nobody here: the desk has labels of the sample alone, or nothing yet."""
    names = {row.name for row in labels.rows(connection, desk)}
    if names:
        return names <= ANSWERS.keys() | LEFT_OUT.keys()
    sent = select(func.count()).where(schema.queries.c.desk == desk, schema.queries.c.key.not_like(_ITS_KEYS))
    return connection.execute(sent).scalar_one() == 0


class Player:
    """Plays questions in while its page is open, with a line that says how far it is and how the desk does."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._changed: Callable[[], Awaitable[None]] | None = None
        self._task: asyncio.Task[None] | None = None
        self._with_expert = self._stopped = False
        self._posted: list[Outcome] = []
        self._beginners: list[Element] = []
        with ui.element("section").classes("card play").props('aria-label="Sample questions"') as self._panel:
            with ui.element("div").classes("progress"):
                self._line = words("p", "")
                self._stop = ui.button("Stop", on_click=self.stop).props("flat no-caps dense")
                self._close = ui.button("Close", on_click=self._hide).props("flat no-caps dense")
            self._bar = ui.linear_progress(0, show_value=False).props('aria-label="Played in"')
            self._share = words("p", "").classes("soft")
            self._list = ui.element("ul")
            self._end = words("p", "").classes("unseen").props("role=status")
        self._panel.set_visibility(False)
        seat.client.on_delete(self._cancel)

    @property
    def answers(self) -> bool:
        """Whether the sample's expert answers now, so that no question is to be taken from them."""
        return self._with_expert and self._task is not None

    def on_change(self, changed: Callable[[], Awaitable[None]]) -> None:
        """What is called when it begins and ends."""
        self._changed = changed

    def begins_with(self, element: Element) -> None:
        """Show this element, which begins a play, only while none is on."""
        self._beginners.append(element)

    async def ask(self) -> None:
        """Ask whether the sample's expert is to answer, and begin."""
        if self._task is not None or not await self._may_begin():
            return
        with dialog(self._seat, "Play sample questions in") as opened:
            words("p", f"{QUESTIONS} questions of customers come to this desk, two a second. Watch what it asks about.")
            expert = ui.checkbox("and let the sample's expert answer")
            with choices(opened):
                ui.button("Play", on_click=lambda: opened.submit(True)).props("unelevated no-caps autofocus").classes(
                    "inbox-first"
                )
        if await opened and await self._may_begin():
            await self._start(expert.value)

    async def _may_begin(self) -> bool:
        """Whether the desk is still one that can be played with; where it is not, that is said and not offered again.

        A page stays open for hours, and a dialog too: the desk may have got labels and questions of its own since.
        """
        with self._seat.telling():
            if await self._seat.read_desk(can_play):
                return True
            self._seat.say(_NOT_HERE, wrong=True)
            for element in self._beginners:
                element.set_visibility(False)
            self._beginners.clear()
        return False

    async def _start(self, expert: bool) -> None:
        with self._seat.telling():
            known = await self._seat.read_desk(labels.rows)
            asked = mixed_questions(QUESTIONS, not any(row.examples for row in known), Random())
            self._with_expert, self._stopped, self._posted = expert, False, []
            self._list.clear()
            self._end.set_text("")
            self._renew(0, len(asked), 0)
            self._panel.set_visibility(True)
            self._arrange(playing=True)
            with self._seat.client:
                ui.run_javascript("scrollTo(0, 0)")  # the menu that began it may be far below
            self._task = background_tasks.create(self._play(asked), name="the sample is played in")
            await self._tell()

    def stop(self) -> None:
        """Post no further question."""
        self._stopped = True

    # -- parts -----------------------------------------------------------------------------------------------------
    async def _play(self, asked: list[tuple[str, str]]) -> None:
        play = secrets.token_hex(4)
        with self._seat.telling():
            for number, (text, label) in enumerate(asked, start=1):
                (outcome,) = await self._seat.submit([NewQuery(f"sample {play} {number}", text)])
                self._seat.service.metrics.decided(self._seat.desk, [outcome])
                self._posted.append(outcome)
                if self._with_expert:
                    self._enter(text, label, outcome)
                    await self._answer(outcome, label)
                self._renew(number, len(asked), await self._seat.read_desk(_still_open, self._tickets))
                await asyncio.sleep(_PACE)
                if self._stopped:
                    break
        self._task = None
        self._end.set_text(f"Ended. {self._line.text}")
        self._arrange(playing=False)
        await self._tell()

    def _arrange(self, *, playing: bool) -> None:
        self._stop.set_visibility(playing)
        self._close.set_visibility(not playing)
        for element in self._beginners:
            element.set_visibility(not playing)

    async def _answer(self, outcome: Outcome, label: str) -> None:
        """What the sample's expert says; a question that someone else has taken is left to them."""
        ticket = outcome.ticket
        if ticket is None:
            return
        try:
            await self._seat.change(lambda desk: tickets.answer(desk, ticket, label, EXPERT, answer=answer_of(label)))
        except Conflicting:
            return

    @property
    def _tickets(self) -> list[int]:
        return [outcome.ticket for outcome in self._posted if outcome.ticket is not None]

    def _renew(self, played: int, of: int, still_open: int) -> None:
        asked = len(self._tickets)
        rest = f"{asked - still_open} by {EXPERT}" if self._with_expert else f"{still_open} wait for you"
        self._line.set_text(f"{played} of {of} played in: {played - asked} answered at once, {rest}.")
        self._bar.set_value(played / of)
        last = [outcome.ticket is None for outcome in self._posted[-_SHARE_OF:]]
        share = f"Of the last {len(last)} the desk answered {percent(sum(last) / len(last))} by itself." if last else ""
        self._share.set_text(share)

    def _enter(self, text: str, label: str, outcome: Outcome) -> None:
        """A line in the list of what came last, the newest first."""
        with self._list:
            with ui.element("li") as line:
                words("span", text).classes("text")
                said = f"asked: {label}" if outcome.ticket is not None else f"answered at once: {outcome.label}"
                words("span", said).classes("warn" if outcome.ticket is not None else "good")
            line.move(target_index=0)
        for old in list(self._list.default_slot.children)[_LISTED:]:
            old.delete()

    async def _tell(self) -> None:
        if self._changed is not None:
            with self._seat.telling():
                await self._changed()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _hide(self) -> None:
        self._panel.set_visibility(False)


def _still_open(connection: Connection, desk: int, posted: list[int]) -> int:
    opened = (schema.tickets.c.desk == desk, schema.tickets.c.status == TicketStatus.OPEN.value)
    query = select(func.count()).where(*opened, schema.tickets.c.id.in_(posted))
    return int(connection.execute(query).scalar_one())
