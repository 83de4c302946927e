"""The settings of a desk, for admins: what each does, what other costs would change, and what another admin did."""

from __future__ import annotations

from fastapi import Request
from nicegui import APIRouter, background_tasks, ui
from sqlalchemy import Connection, select

from askless.desk.live import configure
from askless.desk.live.desk import LiveDesk
from askless.desk.live.settings import LiveSettings
from askless.desk.live.what_if import effect_of_costs, ignores_costs
from askless.errors import Conflicting, InvalidInput
from askless.ledger import schema
from askless.ledger.events import CONFIGURED
from askless.service.keys import Role
from askless.service.pages.frame import frame, sit
from askless.service.pages.parts import words
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat
from askless.service.pages.settings.embedder import Embedder
from askless.service.pages.settings.field import Field
from askless.service.pages.settings.fields import CostsField, fields_of
from askless.service.pages.settings.unsaved import Unsaved
from askless.service.pages.settings.words import (
    COSTS_IGNORED,
    HELP,
    TITLES,
    changes_in_words,
    costs_in_words,
    effect_in_words,
)

router = APIRouter()

_LOOK_AT_JOB = 2.0  # seconds


@router.page("/{desk}/settings")
async def settings(request: Request, desk: str) -> None:
    """All settings of the desk."""
    seat = await sit(request, desk, Role.ADMIN)
    if seat is None:
        return
    stands = await seat.change(_settings)
    with frame(seat, "settings"):
        shown = _Settings(seat, stands)
    await shown.start()
    seat.on_change(shown.renew, every=_LOOK_AT_JOB)


