"""The plain figures at the head of the dashboard: each a name, a value and a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from askless.service.pages.dashboard.data import Numbers
from askless.service.pages.dashboard.tables import Chart, number, text
from askless.service.pages.dashboard.words import duration, money, number_of, percent, true_rate, trust, wrong_of
from askless.service.pages.parts import link, words
from askless.service.pages.paths import page
from askless.service.pages.seat import Seat

_UNKNOWN = "\N{EN DASH}"
_NEEDS_AUDITS = "How often guesses are wrong is not known: turn audits on to measure it."


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them. With `audits` it cannot be had until audits are turned on."""

    name: str
    value: str
    note: str
    audits: bool = False


def figures(numbers: Numbers, currency: str) -> tuple[Figure, ...]:
    """The figures of a desk; with shadow mode, also those of the guesses that it recorded and did not give."""
    found = numbers.statistics
    wait = found.median_wait_seconds
    audits = f", {found.audits.audited:,} of them to audit a guess" if found.audits else ""
    asked = Figure("Answered by experts", f"{found.calls:,}", f"answers that experts gave{audits}")
    waiting = Figure("Waiting now", f"{numbers.waiting:,}", "questions that wait for an expert")
    waited = Figure(
        "Median wait",
        _UNKNOWN if wait is None else duration(wait),
        "nobody who waited has an answer yet" if wait is None else "half of those who waited had an answer sooner",
    )
    recorded = (_recorded(numbers), _shadow_errors(numbers)) if found.shadow_guesses or numbers.shadow else ()
    if numbers.shadow:
        return (*recorded, asked, waiting, waited)
    share = found.automated
    automated = Figure(
        "Answered automatically",
        _UNKNOWN if share is None else percent(share),
        f"{found.guesses:,} of {number_of(found.received, 'question', 'questions')} by a guess",
    )
    return (automated, asked, waiting, waited, _errors(numbers), _saved(numbers, currency), *recorded)


def summary(numbers: Numbers) -> Chart:
    """The same figures as a file has them."""
    found = numbers.statistics
    audits, shadow, saved = found.audits, found.shadow, found.saved
    rows = (
        ("received", found.received, None, None),
        ("guesses", found.guesses, None, None),
        ("automated", found.automated, None, None),
        ("calls", found.calls, None, None),
        ("waiting now", numbers.waiting, None, None),
        ("median wait in seconds", found.median_wait_seconds, None, None),
        ("audited", audits and audits.audited, None, None),
        ("audited error rate", *((audits.rate, audits.low, audits.high) if audits else (None,) * 3)),
        ("mean probability", found.mean_probability, None, None),
        ("guesses recorded in shadow mode", found.shadow_guesses, None, None),
        ("error rate in shadow mode", *((shadow.rate, shadow.low, shadow.high) if shadow else (None,) * 3)),
        ("saved", *((saved.value, saved.low, saved.high) if saved else (None,) * 3)),
    )
    columns = (text("figure", "Figure"), number("value", "Value"), number("low", "From"), number("high", "To"))
    return Chart("figures", "Figures", "", columns, rows, {})


class FigureRow:
    """The figures on the page, in place of those that stood there before."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._box = ui.element("dl").classes("figures")
        self._shown: dict[str, tuple[TextElement, TextElement, TextElement]] = {}

    def show(self, found: tuple[Figure, ...]) -> None:
        """Change what has changed; others stay as they are."""
        if [figure.name for figure in found] != list(self._shown):
            self._box.clear()
            with self._box:
                self._shown = {figure.name: self._add(figure) for figure in found}
        for figure in found:
            value, note, where = self._shown[figure.name]
            value.set_text(figure.value)
            note.set_text(figure.note)
            where.set_visibility(figure.audits and self._seat.is_admin)

    def _add(self, figure: Figure) -> tuple[TextElement, TextElement, TextElement]:
        with ui.element("div").classes("figure"):
            words("dt", figure.name)
            with ui.element("dd"):
                value = words("strong", figure.value)
                if figure.name == "Waiting now":
                    value.props("aria-live=polite")
                note = words("span", figure.note)
                where = link("Turn audits on", page(self._seat.desk, "settings"))
        return value, note, where


def _errors(numbers: Numbers) -> Figure:
    found, name = numbers.statistics, "Wrong guesses"
    if not found.guesses:
        return Figure(name, _UNKNOWN, "nothing was guessed yet")
    if found.audits is None:
        if numbers.settings.audit_rate:
            return Figure(name, "not measured yet", "No audit of this time has been answered yet.")
        return Figure(name, "not measured", _NEEDS_AUDITS, audits=True)
    return Figure(name, percent(found.audits.rate), trust(found.audits, found.mean_probability))


def _saved(numbers: Numbers, currency: str) -> Figure:
    found, name = numbers.statistics, "Saved"
    if found.guesses and found.audits is None:
        if numbers.settings.audit_rate:
            return Figure(name, _UNKNOWN, "This needs an answered audit: wrong guesses cost as well.")
        return Figure(name, _UNKNOWN, f"{_NEEDS_AUDITS} Wrong guesses cost as well.", audits=True)
    if found.saved is None:
        return Figure(name, _UNKNOWN, "Give the two prices below to see what was saved.")
    saved = found.saved
    largest = max(abs(saved.low), abs(saved.high))
    note = "against having experts answer all that is answered by now"
    if saved.low != saved.high:
        low, high = (money(amount, currency, beside=largest) for amount in (saved.low, saved.high))
        note += f"; between {low} and {high}, as far as the audits tell"
    return Figure(name, money(saved.value, currency, beside=largest), note)


def _recorded(numbers: Numbers) -> Figure:
    found = numbers.statistics
    share = f"{percent(found.shadow_guesses / found.received)} of " if found.received else ""
    note = (
        f"{share}{number_of(found.received, 'question', 'questions')} would have been answered by a guess. In shadow "
        "mode everything is asked, and the guess is only recorded."
    )
    return Figure("Guesses recorded", f"{found.shadow_guesses:,}", note)


def _shadow_errors(numbers: Numbers) -> Figure:
    rate = numbers.statistics.shadow
    if rate is None:
        return Figure("Of them wrong", _UNKNOWN, "none of them has an expert's answer yet")
    return Figure("Of them wrong", percent(rate.rate), f"{wrong_of(rate, 'answered')}; {true_rate(rate)}.")
