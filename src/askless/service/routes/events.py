"""What happens at a desk, as a stream for an inbox."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Response
from sqlalchemy import Connection, func, select
from sse_starlette import EventSourceResponse, ServerSentEvent

from askless.desk.live.types import TicketStatus
from askless.ledger import schema
from askless.service.guard import Expert, TheService
from askless.service.state import Service
from askless.service.streams import EVENT_STREAM, LastEvent, Place, event_stream, next_change, number_of

router = APIRouter(prefix="/desks/{desk}/events", tags=["events"])


@router.get(
    "",
    summary="Follow a desk",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "Events `change`.", "content": EVENT_STREAM},
    },
)
async def follow(service: TheService, at: Expert, last_event_id: LastEvent = None) -> Response:
    """Server-sent events: `{"event": number of the newest event, "waiting": open tickets}` after each change."""
    row = await service.work(service.desks.row, at.desk)
    place = service.wakes.take(row.id, at.who)
    return event_stream(service, place, _changes(service, place, number_of(last_event_id)))


async def _changes(service: Service, place: Place, seen: int) -> AsyncIterator[ServerSentEvent]:
    while not service.wakes.closing:
        newest, waiting = await service.read(_newest, place.desk)
        if newest is None:  # the desk was deleted
            return
        if newest > seen:
            seen = newest
            data = json.dumps({"event": newest, "waiting": waiting})
            yield ServerSentEvent(data, event="change", id=str(newest))
        await next_change(place.changed)


def _newest(connection: Connection, desk: int) -> tuple[int | None, int]:
    newest = connection.execute(select(func.max(schema.events.c.id)).where(schema.events.c.desk == desk)).scalar()
    tickets = schema.tickets.c
    opened = select(func.count()).where(tickets.desk == desk, tickets.status == TicketStatus.OPEN)
    return newest, connection.execute(opened).scalar_one()
