"""Every error as one body: application/problem+json (RFC 9457), made in this place only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from askless import errors
from askless.service import outbox
from askless.service.patterns import SENTENCES

MEDIA_TYPE = "application/problem+json"
_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
_MOST_FIELDS = 20  # of a request's mistakes that are listed

_SEND_JSON = "Send JSON with Content-Type: application/json."
_SEND_FILE = "Send the file as a form field, as curl does with -F file=@examples.csv."
_SENTENCES = SENTENCES | {
    outbox.URL: (
        "A webhook's URL begins with http:// or https:// and a host, holds plain characters without spaces, and no "
        "user name or password."
    ),
    outbox.SECRET: "A webhook's secret has plain characters (ASCII) without spaces.",
}

# The first that fits counts, so the narrower ones stand first.
_STATUS: tuple[tuple[type[errors.AsklessError], int], ...] = (
    (errors.Unavailable, 503),
    (errors.UnwritableFile, 503),
    (errors.Conflicting, 409),
    (errors.Refused, 409),
    (errors.Forbidden, 403),
    (errors.TooMuch, 413),
    (errors.Unknown, 404),
    (errors.UnknownLabel, 404),
    (errors.UnknownExample, 404),
    (errors.InvalidInput, 422),
    (errors.MissingExtra, 409),
)

_MEANING = {
    400: "The request cannot be parsed.",
    401: "No key, or one that is not in force.",
    403: "The key's role does not allow it, or a browser's request lacks the header X-Requested-With: askless.",
    404: "There is no such thing here, or not for this key.",
    409: "It contradicts what stands: the detail says what.",
    413: "The body is larger than the limit.",
    422: "A value cannot be used: one entry of `errors` for each.",
    429: "Too many requests: Retry-After says when to come again.",
    500: "A mistake of the service; its log has more under the request id.",
    503: (
        "The database cannot be used now: it may be away, locked or full. What was not acknowledged was not done: try "
        "again after Retry-After."
    ),
}


class FieldProblem(BaseModel):
    """What is wrong with one field of a request."""

    field: str
    detail: str


class ProblemBody(BaseModel):
    """An error: what was found, what was expected, what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FieldProblem] | None = Field(default=None, description="Only where fields of the request are wrong.")


class Problem(HTTPException):
    """An error with its status, for what is decided in the service itself."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    return {status: {"description": _MEANING[status], "content": content} for status in statuses}


# What any route with a key and a desk in its path may answer.
COMMON = problems(400, 401, 403, 404, 413, 422, 429, 500, 503)


def problem(
    status: int,
    detail: str,
    request_id: str,
    *,
    headers: Mapping[str, str] | None = None,
    fields: Sequence[Mapping[str, str]] = (),
) -> JSONResponse:
    """The response for an error."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _encodable(detail),
        "request_id": request_id,
    }
    if fields:
        body["errors"] = [{name: _encodable(value) for name, value in field.items()} for field in fields]
    return JSONResponse(body, status, headers=dict(headers) if headers else None, media_type=MEDIA_TYPE)


def status_of(error: errors.AsklessError) -> int:
    """The HTTP status of an error of askless."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: errors.AsklessError, state: dict[str, Any]) -> JSONResponse:
    """The response for an error of askless, raised in a route or before one was found; `state` is the request's."""
    status = status_of(error)
    if status >= 500:
        state["logged"] = {"error": type(error).__name__, "cause": str(error)}
    return problem(status, told(error), state["request_id"], headers=headers_of(status))


def told(error: errors.AsklessError) -> str:
    """What a caller, or the reader of a page, is told; a database's own words name files and hosts: they are logged."""
    status = status_of(error)
    return str(error) if status < 500 or isinstance(error, errors.NotErased) else _MEANING[status]


def headers_of(status: int) -> dict[str, str] | None:
    """What goes with a status wherever it comes from."""
    if status == 503:
        return {"Retry-After": "1"}
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return None


