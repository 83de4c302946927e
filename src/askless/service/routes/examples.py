"""Examples: list, give those known before, relabel, forget."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from askless.desk.live import examples, give
from askless.desk.live.examples import ExampleRow
from askless.desk.live.exchange import GivenExample
from askless.service import patterns
from askless.service.bodies import BodyRoute
from askless.service.errors import contradictions, problems
from askless.service.guard import Expert, TheService
from askless.service.results import ExampleOut, ExamplePage, GivenOut
from askless.service.schemas import Cursor, ExamplesBody, LabelName, Limit, QueryIdPath, RelabelBody
from askless.service.shown import moment

router = APIRouter(prefix="/desks/{desk}/examples", tags=["examples"], route_class=BodyRoute)


@router.get("", summary="List examples", response_model=ExamplePage)
async def list_some(
    service: TheService,
    at: Expert,
    label: Annotated[LabelName | None, Query()] = None,
    search: Annotated[str | None, Query(max_length=200, pattern=patterns.TEXT)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Examples in the order in which they came; of one label, or with a piece of text."""
    page = await service.read_desk(at.desk, examples.page, label=label, search=search, cursor=cursor, limit=limit)
    return JSONResponse({"items": [_shown(row) for row in page.rows], "next": page.cursor})


@router.post("", summary="Add examples", status_code=201, response_model=GivenOut, responses=problems(409))
async def give_some(service: TheService, at: Expert, body: ExamplesBody) -> Response:
    """Give examples known before, up to 1,000: all are taken, or none. Those that the desk has change nothing."""
    given = [GivenExample(one.text, one.label, one.id, row) for row, one in enumerate(body.examples, start=1)]
    with contradictions():
        found = await asyncio.to_thread(give.give, service.desks, at.desk, given, at.who)
    return JSONResponse({"added": found.added, "same": found.same}, 201)


@router.patch("/{id}", summary="Correct an example", response_model=ExampleOut, responses=problems(409))
async def relabel(service: TheService, at: Expert, id: QueryIdPath, body: RelabelBody) -> Response:
    """Correct the label of an example, or of a guess, which becomes an example."""
    row = await service.change(at.desk, lambda desk: examples.relabel(desk, id, body.label, at.who))
    return JSONResponse(_shown(row))


@router.delete("/{id}", summary="Forget an example", status_code=204, responses=problems(409))
async def forget(service: TheService, at: Expert, id: QueryIdPath) -> Response:
    """Forget an example: the desk decides as if it had never had it. The query keeps its label."""
    await service.change(at.desk, lambda desk: examples.forget(desk, id, at.who))
    return Response(status_code=204)


def _shown(row: ExampleRow) -> dict[str, Any]:
    return {
        "id": row.key,
        "text": row.text,
        "label": row.label,
        "status": row.status.value,
        "received_at": moment(row.received_at),
    }
