"""Whether the service lives, whether it can serve, and what it counts."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy import Connection, text

from askless.service.errors import Problem, headers_of, problems
from askless.service.guard import TheService
from askless.service.keys import Role
from askless.service.results import HealthOut

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Say whether the service runs", response_model=HealthOut)
async def alive() -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", summary="Say whether the service is ready", response_model=HealthOut, responses=problems(503))
async def ready(service: TheService) -> Response:
    """The database can be reached, and every desk was loaded."""
    if not service.ready:
        raise Problem(503, "Not every desk is loaded yet.", headers_of(503))
    await service.read(_touch)
    return JSONResponse({"status": "ready"})


@router.get(
    "/metrics",
    summary="Show metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems(401, 403, 429, 503)},
)
async def metrics(request: Request, service: TheService) -> Response:
    """Prometheus's text format; for admins, and for programs on the same machine."""
    caller = request.state.caller
    if caller is not None and (caller.desk is not None or not caller.may(Role.ADMIN)):
        raise Problem(403, "The metrics are for admins of all desks.")
    return Response(await service.read(service.metrics.exposed, service.wakes.heard), media_type=CONTENT_TYPE_LATEST)


def _touch(connection: Connection) -> None:
    connection.execute(text("select 1"))
