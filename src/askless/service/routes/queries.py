"""Queries: submit, fetch, wait, list, erase, and say that a guess is wrong."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.convertors import Convertor, register_url_convertor

from askless.desk.live import erase, feedback, read
from askless.desk.live.types import NewQuery, Outcome, QueryStatus
from askless.service import patterns
from askless.service.bodies import BodyRoute, LongResponse
from askless.service.errors import contradictions, problems
from askless.service.guard import Admin, AtDesk, Client, Expert, TheService
from askless.service.keys import Role
from askless.service.results import BatchOut, OutcomeOut, QueryPage
from askless.service.schemas import BatchBody, Cursor, FeedbackBody, LabelName, Limit, NewQueryBody, QueryIdPath, Status
from askless.service.sharing import Sharing, sees_examples, sharing
from askless.service.shown import outcome_shown, query_shown
from askless.service.state import Service
from askless.service.streams import EVENT_STREAM, LONGEST_WAIT, LastEvent, Place, event_stream, next_change, number_of


class _QueryId(Convertor[str]):
    """Any id but `batch`, which is a path of its own: what asks for a query of that name gets 405, not 404."""

    regex = "(?!batch(?:/|$))[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("query", _QueryId())
router = APIRouter(prefix="/desks/{desk}/queries", tags=["queries"], lifespan=sharing, route_class=BodyRoute)

_ASKED: dict[int | str, dict[str, Any]] = {
    202: {"model": OutcomeOut, "description": "An expert is asked: `ticket` waits."}
}


@router.post("", summary="Submit a query", response_model=OutcomeOut, responses={**_ASKED, **problems(409)})
async def submit(request: Request, service: TheService, at: Client, body: NewQueryBody) -> Response:
    """Submit a query: 200 with a guess, or 202 with the ticket of the expert who is asked.

    The same id again gives the outcome as it stands now; the same id with another text is refused with 409.
    A caller that hangs up loses nothing: the query is decided, and can be fetched by its id.
    """
    (outcome,) = await _submit(request, service, at, [body])
    (shown,) = await _shown(request, service, at, [outcome])
    return JSONResponse(shown, 202 if outcome.status is QueryStatus.ASKED else 200)


@router.post("/batch", summary="Submit many queries", response_model=BatchOut, responses=problems(409))
async def submit_batch(request: Request, service: TheService, at: Client, body: BatchBody) -> Response:
    """Submit up to 1,000 queries: all are taken, or none. Outcomes come in the same order."""
    outcomes = await _submit(request, service, at, body.queries)
    return LongResponse({"results": await _shown(request, service, at, outcomes)})


@router.get("", summary="List queries", response_model=QueryPage)
async def list_some(
    service: TheService,
    at: Expert,
    status: Annotated[Status | None, Query()] = None,
    label: Annotated[LabelName | None, Query()] = None,
    search: Annotated[str | None, Query(max_length=200, pattern=patterns.TEXT)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Queries with what was decided and why, the newest first; `search` is a piece of the text, or an id.

    At a desk with audits an expert's list leaves out what waits for an answer: it would show the guess.
    """
    wanted = None if status is None else QueryStatus(status)
    blind = await _is_blind(service, at)
    page = await service.read_desk(
        at.desk, read.queries, status=wanted, label=label, search=search, cursor=cursor, limit=limit, blind=blind
    )
    return JSONResponse({"items": [query_shown(row) for row in page.rows], "next": page.cursor})


@router.get("/{id:query}", summary="Fetch a query, or wait for its answer", response_model=OutcomeOut)
async def fetch(
    request: Request,
    service: TheService,
    at: Client,
    id: QueryIdPath,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for an answer.")
    ] = 0.0,
) -> Response:
    """What stands about a query. With `wait`, comes back once it is not waiting any more, or after so many seconds."""
    outcome = await _outcome(service, at, id)
    if wait and outcome.waits:
        outcome = await _answered(request, service, at, id, wait)
    (shown,) = await _shown(request, service, at, [outcome])
    return JSONResponse(shown)


