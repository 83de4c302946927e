"""What the client raises: the errors of askless itself, with what the service said about them."""

from __future__ import annotations

from typing import Any

from askless.errors import (
    AsklessError,
    Conflicting,
    Forbidden,
    InvalidInput,
    TooMuch,
    Unavailable,
    Unknown,
)


class ServiceError(AsklessError):
    """The service said no, or could not be reached.

    `status` is the HTTP status (None where there was no answer), `problem` what came as problem+json, `request_id`
    the name under which the service's log has the request.
    """

    def __init__(self, message: str, *, status: int | None = None, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = problem or {}

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def request_id(self) -> str | None:
        """The id of the request in the service's log, where it gave one."""
        found = self.problem.get("request_id")
        return None if found is None else str(found)


class BadRequest(ServiceError, InvalidInput):
    """The service cannot use a value it was sent (400, 422)."""


class NotAllowed(ServiceError, Forbidden):
    """The key is missing, unknown or revoked (401), or its role may not do this (403)."""


class NotFound(ServiceError, Unknown):
    """No such desk, query, ticket or label, or not for this key (404)."""


class Conflict(ServiceError, Conflicting):
    """Something else stands in the way: another expert's lease, an id in use for another text (409)."""


class TooMany(ServiceError, TooMuch):
    """Too large (413), or too many requests for longer than the client was told to try (429)."""


class Unreachable(ServiceError, Unavailable):
    """The service could not be reached, or could not do it now, for longer than the client was told to try."""


_BY_STATUS: dict[int, type[ServiceError]] = {
    400: BadRequest,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooMany,
    422: BadRequest,
    429: TooMany,
}


def error_for(status: int, problem: dict[str, Any], request: str) -> ServiceError:
    """The error of a response: its detail is the message, or, where there is none, the status and the request."""
    kind = _BY_STATUS.get(status) or (Unreachable if status >= 500 else ServiceError)
    detail = problem.get("detail") or problem.get("title")
    message = str(detail) if detail else f"{request} was answered with status {status}; expected a result of askless."
    return kind(message, status=status, problem=problem)
