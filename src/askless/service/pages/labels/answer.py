"""The answer text of a label, edited where it stands."""

from __future__ import annotations

import json
from contextlib import suppress

from nicegui import ui

from askless.desk.live import labels as live
from askless.desk.live.desk import LiveDesk
from askless.desk.live.names import LONGEST_ANSWER, answer_text
from askless.desk.live.types import LabelRow
from askless.errors import Conflicting
from askless.service.pages.parts import words
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

_NONE = "There is none yet: who asks gets the label's name alone."


class AnswerText:
    """Shows the text, or a field to change it in. What is being typed is left alone by renewals and restarts."""

    def __init__(self, seat: Seat, said: Said, number: int) -> None:
        self._seat, self._said, self._number = seat, said, number
        self._kept = f"answer {seat.desk} {number}"
        self._answer: str | None = None
        self._base: str | None = None  # what the text was when editing began
        self._field: ui.textarea | None = None
        words("h3", "Answer text")
        self._place = ui.element("div").classes("answer")
        ui.timer(0, self._take_up, once=True)  # once the page is connected

    def renew(self, answer: str | None) -> None:
        """The text as it stands now."""
        changed, self._answer = answer != self._answer or not self._place.default_slot.children, answer
        if self._field is None and changed:
            self._show()

    def _show(self) -> None:
        self._field = None
        self._place.clear()
        with self._place:
            shown = words("p", self._answer or _NONE).classes("text" if self._answer else "soft")
            shown.props["data-testid"] = "answer"
            ui.button("Edit", on_click=lambda: self._edit(self._answer)).props(
                'outline no-caps dense aria-label="Edit the answer text"'
            )

    def _edit(self, text: str | None) -> None:
        self._base = self._answer
        self._place.clear()
        with self._place:
            field = ui.textarea("Answer text", value=text or "")
            field.props(f"outlined autogrow autofocus maxlength={LONGEST_ANSWER}")
            field.props["data-keep"] = self._kept
            field.on("keydown.ctrl.enter", self._save)
            field.on("keydown.escape", self._leave)
            with ui.element("div").classes("ask-choices"):
                ui.button("Cancel", on_click=self._leave).props("flat no-caps")
                ui.button("Save", on_click=self._save).props("unelevated no-caps")
        self._field = field

    async def _take_up(self) -> None:
        """Open the field again where something was typed into it before the page was loaded anew."""
        with suppress(TimeoutError):  # a browser that does not answer has nothing to give back
            typed = await ui.run_javascript(f"askless.kept({json.dumps(self._kept)})", timeout=10)
            if typed and self._field is None and not self._place.is_deleted:
                self._edit(str(typed))

    def _leave(self) -> None:
        ui.run_javascript(f"askless.keep({json.dumps(self._kept)}, '')")
        self._show()

    async def _save(self) -> None:
        if self._field is None:
            return
        text, base, who = self._field.value or "", self._base, self._seat.who
        with self._seat.telling():
            try:
                row = await self._seat.change(lambda desk: _set(desk, self._number, base, text, who))
            except Conflicting:
                self._base = self._answer  # who saves again has been told
                raise
            self._answer = row.answer
            self._said(
                f"The answer text of {row.name} is saved.",
                lambda: self._seat.change(lambda desk: live.set_answer(desk, self._number, base, who)),
            )
            self._leave()


def _set(desk: LiveDesk, number: int, base: str | None, text: str, who: str) -> LabelRow:
    """Change the answer text, unless another has changed it since `base`."""
    now = live.find(desk.entry.connection, desk.row.id, number).answer
    if now not in (base, answer_text(text)):
        raise Conflicting(
            f"Someone has changed this answer text meanwhile, to: {now or '(none)'!s:.300} Save again to replace it, "
            "or cancel to keep it."
        )
    return live.set_answer(desk, number, text, who)
