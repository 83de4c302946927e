"""Where the pages are."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

PAGES = "/ui"  # NiceGUI's part of the application
LOGIN = "/login"
ASSETS = "/assets"  # our own style sheet, scripts and pictures


def page(desk: str, name: str) -> str:
    """The address of a desk's page."""
    return f"{PAGES}/{desk}/{name}"


def is_page(path: str) -> bool:
    """Whether a browser shows what comes from there, so that a missing login leads to the login page."""
    return path == "/" or path == PAGES or path.startswith(f"{PAGES}/")


def is_asset(path: str) -> bool:
    """Whether it is a style sheet, a script or the like, which holds nothing of a desk."""
    return path == LOGIN or path.startswith((f"{ASSETS}/", *_library()))


@cache
def _library() -> tuple[str, ...]:
    """Where NiceGUI has its own files. Nothing else that begins alike: a desk's page could be reached by it."""
    parts = ("static", "libraries", "components", "resources", "dynamic_resources", "esm")
    return tuple(f"{PAGES}/_nicegui/{version('nicegui')}/{part}/" for part in parts)
