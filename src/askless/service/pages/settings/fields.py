"""The fields of the settings page: each shows one setting, and reads what was typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nicegui import ui

from askless.desk.live.settings import LiveSettings
from askless.errors import InvalidInput
from askless.policies.named import POLICIES
from askless.service import patterns
from askless.service.pages.parts import words
from askless.service.pages.settings.field import Changed, Field
from askless.service.pages.settings.words import CHOICES
from askless.types import Costs

_LARGEST = 1e6  # of a cost, as over HTTP
_THRESHOLDS = {"generalized-hull": 0.9, "ghc-nearest": 0.9, "similarity-threshold": 0.9, "active-perceptron": 0.95}
_POLICIES = ("self-tuning", "conservative-hull", *_THRESHOLDS, "always-ask")
_SHORT = {"chc": "conservative-hull", "ghc": "generalized-hull", "amp": "active-perceptron"}


def number(label: str, changed: Changed, value: float | None = None) -> ui.number:
    """A field for a number. It says what was typed once the typing rests."""
    field = ui.number(label, value=value, on_change=lambda: changed())
    return field.props("outlined dense debounce=250 autocomplete=off step=any")


class Number(Field):
    """A number. With `percent` it is typed in percent; with `may_lack` an empty field is None."""

    def __init__(
        self,
        name: str,
        base: Any,
        changed: Changed,
        *,
        unit: str,
        percent: bool = False,
        may_lack: bool = False,
    ) -> None:
        self._unit, self._percent, self._may_lack = unit, percent, may_lack
        super().__init__(name, base, changed)

    def build(self) -> None:
        """A field with its unit behind it."""
        self._field = number(self._unit.capitalize(), self.changed)
        self.described(self._field)

    def read(self) -> Any:
        """The number; a whole one where the setting is one."""
        typed = self._field.value
        if typed is None:
            if self._may_lack:
                return None
            raise InvalidInput(f"{self.title} needs a number.")
        if self._percent:
            return float(typed) / 100
        return int(typed) if float(typed).is_integer() else float(typed)

    def write(self, value: Any) -> None:
        """Show this number."""
        self._field.set_value(None if value is None else round(value * 100, 6) if self._percent else value)


class Choice(Field):
    """One of a few values, all of them to be seen."""

    def build(self) -> None:
        """A radio button for each."""
        self._field = ui.radio(CHOICES[self.name], on_change=lambda: self.changed())
        self._field.props["aria-labelledby"] = f"title-{self.name}"
        self._field.props["role"] = "radiogroup"

    def read(self) -> Any:
        """The value that is chosen."""
        return self._field.value

    def write(self, value: Any) -> None:
        """Choose this value."""
        self._field.set_value(str(value))


class Switch(Field):
    """Yes or no."""

    def build(self) -> None:
        """One switch."""
        self._field = ui.switch(self.title, on_change=lambda: self.changed())
        self.described(self._field)

    def read(self) -> Any:
        """Whether it is on."""
        return bool(self._field.value)

    def write(self, value: Any) -> None:
        """Turn it on or off."""
        self._field.set_value(bool(value))


class CostsField(Field):
    """Three numbers; `effect` shows below them what they would have changed."""

    def build(self) -> None:
        """A field for each, and the place for their effect."""
        with ui.element("div").classes("fields"):
            self._fields = [
                number(label, self.changed) for label in ("For a question", "For a right guess", "For a wrong guess")
            ]
        for field in self._fields:
            self.described(field)
        self.effect = words("p", "").classes("effect").props("role=status aria-live=polite")

    def read(self) -> Costs:
        """The costs; refused where one is missing or they do not go together."""
        typed = [field.value for field in self._fields]
        if any(value is None for value in typed):
            raise InvalidInput("Costs are three numbers; one of them is missing.")
        if any(abs(value) > _LARGEST for value in typed):
            raise InvalidInput(f"Costs lie between {-_LARGEST:,.0f} and {_LARGEST:,.0f}.")
        return Costs(*(float(value) for value in typed))

    def write(self, value: Costs) -> None:
        """Show these costs."""
        for field, one in zip(self._fields, (value.call, value.right, value.wrong), strict=True):
            field.set_value(int(one) if one.is_integer() else one)


class PolicyField(Field):
    """A policy by name, with its threshold where it has one. One that was set on the server can be kept."""

    def build(self) -> None:
        """A list of names with what each does, and a field for the threshold."""
        options = {name: f"{name}: {POLICIES[name].summary}" for name in _POLICIES}
        self._own = None if _kind(self.base)[0] in options else self.base
        if self._own is not None:
            options[self._own] = f"{self._own}: as it was set on the server"
        with ui.element("div").classes("fields"):
            self._field = ui.select(options, label="Policy", on_change=lambda: self._choose()).props("outlined dense")
            self._threshold = number("Threshold, from 0 to 1", self.changed)
        for field in (self._field, self._threshold):
            self.described(field)

    def _choose(self) -> None:
        usual = _THRESHOLDS.get(self._field.value)
        self._threshold.set_visibility(usual is not None)
        if usual is not None and self._threshold.value is None:
            self._threshold.set_value(usual)
        self.changed()

    def read(self) -> str:
        """The policy as the desk writes it."""
        name = str(self._field.value)
        if name == self._own or (name, self._threshold.value) == _kind(self.base):
            return str(self.base)
        if name in _THRESHOLDS:
            if self._threshold.value is None:
                raise InvalidInput(f"The policy {name} needs a threshold, as in 0.9.")
            name = f"{name}:{self._threshold.value:g}"
        if not re.fullmatch(patterns.POLICY, name):
            raise InvalidInput("A threshold lies between 0 and 1 and has at most four digits, as in 0.9.")
        return name

    def write(self, value: str) -> None:
        """Show this policy."""
        name, threshold = _kind(value)
        self._threshold.set_value(threshold)
        self._field.set_value(name if self._own is None or value != self._own else self._own)
        self._threshold.set_visibility(self._field.value in _THRESHOLDS)


def _kind(policy: str) -> tuple[str, float | None]:
    """The name of a policy as the list has it, and its threshold; what is written otherwise is its own name."""
    name, _, rest = policy.partition(":")
    name = _SHORT.get(name, name)
    if name in _THRESHOLDS and re.fullmatch(patterns.POLICY, policy):
        return name, float(rest) if rest else _THRESHOLDS[name]
    return (name, None) if name in _POLICIES and not rest else (policy, None)


def fields_of(settings: LiveSettings, changed: Callable[[], None]) -> list[tuple[str, list[Callable[[], Field]]]]:
    """The sections of the page, each with what makes its fields, in order."""
    s = settings
    return [
        (
            "Deciding",
            [
                lambda: CostsField("costs", s.costs, changed),
                lambda: PolicyField("policy", s.policy, changed),
                lambda: Choice("mode", s.mode.value, changed),
                lambda: Number("audit_rate", s.audit_rate, changed, unit="percent", percent=True),
            ],
        ),
        (
            "Experts",
            [
                lambda: Choice("when_able", s.when_able.value, changed),
                lambda: Number("lease_seconds", s.lease_seconds, changed, unit="seconds"),
            ],
        ),
        (
            "Privacy",
            [
                lambda: Number("retention_days", s.retention_days, changed, unit="days", may_lack=True),
                lambda: Switch("retain_examples", s.retain_examples, changed),
                lambda: Switch("share_examples", s.share_examples, changed),
            ],
        ),
    ]
