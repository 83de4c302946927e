"""What all fields of the settings page have: a title, what the setting does, and what another admin did to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from nicegui import ui

from askless.errors import InvalidInput
from askless.service.pages.parts import words
from askless.service.pages.settings.words import HELP, TITLES, said

Changed: TypeAlias = Callable[[], object]


class Field(ABC):
    """One setting. `base` is what the desk was set to when the page last showed it; `changed` is told of typing."""

    def __init__(self, name: str, base: Any, changed: Changed) -> None:
        self.name, self.base, self.title = name, base, TITLES[name]
        self._told, self._ready = changed, False
        with ui.element("div").classes("setting"):
            words("h3", self.title).props(f"id=title-{name}")
            self.help = words("p", HELP[name]).classes("soft").props(f"id=help-{name}")
            self.build()
            self._wrong = words("p", "").classes("bad").props("role=alert")
            self._notice = ui.element("div").classes("notice warn").props("role=alert")
        self.write(base)
        self._ready = True

    # -- what each kind does in its own way ------------------------------------------------------------------------
    @abstractmethod
    def build(self) -> None:
        """Make the elements that are typed into."""

    @abstractmethod
    def read(self) -> Any:
        """What is typed; refused where it is no value of the setting."""

    @abstractmethod
    def write(self, value: Any) -> None:
        """Show this value."""

    # -- what is typed ---------------------------------------------------------------------------------------------
    def changed(self) -> None:
        """Something was typed: say so where it is no value, and tell the page."""
        if not self._ready:  # the field itself is filling its elements
            return
        try:
            self.read()
            self.refuse("")
        except InvalidInput as error:
            self.refuse(str(error))
        self._told()

    def refuse(self, why: str) -> None:
        """Say beside the field what is wrong with it."""
        self._wrong.set_text(why)

    def typed(self) -> Any:
        """What is typed, or None where that is no value of the setting."""
        try:
            return self.read()
        except InvalidInput:
            return None

    @property
    def is_valid(self) -> bool:
        """Whether what is typed is a value of the setting."""
        try:
            self.read()
        except InvalidInput:
            return False
        return True

    @property
    def is_changed(self) -> bool:
        """Whether something else is typed than what the desk was set to."""
        try:
            return bool(self.read() != self.base)
        except InvalidInput:
            return True

    def described(self, element: ui.element) -> None:
        """Tie an element to the sentence that says what the setting does."""
        element.props["aria-describedby"] = f"help-{self.name}"

    # -- two admins ------------------------------------------------------------------------------------------------
    @property
    def is_contested(self) -> bool:
        """Whether another has set it meanwhile, and nothing was decided about that."""
        return bool(self._notice.default_slot.children)

    def set_to(self, value: Any, who: str | None) -> None:
        """The desk is set to this value by now: it is shown, or told where something else is typed here."""
        if value == self.base:
            return
        if not self.is_changed or self.typed() == value:
            self.take(value)
            return
        self.base = value
        self._notice.clear()
        with self._notice:
            by = who or "Someone at the terminal"
            words("span", f"{by} has set this to {said(self.name, value)} meanwhile.").classes("text")
            ui.button("Take that", on_click=lambda: self.take(value)).props("flat dense no-caps")
            ui.button("Keep mine", on_click=self._keep).props("flat dense no-caps")

    def take(self, value: Any) -> None:
        """Show what the desk is set to."""
        self.base = value
        self._notice.clear()
        self.show(value)

    def show(self, value: Any) -> None:
        """Show this value as if it had been typed."""
        self._ready = False
        self.write(value)
        self._ready = True
        self.changed()

    def _keep(self) -> None:
        self._notice.clear()
        self.changed()
