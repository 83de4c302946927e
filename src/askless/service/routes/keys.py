"""Keys: list, make, revoke. For admins of all desks; the secret of a new one is shown once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from askless.service.errors import Problem, problems
from askless.service.guard import AdminCaller, TheService
from askless.service.keys import Caller, KeyRow, create_key, list_keys, revoke_key
from askless.service.results import KeysOut, NewKeyOut
from askless.service.schemas import NewKeyBody, Number
from askless.service.shown import moment

router = APIRouter(prefix="/keys", tags=["keys"])


@router.get("", summary="List keys", response_model=KeysOut)
async def list_all(service: TheService, caller: AdminCaller) -> Response:
    """All keys, revoked ones included; never their secrets."""
    _over_all_desks(caller)
    return JSONResponse({"items": [_shown(row) for row in await service.work(list_keys, service.database)]})


@router.post("", summary="Make a key", status_code=201, response_model=NewKeyOut, responses=problems(404, 409))
async def create(service: TheService, caller: AdminCaller, body: NewKeyBody) -> Response:
    """Make a key. Its secret is in this answer and nowhere else."""
    _over_all_desks(caller)
    made = await service.work(create_key, service.database, body.name, body.role, body.desk)
    return JSONResponse({**_shown(made.row), "secret": made.secret}, 201)


@router.delete("/{number:int}", summary="Revoke a key", status_code=204, responses=problems(404))
async def revoke(service: TheService, caller: AdminCaller, number: Number) -> Response:
    """Revoke a key: it and its sessions stop working at once."""
    _over_all_desks(caller)
    await service.work(revoke_key, service.database, number)
    service.keys.forget()
    return Response(status_code=204)


def _over_all_desks(caller: Caller) -> None:
    if caller.desk is not None:
        raise Problem(403, f"Keys are made by an admin of all desks; {caller.name!r} is bound to {caller.desk!r}.")


def _shown(row: KeyRow) -> dict[str, Any]:
    return asdict(row) | {"created_at": moment(row.created_at), "revoked_at": moment(row.revoked_at)}
