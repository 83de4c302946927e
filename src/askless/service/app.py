"""The service as one application: `create_app` puts its parts together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from askless.desk.live.erase import retention
from askless.desk.warm import warm_up
from askless.errors import AsklessError, Unavailable
from askless.ledger.database import Database
from askless.service import errors
from askless.service.auth import COOKIE, Gate
from askless.service.config import ServiceConfig
from askless.service.limits import BodyLimit
from askless.service.logs import Record
from askless.service.routes import (
    desks,
    events,
    examples,
    exchange,
    health,
    insights,
    jobs,
    keys,
    label_studio,
    labels,
    queries,
    session,
    tickets,
    webhooks,
)
from askless.service.state import Service
from askless.service.webhooks import deliver_forever

_DESCRIPTION = (
    "Post a query to a desk: a known question comes back answered at once, the rest wait for an expert, and each "
    "answer changes the next decision. Errors are application/problem+json."
)
_RETRY_SECONDS = 1.0
_RETENTION_SECONDS = 3600.0
_TAKE_OVER_SECONDS = 60.0
_FREE = {"/healthz", "/readyz"}  # need no key


def create_app(database: Database, config: ServiceConfig | None = None) -> FastAPI:
    """The HTTP API over the desks of a prepared database. The caller closes the database, after the application."""
    service = Service(database, config or ServiceConfig())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.wakes.open()
        work = [_load_desks(service), _keep_retention(service), _take_over_jobs(service)]
        tasks = [asyncio.create_task(part) for part in work]
        if service.config.deliver_webhooks:
            tasks.append(asyncio.create_task(deliver_forever(service)))
        try:
            yield
        finally:
            service.wakes.close()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="askless",
        version=version("askless"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from another site
        redoc_url=None,
    )
    app.state.service = service
    errors.install(app)
    _include(app)
    if service.config.pages:
        from askless.service.pages import mount  # NiceGUI takes a second to load

        mount.install(app)
    app.add_middleware(BodyLimit, service=service)
    app.add_middleware(Gate, service=service)
    app.add_middleware(Record, service=service)  # added last: it is around the others
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _include(app: FastAPI) -> None:
    api = APIRouter(prefix="/api/v1", responses=errors.COMMON)
    # Routes are tried in this order: what is called most stands first.
    for part in (queries, tickets, labels, examples, session, keys, desks, exchange, insights, jobs, events, webhooks):
        api.include_router(part.router)
    for router in (api, health.router, label_studio.router):
        app.include_router(router)


async def _load_desks(service: Service) -> None:
    """Load every desk once, so that no caller waits for it, and go on with unfinished jobs; then the service is ready.

    A database that cannot be reached is waited for. A desk that cannot be read is left: the others serve all the same.
    """
    while not service.ready:
        try:
            for row in await service.work(service.desks.rows):
                await _load(service, row.name)
            await service.work(service.reembedding.resume)
            service.ready = True
        except Unavailable as error:
            service.log.error("the desks cannot be loaded yet", cause=str(error))
            await asyncio.sleep(_RETRY_SECONDS)


async def _keep_retention(service: Service) -> None:
    """Erase what is older than its desk keeps it, at the start and every hour; what fails is tried at the next turn."""
    while True:
        with suppress(Unavailable):
            for row in await service.work(service.desks.rows):
                try:
                    await service.work(retention, service.desks, row.name)
                except AsklessError as error:
                    service.log.error("old queries could not be erased", desk=row.name, cause=str(error))
        await asyncio.sleep(_RETENTION_SECONDS)


async def _take_over_jobs(service: Service) -> None:
    """Go on, every minute, with jobs whose process was killed; what fails is tried at the next turn."""
    while True:
        await asyncio.sleep(_TAKE_OVER_SECONDS)
        try:
            await service.work(service.reembedding.resume)
        except AsklessError as error:
            service.log.error("unfinished jobs could not be looked for", cause=str(error))


async def _load(service: Service, desk: str) -> None:
    try:
        settings = await service.change(desk, lambda desk: desk.settings)
        await service.work(service.desks.embedder, settings.embedder)
        await service.work(lambda: warm_up(settings.make_policy()))
    except Unavailable:
        raise
    except AsklessError as error:
        service.log.error("a desk cannot be loaded", desk=desk, error=type(error).__name__, cause=str(error))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with the ways to show a key and the error's body as this service has them."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = found.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemBody"] = errors.ProblemBody.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        parts["schemas"].update(parts["schemas"]["ProblemBody"].pop("$defs", {}))
        parts["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
        for path, methods in found["paths"].items():
            for method, operation in methods.items():
                if path not in _FREE and (path, method) != ("/api/v1/session", "post"):
                    operation["security"] = [{"bearer": []}, {"key": []}, {"session": []}]
                if path == "/metrics":  # which programs on the same machine read without a key
                    operation["security"].append({})
        for name in ("HTTPValidationError", "ValidationError"):
            parts["schemas"].pop(name, None)
        app.openapi_schema = found
    return app.openapi_schema