@router.get(
    "/{id:query}/events",
    summary="Follow a query",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "Events `outcome`.", "content": EVENT_STREAM},
        204: {"description": "Nothing more will come after Last-Event-ID."},
    },
)
async def watch(
    request: Request, service: TheService, at: Client, id: QueryIdPath, last_event_id: LastEvent = None
) -> Response:
    """The outcome, and each change of it, as server-sent events; ends once the query does not wait any more."""
    outcome = await _outcome(service, at, id)
    seen = number_of(last_event_id)
    if not outcome.waits and outcome.event <= seen:
        return Response(status_code=204)
    row = await service.work(service.desks.row, at.desk)
    place = service.wakes.take(row.id, at.who)
    return event_stream(service, place, _changes(request, service, place, at, id, seen))


@router.post(
    "/{id:query}/feedback", summary="Say that a guess is wrong", response_model=OutcomeOut, responses=problems(409)
)
async def complain(request: Request, service: TheService, at: Client, id: QueryIdPath, body: FeedbackBody) -> Response:
    """Say that a guess is wrong, and what would be right: an expert looks at it. The guess stands until then."""
    outcome = await service.change(at.desk, lambda desk: feedback.feedback(desk, id, body.right, at.who))
    (shown,) = await _shown(request, service, at, [outcome])
    return JSONResponse(shown)


@router.delete("/{id:query}", summary="Erase a query", status_code=204)
async def erase_one(service: TheService, at: Admin, id: QueryIdPath) -> Response:
    """Erase the text and the vector of a query everywhere; that it was asked and decided stays."""
    await asyncio.to_thread(erase.erase, service.desks, at.desk, [id], at.who)
    return Response(status_code=204)


async def _submit(request: Request, service: Service, at: AtDesk, bodies: Sequence[NewQueryBody]) -> list[Outcome]:
    if service.config.log_texts:
        request.state.logged = {"texts": [body.text for body in bodies]}
    queries = [_query(body) for body in bodies]
    with contradictions() if any(query.vector is not None for query in queries) else nullcontext():
        outcomes = await service.submit(at.desk, queries, at.who)
    service.metrics.decided(at.desk, outcomes)
    return outcomes


async def _shown(request: Request, service: Service, at: AtDesk, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The outcomes as this caller may see them."""
    known: Sharing = request.state.sharing
    examples = await sees_examples(known, service, at, outcomes)
    return [outcome_shown(outcome, examples=examples) for outcome in outcomes]


async def _outcome(service: Service, at: AtDesk, id: str) -> Outcome:
    """What stands about a query, as this caller may know it."""
    return await service.read_desk(at.desk, read.outcome, id, blind=await _is_blind(service, at))


async def _is_blind(service: Service, at: AtDesk) -> bool:
    """Whether a guess must stay hidden until the caller has answered: experts' answers measure the desk's guesses."""
    if at.caller.role is not Role.EXPERT:
        return False
    return await service.change(at.desk, lambda desk: desk.settings.blind)


def _query(body: NewQueryBody) -> NewQuery:
    vector = None if body.vector is None else np.asarray(body.vector, dtype=np.float32)
    return NewQuery(body.id if body.id is not None else secrets.token_hex(16), body.text, vector)


async def _answered(request: Request, service: Service, at: AtDesk, id: str, seconds: float) -> Outcome:
    """The outcome once it does not wait any more, or as it is after so many seconds or when the caller has hung up."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    row = await service.work(service.desks.row, at.desk)
    with service.wakes.waiter(row.id, at.who) as changed:
        while True:
            outcome = await _outcome(service, at, id)
            if not outcome.waits or clock() >= end or service.wakes.closing:
                return outcome
            if await request.is_disconnected():  # nobody hears it: give up the place
                return outcome
            await next_change(changed, end - clock())


async def _changes(
    request: Request, service: Service, place: Place, at: AtDesk, id: str, seen: int
) -> AsyncIterator[ServerSentEvent]:
    while not service.wakes.closing:
        outcome = await _outcome(service, at, id)
        if outcome.event > seen:
            seen = outcome.event
            (shown,) = await _shown(request, service, at, [outcome])
            yield ServerSentEvent(json.dumps(shown), event="outcome", id=str(seen))
        if not outcome.waits:
            return
        await next_change(place.changed)
