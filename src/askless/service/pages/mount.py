"""Puts the pages onto the application of the service."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from askless.service.pages.paths import ASSETS, LOGIN, PAGES

_STATIC = Path(__file__).parent / "static"


def install(app: FastAPI) -> None:
    """The login and all pages. Once in a process: NiceGUI keeps one application for all of it."""
    from nicegui import app as gui
    from nicegui import core, ui

    from askless.service.pages import conflicts, desks
    from askless.service.pages.dashboard import page as dashboard
    from askless.service.pages.history import page as history
    from askless.service.pages.inbox import page as inbox
    from askless.service.pages.labels import page as labels
    from askless.service.pages.map import page as desk_map
    from askless.service.pages.queue import page as queue
    from askless.service.pages.settings import page as settings

    @app.get("/", include_in_schema=False)
    async def first_page() -> RedirectResponse:
        return RedirectResponse(f"{PAGES}/", 303)

    @app.get(LOGIN, include_in_schema=False)
    async def login() -> FileResponse:
        return FileResponse(_STATIC / "login.html", media_type="text/html")

    app.mount(ASSETS, StaticFiles(directory=_STATIC), name="assets")
    for part in (desks, inbox, queue, history, labels, desk_map, conflicts, settings, dashboard):
        gui.include_router(part.router)
    # A poll would be a request without an end to its number, and one that other sites could make.
    gui.config.socket_io_js_transports = core.sio.eio.transports = ["websocket"]
    core.sio.eio.cors_allowed_origins = None  # the gate lets pages of this site in alone
    ui.run_with(
        app,
        mount_path=PAGES,
        title="askless",
        favicon=(_STATIC / "askless.svg").read_text(encoding="utf-8"),
        language="en-US",
        dark=None,
        tailwind=False,  # which would compile its styles in the browser, at every load
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=20.0,
    )