class _Settings:
    """The form, and what the desk is set to."""

    def __init__(self, seat: Seat, stands: LiveSettings) -> None:
        self._seat, self._stands = seat, stands
        self._fields: dict[str, Field] = {}
        self._said = Said(seat)
        self._pausing()
        for title, makers in fields_of(stands, self._changed):
            with ui.element("section").classes("card setting-group"):
                words("h2", title)
                for make in makers:
                    field = make()
                    self._fields[field.name] = field
        self._bar()
        self._kept = Unsaved(seat, self._fields)
        self._embedder = Embedder(seat, self._said)
        with ui.element("section").classes("card setting-group"):
            words("h2", "Deleting the desk")
            words("p", "A desk is deleted with all that it holds, and not on this page. At the terminal:")
            words("code", f"askless desk delete {seat.desk}")

    def _pausing(self) -> None:
        with ui.element("section").classes("card setting-group"):
            words("h2", "Taking questions")
            self._state = words("p", "").props("role=status")
            self._pause = ui.button("Pause", on_click=lambda: self._set_paused(True)).props("outline no-caps")
            self._resume = ui.button("Resume", on_click=lambda: self._set_paused(False)).props("unelevated no-caps")

    def _bar(self) -> None:
        with ui.element("div").classes("save-bar card"):
            self._unsaved = words("span", "").classes("text").props("role=status")
            ui.space()
            self._reset = ui.button("Discard", on_click=self._discard).props("flat no-caps")
            # Never disabled: a click right after the typing would be lost, since the page has not heard of it yet.
            ui.button("Save", on_click=self._save).props("unelevated no-caps")

    # -- what changes ----------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """What is known only once the page is built."""
        self._show_state()
        self._show_unsaved()
        await self._embedder.renew()
        await self._show_effect()

    async def renew(self) -> None:
        """Show what the desk is set to by now; what is being typed stays."""
        await self._embedder.renew()
        now = await self._seat.change(_settings)
        if now == self._stands:
            return
        who = await self._seat.read_desk(_last_admin)
        self._stands = now
        for name, field in self._fields.items():
            field.set_to(_value(now, name), who)
        self._show_state()
        self._show_unsaved()
        await self._show_effect()

    def _show_state(self) -> None:
        paused = self._stands.paused
        self._state.set_text(
            "The desk is paused: new questions are refused, and what waits can be answered."
            if paused
            else "The desk takes questions. While it is paused, new ones are refused, and what waits can be answered."
        )
        self._pause.set_visibility(not paused)
        self._resume.set_visibility(paused)

    def _changed(self) -> None:
        self._show_unsaved()
        background_tasks.create(self._show_effect(), name="effect of costs")

    def _show_unsaved(self) -> None:
        changed = [TITLES[name].lower() for name, field in self._fields.items() if field.is_changed]
        self._unsaved.set_text(f"Not saved yet: {', '.join(changed)}." if changed else "Everything is saved.")
        self._kept.keep()
        self._reset.set_visibility(bool(changed))

    async def _show_effect(self) -> None:
        field = self._fields["costs"]
        if not isinstance(field, CostsField):
            return
        costs, ignored = field.typed(), self._are_costs_ignored()
        field.help.set_text(COSTS_IGNORED if ignored else HELP["costs"])
        if costs is None:
            field.effect.set_text("")
            return
        with self._seat.telling():
            effect = await self._seat.read_desk(effect_of_costs, costs)
            if field.typed() == costs and self._are_costs_ignored() is ignored:  # nothing else was typed meanwhile
                text = effect_in_words(effect, same=costs == field.base, ignored=ignored)
                field.effect.set_text(f"{costs_in_words(costs)} {text}")

    def _are_costs_ignored(self) -> bool:
        policy = self._fields["policy"]
        return ignores_costs(policy.typed() or policy.base)

    # -- what can be done ------------------------------------------------------------------------------------------
    async def _set_paused(self, paused: bool) -> None:
        change, who = configure.pause if paused else configure.resume, self._seat.who
        with self._seat.telling():
            await self._seat.change(lambda desk: change(desk, who))
            self._said("The desk is paused." if paused else "The desk takes questions again.")
            await self.renew()

    def _discard(self) -> None:
        for field in self._fields.values():
            field.take(field.base)

    async def _save(self) -> None:
        contested = [field.title.lower() for field in self._fields.values() if field.is_contested]
        if contested:
            self._seat.say(f"Decide first which {contested[0]} is to hold: yours or the other.", wrong=True)
            return
        if not any(field.is_changed for field in self._fields.values()):
            self._seat.say("Everything is saved already.")
            return
        changes, before, who = self._typed(), self._stands, self._seat.who
        if not changes:
            return
        with self._seat.telling():
            bases = {name: self._fields[name].base for name in changes}
            try:
                after = await self._seat.change(lambda desk: _configure(desk, changes, bases, who))
            except Conflicting:
                await self.renew()
                raise
            self._stands = after
            for name, field in self._fields.items():
                field.take(_value(after, name))
            back, set_to = ({name: _value(one, name) for name in changes} for one in (before, after))
            self._said(
                f"Saved. {changes_in_words(before, after)}.",
                lambda: self._seat.change(lambda desk: _configure(desk, back, set_to, who)),
            )

    def _typed(self) -> dict[str, object]:
        """What is to be changed; nothing where a field holds no value, which is said beside it."""
        changes = {}
        for name, field in self._fields.items():
            if field.is_changed:
                try:
                    changes[name] = field.read()
                    self._stands.changed(**{name: changes[name]})
                except InvalidInput as error:
                    field.refuse(str(error))
                    self._seat.say(f"Nothing is saved yet. {error}", wrong=True)
                    return {}
        return changes


def _settings(desk: LiveDesk) -> LiveSettings:
    return desk.settings


def _value(settings: LiveSettings, name: str) -> object:
    """A setting as its field has it."""
    value = getattr(settings, name)
    return value.value if name in ("mode", "when_able") else value


def _configure(desk: LiveDesk, changes: dict[str, object], bases: dict[str, object], who: str) -> LiveSettings:
    """Change the settings, unless another has changed one of them since the page showed it."""
    for name, base in bases.items():
        if _value(desk.settings, name) not in (base, changes[name]):
            raise Conflicting(f"Another admin has changed the {TITLES[name].lower()} meanwhile: nothing was changed.")
    return configure.configure(desk, changes, who)


def _last_admin(connection: Connection, desk: int) -> str | None:
    """Who has changed the settings last."""
    e = schema.events.c
    found = select(e.who).where(e.desk == desk, e.kind == CONFIGURED).order_by(e.id.desc()).limit(1)
    who: str | None = connection.execute(found).scalar()
    return who
