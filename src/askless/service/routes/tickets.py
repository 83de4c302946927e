"""Tickets: the next one, claim, answer, skip, release, undo."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from sqlalchemy import Connection

from askless.desk.live import read, tickets
from askless.desk.live.types import Ticket, TicketStatus
from askless.service.errors import problems
from askless.service.guard import Expert, TheService
from askless.service.keys import Role
from askless.service.results import AnsweredOut, TicketOut, TicketPage
from askless.service.schemas import AnswerBody, Cursor, Limit, Number, TicketStatusName
from askless.service.shown import answered_shown, ticket_shown

router = APIRouter(prefix="/desks/{desk}/tickets", tags=["tickets"])

_HELD = problems(409)


@router.get("", summary="List tickets", response_model=TicketPage)
async def list_some(
    service: TheService,
    at: Expert,
    status: Annotated[TicketStatusName | None, Query()] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Tickets in the order in which they were opened, without their offers: those come with a single ticket."""
    settings = await service.change(at.desk, lambda desk: desk.settings)
    wanted = None if status is None else TicketStatus(status)

    def page(connection: Connection, desk: int) -> read.Page[Ticket]:
        now = datetime.now(UTC)
        return read.tickets(connection, desk, blind=settings.blind, now=now, status=wanted, cursor=cursor, limit=limit)

    found = await service.read_desk(at.desk, page)
    return JSONResponse({"items": [ticket_shown(ticket) for ticket in found.rows], "next": found.cursor})


@router.post(
    "/next",
    summary="Take the next ticket",
    response_model=TicketOut,
    responses={204: {"description": "No ticket waits for you."}},
)
async def next_for_me(service: TheService, at: Expert) -> Response:
    """The most useful free ticket, the oldest where equal; it is yours for a while.

    Called again with the same key it gives the same ticket for as long as you hold it: answer, skip or release it to
    get another. So experts who work side by side need a key each.
    """
    found = await service.change(at.desk, lambda desk: tickets.next_ticket(desk, at.who))
    return Response(status_code=204) if found is None else JSONResponse(ticket_shown(found))


@router.get("/{number:int}", summary="Show a ticket", response_model=TicketOut)
async def show(service: TheService, at: Expert, number: Number) -> Response:
    """One ticket, with the labels to offer."""
    return JSONResponse(ticket_shown(await service.change(at.desk, lambda desk: tickets.show(desk, number))))


@router.post("/{number:int}/claim", summary="Claim a ticket", response_model=TicketOut, responses=_HELD)
async def claim(service: TheService, at: Expert, number: Number) -> Response:
    """Hold a ticket for a while, so that no other expert gets it; again: for longer."""
    found = await service.change(at.desk, lambda desk: tickets.claim(desk, number, at.who))
    return JSONResponse(ticket_shown(found))


@router.post("/{number:int}/answer", summary="Answer a ticket", response_model=AnsweredOut, responses=_HELD)
async def answer(service: TheService, at: Expert, number: Number, body: AnswerBody) -> Response:
    """Answer with a known or a new label. Of two experts one wins, and the other is told with 409.

    An answer to a ticket that was withdrawn, since the desk has guessed its query meanwhile, is taken as well: it is
    the expert's word, and stands from now on in place of the guess.
    """
    found = await service.change(
        at.desk, lambda desk: tickets.answer(desk, number, body.label, at.who, answer=body.answer)
    )
    return JSONResponse(answered_shown(found))


@router.post("/{number:int}/skip", summary="Skip a ticket", response_model=TicketOut, responses=_HELD)
async def skip(service: TheService, at: Expert, number: Number) -> Response:
    """Pass a ticket by: it goes to other experts."""
    found = await service.change(at.desk, lambda desk: tickets.skip(desk, number, at.who))
    return JSONResponse(ticket_shown(found))


@router.post("/{number:int}/release", summary="Release a ticket", response_model=TicketOut, responses=_HELD)
async def release(service: TheService, at: Expert, number: Number) -> Response:
    """Put a ticket back."""
    found = await service.change(at.desk, lambda desk: tickets.release(desk, number, at.who))
    return JSONResponse(ticket_shown(found))


@router.post("/{number:int}/undo", summary="Undo an answer or a skip", response_model=TicketOut, responses=_HELD)
async def undo(service: TheService, at: Expert, number: Number) -> Response:
    """Take back your answer, or your skip: the ticket is open again, and yours."""
    admin = at.caller.may(Role.ADMIN)
    found = await service.change(at.desk, lambda desk: tickets.undo(desk, number, at.who, admin=admin))
    return JSONResponse(ticket_shown(found))
