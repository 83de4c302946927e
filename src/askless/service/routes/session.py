"""The login of browsers: a key is changed for a cookie that scripts cannot read."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from askless.service.auth import COOKIE
from askless.service.errors import Problem, headers_of
from askless.service.guard import AnyCaller, TheService
from askless.service.keys import Caller
from askless.service.results import SessionOut
from askless.service.schemas import LoginBody

router = APIRouter(prefix="/session", tags=["session"])


@router.post("", summary="Log in", response_model=SessionOut)
async def log_in(request: Request, service: TheService, body: LoginBody) -> Response:
    """Log in with a key: sets a cookie that is sent by browsers only to this site.

    Changes made with it need the header `X-Requested-With: askless`, which no form of another site can send.
    """
    caller = await service.work(service.keys.find, body.key)
    if caller is None:
        raise Problem(401, "This key is not in force.", headers_of(401))
    seconds = service.config.session_seconds
    token = await service.work(service.keys.log_in, caller, seconds)
    response = JSONResponse(_shown(caller))
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, token, max_age=seconds, httponly=True, secure=secure, samesite="strict", path="/")
    return response


@router.get("", summary="Show whose key or session this is", response_model=SessionOut)
async def who_am_i(caller: AnyCaller) -> Response:
    """Whose key or session this is."""
    return JSONResponse(_shown(caller))


@router.delete("", summary="Log out", status_code=204)
async def log_out(request: Request, service: TheService, caller: AnyCaller) -> Response:
    """End the session of the cookie."""
    token = request.cookies.get(COOKIE)
    if token:
        await service.work(service.keys.log_out, token)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
    return response


def _shown(caller: Caller) -> dict[str, str | None]:
    return {"name": caller.name, "role": caller.role, "desk": caller.desk}
