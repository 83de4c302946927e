"""The first page: the desks that one may see."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import APIRouter, ui
from sqlalchemy import Connection, func, select

from askless.desk.live.desk import live_desks
from askless.desk.live.types import TicketStatus
from askless.ledger import schema
from askless.service.pages.frame import dress, top
from askless.service.pages.parts import empty, link, words
from askless.service.pages.paths import page
from askless.service.pages.seat import Seat

router = APIRouter()


@router.page("/")
async def desks(request: Request) -> RedirectResponse | None:
    """The desks with what waits at each; with one desk only, its inbox."""
    seat = Seat(request)
    rows = [row for row in await seat.read(_desks) if seat.caller.sees(row[0])]
    if len(rows) == 1:
        return RedirectResponse(page(rows[0][0], "inbox"), 303)
    dress("Desks", seat)
    with top(seat):
        words("span", "askless").classes("desk-name")
    with ui.element("div").classes("content page-desks"):
        words("h1", "Desks")
        if not rows:
            with empty("There is no desk yet", "Make one at the terminal, then load this page again:"):
                words("code", "askless desk create support")
        for name, waiting in rows:
            with link("", page(name, "inbox")).classes("card desk"):
                words("strong", name)
                words("span", f"{waiting:,} waiting" if waiting else "nothing waits")
    return None


def _desks(connection: Connection) -> list[tuple[str, int]]:
    tickets = schema.tickets.c
    opened = select(tickets.desk, func.count()).where(tickets.status == TicketStatus.OPEN.value).group_by(tickets.desk)
    waiting = {desk: count for desk, count in connection.execute(opened)}  # noqa: C416
    found = connection.execute(live_desks().order_by(schema.desks.c.name))
    return [(row.name, int(waiting.get(row.id, 0))) for row in found]
