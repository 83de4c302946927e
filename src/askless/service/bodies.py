"""Large JSON bodies: what takes a tenth of a second on the event loop holds up every other caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

LARGE = 64 * 1024  # bytes; a smaller body is read in less time than a thread takes to begin


class BodyRoute(APIRoute):
    """A route whose large bodies are read and checked in a thread; a small one as at any other route.

    FastAPI is handed the body as the model that it would have made of it, and takes that as it is. What is wrong with a
    body it says itself, as ever, so it is handed such a one as plain JSON.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with requests that read their bodies so."""
        handle = super().get_route_handler()
        model = None if self.body_field is None else self.body_field.field_info.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return handle

        async def handling(request: Request) -> Response:
            return await handle(_Request(model, request))

        return handling


class _Request(Request):
    def __init__(self, model: type[BaseModel], request: Request) -> None:
        super().__init__(request.scope, request.receive)
        self._model = model

    async def json(self) -> Any:
        """The body as FastAPI asks for it."""
        body = await self.body()
        return await asyncio.to_thread(_modelled, self._model, body) if len(body) > LARGE else await super().json()


def _modelled(model: type[BaseModel], body: bytes) -> Any:
    try:
        return model.model_validate_json(body)  # which takes a quarter of the time of json.loads
    except ValidationError:
        return plain(body)


def plain(body: bytes) -> Any:
    """What the JSON says, or the error of `json.loads`; which alone reads half of a surrogate pair, too."""
    try:
        return from_json(body)  # json.loads would let no other thread run until it has the whole of a large body
    except ValueError:
        return json.loads(body)


class LongResponse(JSONResponse):
    """JSON of many lines, written in a tenth of the time that `json.dumps` takes."""

    def render(self, content: Any) -> bytes:
        """The content as JSON, which has no word for a number that is none: null."""
        return orjson.dumps(content)