@contextmanager
def contradictions() -> Iterator[None]:
    """What the desk refuses of a request that is well formed: values that do not go together, or not with the desk."""
    try:
        yield
    except errors.InvalidInput as error:
        raise errors.Conflicting(str(error)) from error


def install(app: FastAPI) -> None:
    """Turn every error that leaves a route into a problem."""

    @app.exception_handler(errors.AsklessError)
    async def of_askless(request: Request, error: errors.AsklessError) -> JSONResponse:
        return problem_of(error, request.scope["state"])

    @app.exception_handler(StarletteHTTPException)
    async def of_http(request: Request, error: StarletteHTTPException) -> JSONResponse:
        headers = {**(headers_of(error.status_code) or {}), **(error.headers or {})}
        detail = str(error.detail)
        if error.status_code == 405:
            allowed = _allowed(app, request)
            headers["Allow"] = ", ".join(allowed)
            detail = f"This path takes {' or '.join(allowed)}, not {request.method}."
        elif isinstance(error.__cause__, UnicodeDecodeError):
            detail = f"The body is not UTF-8 (see byte {error.__cause__.start + 1:,}), as JSON is. Send it as UTF-8."
        elif error.status_code == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
            detail = "There is no such path; /openapi.json lists them all."
        return problem(error.status_code, detail, _request_id(request), headers=headers)

    @app.exception_handler(RequestValidationError)
    async def of_validation(request: Request, error: RequestValidationError) -> JSONResponse:
        fields = [_field(found) for found in error.errors()[:_MOST_FIELDS]]
        detail = " ".join(f"{field['field']}: {field['detail']}" for field in fields)
        return problem(422, detail, _request_id(request), fields=fields)


def _field(found: Mapping[str, Any]) -> dict[str, str]:
    """One mistake as a sentence. Never the value itself, which may be a text."""
    place, kind, more = [str(part) for part in found["loc"]], found["type"], found.get("ctx", {})
    if kind == "json_invalid":
        return {"field": "body", "detail": f"This is not JSON ({more['error']}, at character {place[-1]})."}
    sentence = str(found["msg"]).removeprefix("Value error, ")
    if place == ["body"] and kind == "missing":
        sentence = f"The body is missing. {_SEND_JSON}"
    elif place == ["body", "file"] and kind == "missing":  # of an import: no other route takes a file
        sentence = _SEND_FILE
    elif kind == "extra_forbidden":
        sentence = "There is no such field here; /openapi.json lists those that there are."
    elif place == ["body"] and kind in ("model_attributes_type", "model_type", "dict_type"):
        # Only a body that came as JSON is read as such; all else is still the bytes that were sent.
        sentence = _SEND_JSON if isinstance(found.get("input"), bytes) else "Send a JSON object: {...}."
    elif kind == "string_pattern_mismatch":
        sentence = _SENTENCES.get(more["pattern"], "This has not the form that /openapi.json describes.")
    elif kind in ("too_long", "string_too_long"):
        sentence = f"Send at most {_counted(more['max_length'], kind)}."
    elif kind in ("too_short", "string_too_short"):
        sentence = f"Send at least {_counted(more['min_length'], kind)}."
    elif kind == "string_unicode":
        sentence = "This text holds half of a surrogate pair, which UTF-8 has no bytes for: take it out."
    where = place[1:] if len(place) > 1 and place[0] in ("body", "query", "path", "header", "cookie") else place
    return {"field": ".".join(where) or "body", "detail": sentence if sentence.endswith(".") else sentence + "."}


def _counted(number: int, kind: str) -> str:
    one, many = ("character", "characters") if kind.startswith("string") else ("entry", "entries")
    return f"{number:,} {one if number == 1 else many}"


def _allowed(app: FastAPI, request: Request) -> list[str]:
    """The methods that the request's path takes."""
    found = []
    for method in _METHODS:
        scope = dict(request.scope, method=method)
        if any(route.matches(scope)[0] is Match.FULL for route in app.router.routes):
            found.append(method)
    return found


def _request_id(request: Request) -> str:
    return str(getattr(request.state, "request_id", ""))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
