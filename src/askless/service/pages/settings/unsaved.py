"""What is typed on the settings page and not saved yet: kept in the browser's tab, so that a reload brings it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple
from typing import Any

from nicegui import ui

from askless.errors import InvalidInput
from askless.service.pages.seat import Seat
from askless.service.pages.settings.field import Field
from askless.types import Costs

_SECONDS = 10.0  # for the browser to say what it has


class Unsaved:
    """Keeps what the fields hold beyond what the desk is set to."""

    def __init__(self, seat: Seat, fields: Mapping[str, Field]) -> None:
        self._fields, self._name = fields, f"settings {seat.desk}"
        self._ready = False
        ui.timer(0, self._take_up, once=True)  # once the page is connected

    def keep(self) -> None:
        """Keep what is typed now; nothing once all is saved."""
        if not self._ready:  # what the tab has is not read yet
            return
        typed = {name: field.typed() for name, field in self._fields.items() if field.is_valid and field.is_changed}
        text = json.dumps(typed, default=astuple) if typed else ""
        ui.run_javascript(f"askless.keep({json.dumps(self._name)}, {json.dumps(text)})")

    async def _take_up(self) -> None:
        with suppress(TimeoutError):  # a browser that does not answer has nothing to give back
            kept = await ui.run_javascript(f"askless.kept({json.dumps(self._name)})", timeout=_SECONDS)
            for name, value in json.loads(kept or "{}").items():
                if name in self._fields:
                    self._show(self._fields[name], value)
        self._ready = True

    def _show(self, field: Field, value: Any) -> None:
        with suppress(InvalidInput, TypeError, ValueError):  # kept by a page of another version
            field.show(Costs(*value) if isinstance(field.base, Costs) else value)
