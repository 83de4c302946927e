"""The label that is picked out: its name, its answer text, its examples, and what can be done about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from nicegui import ui

from askless.desk.live import labels as live
from askless.desk.live.label_use import LabelUse, waiting_with
from askless.service.pages.choose import choose_label
from askless.service.pages.dialogs import sure, text_for
from askless.service.pages.labels.answer import AnswerText
from askless.service.pages.labels.examples import Examples
from askless.service.pages.parts import link, percent, words
from askless.service.pages.paths import page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat


class Panel:
    """What stands about one label. It is built once for each label that is picked, and then changed in place."""

    def __init__(self, seat: Seat, said: Said, renew: Callable[[], Awaitable[None]], close: Callable[[], None]) -> None:
        self._seat, self._said, self._renew_page, self._close = seat, said, renew, close
        self._number: int | None = None
        self._found: list[LabelUse] = []
        self._place = ui.element("section").classes("panel card").props("aria-labelledby=label-name")
        self._say_nothing_picked()

    def pick(self, number: int | None) -> None:
        """Show another label; `renew` fills it."""
        if number == self._number:
            return
        self._number = number
        self._place.clear()
        if number is None:
            self._say_nothing_picked()
            return
        with self._place:
            ui.button("All labels", icon="arrow_back", on_click=self._close).props("flat no-caps").classes("back")
            self._name = words("h2", "").classes("text").props("id=label-name tabindex=-1")
            self._facts = words("p", "").classes("soft")
            self._buttons()
            self._answer = AnswerText(self._seat, self._said, number)
            self._examples = Examples(self._seat, self._said, self._renew_page)

    def _say_nothing_picked(self) -> None:
        with self._place:
            words("h2", "No label is picked").props("id=label-name")
            words("p", "Pick a label to see its answer text and its examples.").classes("soft")

    def _buttons(self) -> None:
        with ui.element("div").classes("ask-tools"):
            ui.button("Rename", on_click=self._rename).props("outline no-caps dense")
            self._merging = ui.button("Merge into …", on_click=self._merge).props("outline no-caps dense")
            ui.button("Delete", on_click=self._delete).props("outline no-caps dense color=negative")
            self._map = link("See it on the map", "")

    async def renew(self, found: list[LabelUse]) -> None:
        """Show what stands now about the label."""
        self._found = found
        use = self._use()
        if use is None:
            return
        self._name.set_text(use.row.name)
        self._facts.set_text(_in_words(use))
        self._merging.set_enabled(len(found) > 1)
        query = urlencode({"label": use.row.name})
        self._map.props["href"] = f"{page(self._seat.desk, 'map')}?{query}"
        self._answer.renew(use.row.answer)
        await self._examples.renew(use.row.name)

    def _use(self) -> LabelUse | None:
        return next((use for use in self._found if use.row.id == self._number), None)

    # -- what can be done ------------------------------------------------------------------------------------------
    async def _rename(self) -> None:
        use = self._use()
        if use is None:
            return
        number, before, who = use.row.id, use.row.name, self._seat.who
        name = await text_for(self._seat, f"Rename {before}", "New name", before, yes="Rename")
        if name is None or name.strip() == before:
            return
        with self._seat.telling():
            row = await self._seat.change(lambda desk: live.rename(desk, number, name, who))
            self._said(
                f"{before} is called {row.name} now.",
                lambda: self._seat.change(lambda desk: live.rename(desk, number, before, who)),
            )
            await self._renew_page()

    async def _merge(self) -> None:
        use = self._use()
        if use is None:
            return
        name, number, who = use.row.name, use.row.id, self._seat.who
        with self._seat.telling():
            into = await choose_label(self._seat, f"Merge {name} into", other_than=name)
            if into is None:
                return
            blind = await self._seat.change(lambda desk: desk.settings.blind)
            waiting = await self._seat.read_desk(waiting_with, name, blind=blind)
            title = f"Merge {name} into {into}?"
            if await sure(self._seat, title, _merge_in_words(use, waiting, into), yes="Merge"):
                kept = await self._seat.change(lambda desk: live.merge(desk, number, into, who))
                self._said(f"{name} is merged into {kept.name}, which has {_examples(kept.examples)} now.")
                await self._renew_page()

    async def _delete(self) -> None:
        use = self._use()
        if use is None:
            return
        name, examples = use.row.name, use.row.examples
        text = f"{_examples(examples).capitalize()} of it {'is' if examples == 1 else 'are'} forgotten. "
        text = text if examples else "It has no examples. "
        text += "Questions keep what they were answered. This cannot be undone."
        if not await sure(self._seat, f"Delete {name}?", text, yes="Delete", typed=name if examples else None):
            return
        with self._seat.telling():
            number, who = use.row.id, self._seat.who
            forgotten = await self._seat.change(lambda desk: live.delete_label(desk, number, who))
            self._said(f"{name} is deleted; {_examples(forgotten)} forgotten.")
            await self._renew_page()


def _examples(count: int) -> str:
    return f"{count:,} example{'' if count == 1 else 's'}"


def _in_words(use: LabelUse) -> str:
    if use.share is None:
        return f"{_examples(use.row.examples)}. No question has been answered by an expert yet."
    return (
        f"{_examples(use.row.examples)}. Experts gave it as the answer to {use.calls:,} of {use.all_calls:,} "
        f"questions ({percent(use.share)})."
    )


def _merge_in_words(use: LabelUse, waiting: int, into: str) -> str:
    moves = _examples(use.row.examples)
    if waiting:
        moves += f" and {waiting:,} waiting suggestion{'' if waiting == 1 else 's'}"
    one = use.row.examples == 1 and not waiting
    return (
        f"{moves} {'moves' if one else 'move'} to {into}; the answer text of {into} stays, and {use.row.name} is gone. "
        "This cannot be undone."
    )
