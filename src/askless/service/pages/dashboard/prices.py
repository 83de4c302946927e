"""The prices from which the dashboard works out the money saved. They stay in the browser of who typed them."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from nicegui import ui

from askless.desk.live.statistics import Prices
from askless.service.pages.parts import words
from askless.service.pages.seat import Seat

_MOST = 1e9
_LONGEST_SIGN = 8
_SECONDS = 10.0  # for the browser to say what it has


class PriceFields:
    """Three fields; `changed` is called once they hold what the browser has kept, and whenever one is changed."""

    def __init__(self, seat: Seat, changed: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._changed = seat, changed
        self._loaded = False
        with ui.element("section").classes("card prices") as self.box:
            words("h2", "Prices")
            with ui.element("div").classes("fields"):
                self._call = self._number("An expert's answer costs")
                self._mistake = self._number("A wrong answer costs")
                self._sign = ui.input("Currency sign").props(f"outlined dense debounce=400 maxlength={_LONGEST_SIGN}")
            words("p", "For the money saved; kept in this browser alone.").classes("soft")
        for field in (self._call, self._mistake, self._sign):
            field.on_value_change(self._typed)
        ui.timer(0, self._load, once=True)

    @property
    def prices(self) -> Prices | None:
        """Both prices, where both can be used."""
        call, mistake = _price(self._call.value), _price(self._mistake.value)
        return None if call is None or mistake is None else Prices(call, mistake)

    @property
    def currency(self) -> str:
        """What stands before an amount."""
        return str(self._sign.value or "").strip()[:_LONGEST_SIGN]

    def _number(self, label: str) -> ui.number:
        refused = {f"A number from 0 to {_MOST:,.0f}": lambda value: value is None or _price(value) is not None}
        return ui.number(label, validation=refused).props(
            "outlined dense hide-bottom-space debounce=400 min=0 step=any"
        )

    async def _load(self) -> None:
        kept: Any = None
        with suppress(TimeoutError):  # a browser that does not answer, as one that left, has no prices
            kept = await ui.run_javascript(f"dashboard.prices({json.dumps(self._seat.desk)})", timeout=_SECONDS)
        kept = kept if isinstance(kept, dict) else {}
        self._call.value, self._mistake.value = _price(kept.get("call")), _price(kept.get("mistake"))
        self._sign.value = str(kept.get("currency", ""))[:_LONGEST_SIGN]
        self._loaded = True
        if self.prices is not None:
            await self._changed()

    async def _typed(self) -> None:
        if not self._loaded:
            return
        kept = {"call": self._call.value, "mistake": self._mistake.value, "currency": self.currency}
        ui.run_javascript(f"dashboard.keepPrices({json.dumps(self._seat.desk)}, {json.dumps(kept)})")
        await self._changed()


def _price(value: Any) -> float | None:
    """A price that can be used."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= _MOST else None
