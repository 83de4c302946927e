"""The conflicts: where experts have contradicted each other, with the examples behind it, to be corrected there."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from fastapi import Request
from nicegui import APIRouter, ui
from nicegui.element import Element
from sqlalchemy import Connection

from askless.desk.live import conflicts as live
from askless.desk.live.conflicts import Conflict, Contradiction, Side
from askless.desk.live.types import Evidence
from askless.service.pages.correct import Corrections
from askless.service.pages.frame import frame, is_blind, sit
from askless.service.pages.keyed import Keyed
from askless.service.pages.parts import empty, link, moment, one_line, percent, words
from askless.service.pages.paths import page
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

router = APIRouter()

_MOST = 25  # conflicts whose causes are worked out for a page
_SHOWN = 5  # examples of one side


@dataclass(frozen=True, slots=True)
class Between:
    """A question that lies in several hulls at once, with the sides that hold it; without `conflict`, unnamed."""

    conflict: Conflict | None
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to settle, and whether more waits behind it."""

    between: dict[Hashable, Between]
    equal: dict[Hashable, Contradiction]
    more: bool


def find(connection: Connection, desk: int, *, blind: bool) -> Found:
    """The conflicts that stand still: two hulls or more hold the question. A blind desk does not tell the question."""
    listed = live.conflicts(connection, desk, limit=_MOST + 1)
    between: dict[Hashable, Between] = {}
    for conflict in listed[:_MOST]:
        inside = [side for side in live.causes(connection, desk, conflict.query, conflict.labels) if side.inside]
        if len(inside) > 1:
            between[conflict.query] = Between(None if blind else conflict, tuple(inside))
    groups = live.contradictions(connection, desk, limit=_MOST + 1)
    equal: dict[Hashable, Contradiction] = {
        tuple(sorted(one.key for one in group.examples)): group for group in groups[:_MOST]
    }
    return Found(between, equal, max(len(listed), len(groups)) > _MOST)


@router.page("/{desk}/conflicts")
async def conflicts(request: Request, desk: str) -> None:
    """Questions between two labels, and equal questions with different ones."""
    seat = await sit(request, desk)
    if seat is None:
        return
    blind = await is_blind(seat)
    shown = Conflicts(seat, blind=blind)
    first = await shown.read()
    with frame(seat, "conflicts"):
        shown.build(first)
    seat.on_change(shown.renew)


class Conflicts:
    """The two lists; a conflict goes by itself once it is settled, here or elsewhere."""

    def __init__(self, seat: Seat, *, blind: bool) -> None:
        self._seat, self._blind = seat, blind

    async def read(self) -> Found:
        """What there is to settle now."""
        return await self._seat.read_desk(find, blind=self._blind)

    async def renew(self) -> None:
        """Show what there is to settle now; what has not changed stays as it is."""
        if await is_blind(self._seat) is not self._blind:
            self._seat.go("conflicts")  # what may be shown has changed
            return
        self._show(await self.read())

    def build(self, first: Found) -> None:
        """All of the page."""
        self._none = ui.element("div")
        with ui.element("section") as self._equal_part:
            words("h2", "Equal questions with different labels")
            words("p", "These examples are alike to the desk. Give them one label, or forget what is wrong.").classes(
                "soft"
            )
            self._equal: Keyed[Contradiction] = Keyed(ui.element("div").classes("conflicts"), self._make_equal)
        with ui.element("section") as self._between_part:
            words("h2", "Questions between labels")
            words("p", "Each of these waits because examples of several labels surround it.").classes("soft")
            self._between: Keyed[Between] = Keyed(ui.element("div").classes("conflicts"), self._make_between)
        self._more = words("p", "There are more: they come up as these are settled.").classes("soft")
        self._corrections = Corrections(self._seat, Said(self._seat), self.renew)
        self._show(first)

    def _show(self, found: Found) -> None:
        self._equal.show(found.equal)
        self._between.show(found.between)
        self._equal_part.set_visibility(bool(found.equal))
        self._between_part.set_visibility(bool(found.between))
        self._more.set_visibility(found.more)
        self._none.clear()
        if not found.equal and not found.between:
            with self._none:
                _nothing()

    # -- the cards -------------------------------------------------------------------------------------------------
    def _make_equal(self, group: Contradiction) -> tuple[Element, partial[None]]:
        card = ui.element("article").classes("card conflict")
        fill = partial(self._fill_equal, card)
        fill(group)
        return card, fill

    def _make_between(self, between: Between) -> tuple[Element, partial[None]]:
        card = ui.element("article").classes("card conflict")
        fill = partial(self._fill_between, card)
        fill(between)
        return card, fill

    def _fill_equal(self, card: Element, group: Contradiction) -> None:
        card.clear()
        by_label: dict[str, list[Evidence]] = {}
        for example in group.examples:
            by_label.setdefault(example.label, []).append(example)
        with card:
            words("h3", one_line(group.examples[0].text, group.examples[0].key)).classes("text")
            with ui.element("div").classes("sides"):
                for label, examples in by_label.items():
                    self._side(label, examples, weights=False)

    def _fill_between(self, card: Element, between: Between) -> None:
        card.clear()
        conflict = between.conflict
        with card:
            if conflict is None:
                words("h3", f"A question between {_named(between.sides)}").classes("text")
                words("p", "The question itself is not shown: answers at this desk measure its guesses.").classes(
                    "soft"
                )
            else:
                words("h3", one_line(conflict.text, conflict.key)).classes("text")
                with ui.element("p").classes("soft facts"):
                    moment(conflict.received_at, datetime.now(UTC))
                    if conflict.ticket is not None:
                        link("Answer it in the queue", f"{page(self._seat.desk, 'queue')}?open={conflict.ticket}")
            with ui.element("div").classes("sides"):
                for side in between.sides:
                    self._side(side.label, list(side.examples), weights=True)

    def _side(self, label: str, examples: list[Evidence], *, weights: bool) -> None:
        whole = sum(one.weight for one in examples) or 1.0
        with ui.element("div").classes("side"):
            words("h4", label).classes("text")
            with ui.element("ul"):
                for one in examples[:_SHOWN]:
                    self._example(one, one.weight / whole if weights else None)
            if len(examples) > _SHOWN:
                words("p", f"and {len(examples) - _SHOWN:,} more").classes("soft")

    def _example(self, example: Evidence, part: float | None) -> None:
        short = one_line(example.text, example.key, 160)
        with ui.element("li"):
            with ui.element("p").classes("example"):
                words("span", short).classes("text")
                if part is not None:
                    shown = words("span", percent(part)).classes("soft")
                    shown.props["title"] = "its part in the point of the hull that the question is at"
            with ui.element("div").classes("example-actions"):
                for said, does in (("Correct", self._correct), ("Forget", self._forget)):
                    button = ui.button(said, on_click=partial(does, example)).props("flat dense no-caps")
                    button.props["aria-label"] = f"{said}: {short[:60]} ({example.label})"

    async def _correct(self, example: Evidence) -> None:
        with self._seat.telling():
            await self._corrections.relabel(example.key, example.text, example.label, example=True)

    async def _forget(self, example: Evidence) -> None:
        with self._seat.telling():
            await self._corrections.forget(example.key, example.text, example.label)


def _named(sides: tuple[Side, ...]) -> str:
    names = [f"“{side.label}”" for side in sides]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _nothing() -> None:
    with empty(
        "No conflicts",
        "A conflict is a question that the examples of two labels both claim, or two equal questions that experts gave "
        "different labels. The desk asks about such questions and lists them here, with the examples that cause it.",
    ):
        pass
