"""A dialog to choose a label: by a few letters of its name, or a new one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from askless.desk.live import labels
from askless.desk.live.types import LabelRow
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.parts import one_line, words
from askless.service.pages.seat import Seat

_SHOWN = 8
_LONGEST = 200  # letters of what was typed that count
_LIKE = 70.0  # of 100
_MOST = 1000  # names that are put in order by their likeness


async def choose_label(seat: Seat, title: str, *, other_than: str | None = None) -> str | None:
    """The name of the label that was chosen, a known or a new one; None where it was left.

    With `other_than`, it is one of the others that the desk has.
    """
    known = [row for row in await seat.read_desk(labels.rows) if row.name != other_than]
    with dialog(seat, title) as opened:
        opened.props("transition-duration=0")  # so that the first letters typed are not lost
        _Choice(opened, known, new=other_than is None)
        with choices(opened):  # a phone has no Escape
            pass
    found = await opened
    return None if found is None else str(found)


def matching(text: str, names: Sequence[str]) -> list[str]:
    """The names that the text may mean, the likeliest first.

    Those come first that hold all its letters in that order; where they are few, those follow that are like it, with a
    slip or with words in another order. The time grows with the lengths alone, whatever was typed.
    """
    wanted = text.strip().casefold()[:_LONGEST]
    if not wanted:
        return list(names)
    holding = [name for name in names if _holds(name.casefold(), wanted)]
    found = _by_likeness(wanted, holding[:_MOST], 0.0) + holding[_MOST:]
    if len(found) < _SHOWN:
        others = [name for name in names if name not in set(holding)]
        found += _by_likeness(wanted, others[:_MOST], _LIKE)
    return found


def _by_likeness(wanted: str, names: Sequence[str], least: float) -> list[str]:
    from rapidfuzz import fuzz, process, utils

    clean = utils.default_process
    best = process.extract(wanted, names, scorer=fuzz.WRatio, processor=clean, score_cutoff=least, limit=None)
    return [name for name, _, _ in best]


def _holds(name: str, letters: str) -> bool:
    """Whether the name has all these letters in that order."""
    rest = iter(name)
    return all(letter in rest for letter in letters if not letter.isspace())


class _Choice:
    """The field and the list under it: arrow keys move in the list while one types, Enter takes."""

    def __init__(self, opened: ui.dialog, known: Sequence[LabelRow], *, new: bool) -> None:
        self._opened, self._new = opened, new
        self._answers = {row.name: row.answer for row in known}
        self._shown: list[str] = []
        self._at = 0
        self._field = ui.input("Name of the label", on_change=self._typed).props("outlined autofocus autocomplete=off")
        self._field.props("role=combobox aria-expanded=true aria-autocomplete=list")
        self._field.on("keydown.down.prevent", lambda: self._move(1)).on("keydown.up.prevent", lambda: self._move(-1))
        self._field.on("keydown.enter.prevent", lambda: self._take(self._at))
        self._list = ui.element("div").classes("options").props('role=listbox aria-label="Labels"')
        self._field.props["aria-controls"] = self._list.html_id
        self._hint = words("p", "").classes("soft").props("role=status")
        self._renew("")

    def _typed(self, event: ValueChangeEventArguments[str | None]) -> None:
        self._renew(event.value or "")

    def _renew(self, text: str) -> None:
        found = matching(text, list(self._answers))
        new = " ".join(text.split())
        self._shown, self._at = found[:_SHOWN], 0
        if new and self._new and new.casefold() not in {name.casefold() for name in self._answers}:
            self._shown.append(new)
        self._list.clear()
        with self._list:
            for place, name in enumerate(self._shown):
                self._option(place, name)
        more = len(found) - _SHOWN
        self._hint.set_text(self._said(more))
        self._mark()

    def _said(self, more: int) -> str:
        if not self._shown and not self._new:
            return "No other label is like that."
        if not self._shown:
            return "The desk has no label yet: type the name of the first one."
        return f"{more:,} more: type a few letters of the name." if more > 0 else ""

    def _option(self, place: int, name: str) -> None:
        option = ui.element("div").classes("option").props("role=option").on("click", partial(self._take, place))
        with option:
            if name in self._answers:
                words("strong", name).classes("text")
                if self._answers[name]:
                    words("span", one_line(self._answers[name], "", 120)).classes("soft text")
            else:
                words("strong", f"New label: {name}").classes("text")

    def _move(self, step: int) -> None:
        if self._shown:
            self._at = (self._at + step) % len(self._shown)
            self._mark()

    def _mark(self) -> None:
        for place, option in enumerate(self._list.default_slot.children):
            option.props["aria-selected"] = "true" if place == self._at else "false"
            if place == self._at:
                self._field.props["aria-activedescendant"] = option.html_id

    def _take(self, place: int) -> None:
        if place < len(self._shown):
            self._opened.submit(self._shown[place])
