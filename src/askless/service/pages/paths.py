"""Where the pages are."""

from __future__ import annotations

PAGES = "/ui"  # NiceGUI's part of the application
LOGIN = "/login"
ASSETS = "/assets"  # our own style sheet, scripts and pictures
SOCKET = f"{PAGES}/_nicegui_ws/"


def page(desk: str, name: str) -> str:
    """The address of a desk's page."""
    return f"{PAGES}/{desk}/{name}"


def is_page(path: str) -> bool:
    """Whether a browser shows what comes from there, so that a missing login leads to the login page."""
    return path == "/" or path == PAGES or path.startswith(f"{PAGES}/")


def is_asset(path: str) -> bool:
    """Whether it is a style sheet, a script or the like, which holds nothing of a desk."""
    return path == LOGIN or path.startswith((f"{ASSETS}/", f"{PAGES}/_nicegui/"))
