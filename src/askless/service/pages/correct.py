"""Correcting what was decided: another label for a query, or forgetting an example, each with a way back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from askless.desk.live import examples
from askless.service.pages.choose import choose_label
from askless.service.pages.dialogs import sure
from askless.service.pages.parts import one_line
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

_SHOWN = 60  # characters of a text in a line about it


class Corrections:
    """What an expert corrects on a page; `said` tells of it, `done` renews the page."""

    def __init__(self, seat: Seat, said: Said, done: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._said, self._done = seat, said, done

    async def relabel(self, key: str, text: str | None, label: str | None, *, example: bool) -> bool:
        """Ask for another label and give the query that one; whether it was done.

        An example can get its label back. A guess cannot: it is an example from here on.
        """
        short = one_line(text, key, _SHOWN)
        to = await choose_label(self._seat, f"Label for “{short}”")
        if to is None or (example and to == label):
            return False
        if not example and not await sure(
            self._seat,
            f"Make it an example of “{to}”?",
            "The desk learns from it at once. The guess itself cannot be brought back; the example can be corrected "
            "again, or forgotten.",
            yes="Make it an example",
            colour="primary",
        ):
            return False
        await self._give(key, to)
        back = label if example else None
        self._said(f"“{short}” is an example of “{to}” now.", None if back is None else lambda: self._give(key, back))
        return True

    async def forget(self, key: str, text: str | None, label: str) -> bool:
        """Ask whether the example is to be forgotten and do it; whether it was done."""
        short, seat = one_line(text, key, _SHOWN), self._seat
        why = f"“{short}” is no example of “{label}” any more: the desk decides as if it had never had it."
        if not await sure(seat, "Forget this example?", f"{why} The question keeps its label.", yes="Forget it"):
            return False
        await seat.change(lambda desk: examples.forget(desk, key, seat.who))
        self._said(f"“{short}” is forgotten as an example.", lambda: self._give(key, label))
        await self._done()
        return True

    async def _give(self, key: str, label: str) -> None:
        await self._seat.change(lambda desk: examples.relabel(desk, key, label, self._seat.who))
        await self._done()
