"""What opens in the inbox: the form of a new label, the desk's guess, the list of keys."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from askless.desk.live.best_guess import BestGuess
from askless.desk.live.types import LabelRow
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.inbox.words import KEYS
from askless.service.pages.parts import one_line, percent, words
from askless.service.pages.seat import Seat

_OTHER = "Another question has come. What you typed was begun for the one before: send it only if it fits this one."


class NewLabel:
    """The form of a new label. What is typed stays over a restart of the service, and when the question goes.

    It was opened for one question. Where another has come meanwhile it says so, and what is sent first is not taken:
    an answer that was meant for one question never goes to the next by itself.
    """

    def __init__(self, seat: Seat, send: Callable[[int, str, str | None], Awaitable[None]]) -> None:
        self._seat, self._send = seat, send
        self._known: dict[str, LabelRow] = {}
        self._for: int | None = None
        self._shown: int | None = None
        self.is_open = False
        with ui.element("section").classes("card new-label").props('aria-label="New label"') as self._form:
            words("h2", "A new label")
            self._name = ui.input("Name", on_change=self._hint_at).props("outlined autocomplete=off maxlength=200")
            self._hint = words("p", "").classes("odd text").props("role=status")
            self._text = ui.textarea("Answer that is sent to the asker").props("outlined autogrow maxlength=10000")
            for field, name in ((self._name, "name"), (self._text, "answer")):
                field.props["data-keep"] = kept_name(seat.desk, name)
                field.on("keydown.ctrl.enter.prevent", self._sent, args=[]).on(
                    "keydown.meta.enter.prevent", self._sent, args=[]
                )
            # In the browser: who types on at once does so in the next field.
            follow = f"() => runMethod({self._text.id}, 'focus', [])"
            self._name.on("keydown.enter.exact.prevent", js_handler=follow)
            with ui.element("div").classes("sending"):
                words("span", "Ctrl + Enter sends, Esc leaves.").classes("soft for-keyboards")
                self._leave = ui.button("Leave").props("flat no-caps aria-keyshortcuts=Escape")
                ui.button("Answer with it", on_click=self._sent).props("unelevated no-caps")
        self._form.set_visibility(False)

    def on_leave(self, leave: Callable[[], Awaitable[None]]) -> None:
        """What the button to leave does."""
        self._leave.on_click(leave)

    def open(self, ticket: int | None, known: Sequence[LabelRow], name: str | None = None) -> None:
        """Open the form for a question, with a name where one was typed elsewhere."""
        if name is not None:
            self._name.set_value(name)
            keep(self._seat, "name", name)
        self._open(ticket, known)
        (self._text if name else self._name).run_method("focus")

    def _open(self, ticket: int | None, known: Sequence[LabelRow]) -> None:
        self._known = {row.name.casefold(): row for row in known}
        self._for = ticket
        self.is_open = True
        self._form.set_visibility(True)
        self._hint_at()
        keep(self._seat, "form", str(ticket or 0))

    def close(self, *, clear: bool = False) -> None:
        """Close it; with `clear` what was typed goes too."""
        self.is_open = False
        self._form.set_visibility(False)
        keep(self._seat, "form", "")
        if clear:
            self._name.set_value("")
            self._text.set_value("")
            keep(self._seat, "name", "")
            keep(self._seat, "answer", "")

    def restore(self, ticket: int | None, known: Sequence[LabelRow], kept: dict[str, str]) -> None:
        """Open it as it stood before the page was loaded anew."""
        self._name.set_value(kept.get("name", ""))
        self._text.set_value(kept.get("answer", ""))
        if kept.get("form"):
            self._open(int(kept["form"]) or None if kept["form"].isdecimal() else ticket, known)
            self.question_is(ticket)
            ui.run_javascript("askless.typeOn()")

    def question_is(self, ticket: int | None) -> None:
        """Which question is on the screen now."""
        self._shown = ticket
        self._hint_at()

    def _hint_at(self) -> None:
        """Say what is odd about sending this now."""
        known = self._known.get((self._name.value or "").strip().casefold())
        if self.is_open and self._for not in (None, self._shown):
            hint = _OTHER if self._shown else "The question that this was for is gone. What you typed stays here."
        elif known is not None:
            hint = f"“{known.name}” is there already. An answer text that you give here replaces its own."
        else:
            hint = ""
        self._hint.set_text(hint)

    async def _sent(self) -> None:
        name, text = (self._name.value or "").strip(), (self._text.value or "").strip()
        if not name:
            self._hint.set_text("A label needs a name.")
            self._name.run_method("focus")
        elif self._shown is None:
            self._hint.set_text("No question waits now. What you typed stays here.")
        elif self._for not in (None, self._shown):
            self._for = self._shown
            self._hint.set_text(f"{_OTHER} To do so, send it once more.")
        else:
            await self._send(self._shown, name, text or None)


async def take_guess(seat: Seat, guess: BestGuess) -> bool:
    """Show what the desk would guess, and why; whether it is taken."""
    with dialog(seat, "What the desk would guess") as opened:
        with ui.element("p").classes("inbox-guess"):
            words("strong", guess.label).classes("text")
            if guess.probability is not None:
                words("span", percent(guess.probability)).classes("likely")
        words("p", "It would say so by itself." if guess.sure else "It is not sure enough to say so by itself.")
        if guess.answer:
            words("p", f"Would be sent: {one_line(guess.answer, '', 400)}").classes("text soft")
        if guess.evidence:
            words("h3", "It rests on")
            with ui.element("ul").classes("inbox-parts"):
                for part in guess.evidence[:5]:
                    weight = f" ({percent(part.weight)})" if len(guess.evidence) > 1 else ""
                    words("li", one_line(part.text, part.key, 200) + weight).classes("text")
        with choices(opened):
            ui.button("Take it", on_click=lambda: opened.submit(True)).props("unelevated no-caps autofocus").classes(
                "inbox-first"
            )
    return bool(await opened)


async def show_keys(seat: Seat) -> None:
    """The list of keys."""
    with dialog(seat, "Keys") as opened:
        with ui.element("dl").classes("inbox-keys"):
            for key, does in KEYS:
                with ui.element("dt"):
                    words("kbd", key)
                words("dd", does)
        with ui.element("div").classes("ask-choices"):
            ui.button("Close", on_click=opened.close).props("unelevated no-caps autofocus").classes("inbox-first")
    await opened


# -- what the browser keeps ----------------------------------------------------------------------------------------
def kept_name(desk: str, name: str) -> str:
    """Under which name the browser keeps a text of this desk's inbox."""
    return f"inbox {desk} {name}"


def keep(seat: Seat, name: str, text: str) -> None:
    """Have the browser keep a text over a restart of the service."""
    with seat.client:
        ui.run_javascript(f"askless.keep({json.dumps(kept_name(seat.desk, name))}, {json.dumps(text)})")
