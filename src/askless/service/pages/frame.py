"""What every page of a desk has around it: where one is, where one can go, how much waits, light or dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui
from sqlalchemy import Connection, func, select

from askless.desk.live.types import TicketStatus
from askless.errors import UnknownDesk
from askless.ledger import schema
from askless.service.keys import Role
from askless.service.pages.parts import empty, link, words
from askless.service.pages.paths import ASSETS, PAGES, page
from askless.service.pages.seat import MOST_PAGES, Seat

THEME_COOKIE = "askless_theme"
_HEAD = (
    f'<link rel="stylesheet" href="{ASSETS}/askless.css"><script src="{ASSETS}/askless.js" defer></script>'
    '<meta name="robots" content="noindex">'
)


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a desk in the navigation."""

    name: str
    title: str
    icon: str
    admin: bool = False


PLACES = (
    Place("inbox", "Inbox", "inbox"),
    Place("queue", "Queue", "list"),
    Place("history", "History", "history"),
    Place("labels", "Labels", "sell"),
    Place("map", "Map", "scatter_plot"),
    Place("conflicts", "Conflicts", "call_split"),
    Place("dashboard", "Dashboard", "insights"),
    Place("settings", "Settings", "tune", admin=True),
)


async def sit(request: Request, desk: str, role: Role = Role.EXPERT) -> Seat | None:
    """A seat at the desk. Who may not sit there is told so on the page, and gets None.

    For who may not see a desk it is not there, as in the API.
    """
    seat = Seat(request, desk)
    names = {row.name for row in await seat.work(seat.service.desks.rows)}
    may = desk in names and seat.caller.sees(desk) and seat.caller.may(role)
    if may and not seat.crowded:
        return seat
    dress("Not found", seat)
    with top(seat):
        pass
    with ui.element("div").classes("content"):
        if may:
            title, text = "Too many pages are open", f"{seat.who} has more than {MOST_PAGES} open. Close some of them."
        elif desk not in names or not seat.caller.sees(desk):
            title, text = f"There is no desk {desk!r}", "Its name may have been mistyped, or it was deleted."
        else:
            title = f"This page needs a key with the role {role}"
            text = f"You are logged in as {seat.who}, of the role {seat.caller.role}."
        with empty(title, text):
            link("All desks", f"{PAGES}/")
    return None


async def is_blind(seat: Seat) -> bool:
    """Whether the pages of the desk must not tell an audit from another ticket. It can change while a page is open."""
    return (await seat.change(lambda desk: desk.settings)).blind


@contextmanager
def frame(seat: Seat, here: str) -> Iterator[None]:
    """The page of that name: what is put inside is its content."""
    place = next(place for place in PLACES if place.name == here)
    dress(f"{place.title} · {seat.desk}", seat)
    with top(seat):
        link(seat.desk, f"{PAGES}/").classes("desk-name").props["title"] = "All desks"
        with ui.element("nav").classes("places").props('aria-label="Pages of this desk"'):
            for other in PLACES:
                if seat.is_admin or not other.admin:
                    _place(seat, other, here)
    ui.run_javascript("askless.showPlace()")
    with ui.element("div").classes(f"content page-{here}"):
        words("h1", place.title).classes("unseen")
        yield


@contextmanager
def top(seat: Seat) -> Iterator[None]:
    """The bar above a page, with the way to all desks and one's own menu; what is put inside is between them."""
    with ui.header(elevated=False).classes("top"):
        _mark()
        yield
        _own_menu(seat)


def dress(title: str, seat: Seat) -> None:
    """Title, style and scripts of a page, in the light or dark that was chosen."""
    ui.page_title(f"{title} · askless")
    ui.add_head_html(_HEAD)
    chosen = seat.client.request.cookies.get(THEME_COOKIE)
    ui.dark_mode({"dark": True, "light": False}.get(chosen or ""))
    ui.colors(primary="#2f5bd7", secondary="#52606d", accent="#7a3ff2", positive="#1a7f4b", negative="#b3261e")


def _mark() -> None:
    with link("", f"{PAGES}/").classes("mark").props('aria-label="askless: all desks"'):
        ui.html(f'<img src="{ASSETS}/askless.svg" alt="" width="26" height="26">', sanitize=False)


def _place(seat: Seat, place: Place, here: str) -> None:
    there = link("", page(seat.desk, place.name)).classes("place")
    if place.name == here:
        there.classes("here").props('aria-current="page"')
    with there:
        ui.icon(place.icon).props("aria-hidden=true")
        ui.label(place.title)
        if place.name == "inbox":
            _waiting_badge(seat)


def _waiting_badge(seat: Seat) -> None:
    badge = ui.label("").classes("count").props('data-testid="waiting-count"')

    async def renew() -> None:
        try:
            waiting = await seat.read_desk(count_waiting)
        except UnknownDesk:
            ui.run_javascript("location.reload()")  # the page says then that the desk is gone, and nothing else
            return
        badge.set_text(f"{waiting:,}" if waiting else "")
        badge.props(f'aria-label="{waiting} waiting"')

    ui.timer(0, renew, once=True)
    seat.on_change(renew)


def count_waiting(connection: Connection, desk: int) -> int:
    """The number of open tickets."""
    tickets = schema.tickets.c
    opened = select(func.count()).where(tickets.desk == desk, tickets.status == TicketStatus.OPEN.value)
    return int(connection.execute(opened).scalar_one())


def _own_menu(seat: Seat) -> None:
    with ui.button(icon="account_circle").props('flat round dense aria-label="Your menu"').classes("own"), ui.menu():
        ui.item(f"{seat.who}, {seat.caller.role}").classes("who")
        ui.separator()
        for chosen, said in (("auto", "As the system"), ("light", "Light"), ("dark", "Dark")):
            ui.menu_item(said, lambda chosen=chosen: _set_theme(chosen))
        ui.separator()
        ui.menu_item("Log out", lambda: ui.run_javascript("askless.logOut()"))


def _set_theme(chosen: str) -> None:
    ui.run_javascript(f"askless.setTheme({chosen!r})")
