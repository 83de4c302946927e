"""Another embedder for a desk: a job in the background, to be watched and cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from askless.desk.live import reembed
from askless.desk.live.switch import Job
from askless.service.errors import contradictions, problems
from askless.service.guard import Admin, TheService
from askless.service.results import JobOut, JobsOut
from askless.service.schemas import EmbedderBody, Number
from askless.service.shown import moment

router = APIRouter(prefix="/desks/{desk}", tags=["embedder"])


@router.post(
    "/embedder", summary="Change the embedder", status_code=202, response_model=JobOut, responses=problems(409)
)
async def switch(service: TheService, at: Admin, body: EmbedderBody) -> Response:
    """Embed all stored texts with another embedder, in the background; the desk is switched when that is done."""

    def starting() -> Job:
        return service.reembedding.start(at.desk, body.embedder, at.who, forget_vectors=body.forget_vectors)

    with contradictions():
        job = await asyncio.to_thread(starting)
    return JSONResponse(_shown(job), 202)


@router.get("/jobs", summary="List jobs", response_model=JobsOut)
async def list_all(service: TheService, at: Admin) -> Response:
    """All jobs of the desk, the newest first."""
    found = await service.read_desk(at.desk, reembed.jobs)
    return JSONResponse({"items": [_shown(job) for job in found]})


@router.get("/jobs/{number:int}", summary="Show a job", response_model=JobOut)
async def show(service: TheService, at: Admin, number: Number) -> Response:
    """How far a job is."""
    return JSONResponse(_shown(await service.read_desk(at.desk, reembed.find, number)))


@router.delete("/jobs/{number:int}", summary="Cancel a job", response_model=JobOut, responses=problems(409))
async def cancel(service: TheService, at: Admin, number: Number) -> Response:
    """Cancel a job: the desk keeps its embedder. One that has ended stays as it is."""
    job = await asyncio.to_thread(reembed.cancel, service.desks, at.desk, number, at.who)
    return JSONResponse(_shown(job))


def _shown(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "status": job.status.value,
        "embedder": job.embedder,
        "done": job.done,
        "total": job.total,
        "forgets": job.forgets,
        "error": job.error,
        "created_at": moment(job.created_at),
        "updated_at": moment(job.updated_at),
    }
