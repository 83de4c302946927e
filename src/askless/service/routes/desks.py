"""Desks: list, create, show, change, pause, delete."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from askless.desk.live import configure
from askless.desk.live.desk import LiveDesk
from askless.desk.live.settings import LiveSettings
from askless.errors import InvalidInput, UnknownDesk
from askless.service.errors import Problem, contradictions, problems
from askless.service.guard import Admin, AdminCaller, AnyCaller, Client, TheService
from askless.service.results import DeskOut, DesksOut
from askless.service.schemas import DeskChangeBody, NewDeskBody, SettingsBody

router = APIRouter(prefix="/desks", tags=["desks"])


@router.get("", summary="List desks", response_model=DesksOut)
async def list_all(service: TheService, caller: AnyCaller) -> Response:
    """The desks that the key opens."""
    items = []
    for row in await service.work(service.desks.rows):
        if caller.sees(row.name):
            try:
                items.append(await service.change(row.name, _shown))
            except (UnknownDesk, InvalidInput):  # deleted meanwhile, or not a desk of the service
                continue
    return JSONResponse({"items": items})


@router.post("", summary="Make a desk", status_code=201, response_model=DeskOut, responses=problems(409))
async def create(service: TheService, caller: AdminCaller, body: NewDeskBody) -> Response:
    """Make a desk."""
    if caller.desk is not None:
        raise Problem(403, f"Desks are made by an admin of all desks; {caller.name!r} is bound to {caller.desk!r}.")
    with contradictions():
        settings = LiveSettings().changed(**_changes(body, but=("name",)))
    await service.work(service.desks.create, body.name, settings, caller.name)
    return JSONResponse(await service.change(body.name, _shown), 201)


@router.get("/{desk}", summary="Show a desk", response_model=DeskOut)
async def show(service: TheService, at: Client) -> Response:
    """One desk."""
    return JSONResponse(await service.change(at.desk, _shown))


@router.patch("/{desk}", summary="Change a desk's settings", response_model=DeskOut, responses=problems(409))
async def change(service: TheService, at: Admin, body: DeskChangeBody) -> Response:
    """Change settings; what is absent stays. Examples are kept: another policy learns them all anew.

    Another embedder is no setting: it takes a job, which `POST .../embedder` starts.
    """

    def changing(desk: LiveDesk) -> dict[str, Any]:
        configure.configure(desk, _changes(body), at.who)
        return _shown(desk)

    with contradictions():
        return JSONResponse(await service.change(at.desk, changing))


@router.post("/{desk}/pause", summary="Pause a desk", response_model=DeskOut)
async def pause(service: TheService, at: Admin) -> Response:
    """Refuse new queries until the desk is resumed; tickets that wait can be answered."""

    def pausing(desk: LiveDesk) -> dict[str, Any]:
        configure.pause(desk, at.who)
        return _shown(desk)

    return JSONResponse(await service.change(at.desk, pausing))


@router.post("/{desk}/resume", summary="Resume a desk", response_model=DeskOut)
async def resume(service: TheService, at: Admin) -> Response:
    """Take queries again."""

    def resuming(desk: LiveDesk) -> dict[str, Any]:
        configure.resume(desk, at.who)
        return _shown(desk)

    return JSONResponse(await service.change(at.desk, resuming))


@router.delete("/{desk}", summary="Delete a desk", status_code=204)
async def delete(service: TheService, at: Admin) -> Response:
    """Delete a desk with all that it holds."""
    await service.work(service.desks.delete, at.desk, at.who)
    service.keys.forget()
    return Response(status_code=204)


def _shown(desk: LiveDesk) -> dict[str, Any]:
    labels = desk.fold.labels
    return {
        "name": desk.row.name,
        "vectors": desk.row.embedder,
        "settings": desk.settings.written(),
        "labels": len(labels),
        "examples": sum(label.count for label in labels.values()),
        "waiting": len(desk.fold.waiting),
    }


def _changes(body: SettingsBody, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the body sets. Null counts as absent, save for the retention, where it means for ever."""
    given = body.model_dump(exclude_unset=True)
    return {name: v for name, v in given.items() if name not in but and (v is not None or name == "retention_days")}
