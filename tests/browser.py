"""A real service in a process of its own and a real browser in front of it, for tests of the pages."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import httpx
import pytest

from askless.ledger.database import Database
from askless.service.auth import COOKIE
from askless.service.keys import Role, create_key

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

START_SECONDS = 90
WAIT = 20_000  # milliseconds that an expectation may take on a busy machine
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
# Of a service that is stopped in the middle of a test the browser complains by itself.
_LOST = re.compile(r"ERR_CONNECTION_REFUSED|WebSocket connection to|net::ERR_")


def chromium() -> str | None:
    """The browser of Debian."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


needs_browser = pytest.mark.skipif(chromium() is None, reason="needs Chromium: apt-get install chromium")


@contextmanager
def browsing() -> Iterator[Browser]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Site:
    """`askless serve` over a folder's database, with a key for each role; it can be stopped and started again.

    `browser` opens its windows.
    """

    browser: Browser

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where = folder / "askless.db"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        with Database(self.where) as database:
            database.prepare()
            self.key = {role.value: create_key(database, role.value, role).secret for role in Role}
        self.complaints: list[str] = []  # what browsers said of the pages
        self._used: list[tuple[str, Page]] = []
        self._spare: defaultdict[str, list[Page]] = defaultdict(list)  # by the options they were made with
        self._process: subprocess.Popen[bytes] | None = None

    # -- the service -----------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the service, and wait until it is ready."""
        command = [str(Path(sys.prefix) / "bin" / "askless"), "serve", "--rate", "0", "--port", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--database", str(self.where)], cwd=self.folder, stdout=log, stderr=log
            )
        end = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the service did not start: {self.log()[-2000:]}")
            try:
                if httpx.get(f"{self.url}/readyz", timeout=60).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)

    def stop(self, *, kill: bool = False) -> None:
        """Stop the service as Ctrl-C does, or kill it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
            self._process.wait(START_SECONDS)
            self._process = None

    def log(self) -> str:
        """What the service has written."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def leave(self) -> None:
        """Have the site as it was at first, for tests with another browser: no desks, and no windows."""
        self._spare.clear()  # which their browser has closed, or will
        with self.http() as http:
            for desk in http.get("/api/v1/desks").json()["items"]:
                assert http.delete(f"/api/v1/desks/{desk['name']}").is_success

    # -- its data --------------------------------------------------------------------------------------------------
    def http(self, role: str = "admin") -> httpx.Client:
        """A client of the API with the key of that role."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key[role]}"}, timeout=120)

    def make_desk(self, name: str = "support", **settings: Any) -> str:
        """A new desk; its name."""
        with self.http() as http:
            made = http.post("/api/v1/desks", json={"name": name, **settings})
            assert made.status_code == 201, made.text
        return name

    def teach(self, desk: str, examples: dict[str, str]) -> None:
        """Give the desk texts with their labels."""
        given = [
            {"id": f"taught {n}", "text": text, "label": label} for n, (text, label) in enumerate(examples.items())
        ]
        with self.http() as http:
            made = http.post(f"/api/v1/desks/{desk}/examples", json={"examples": given})
            assert made.is_success, made.text

    def ask(self, desk: str, *texts: str, role: str = "client") -> list[dict[str, Any]]:
        """Post texts to the desk; what came of each."""
        found: list[dict[str, Any]] = []
        with self.http(role) as http:
            for start in range(0, len(texts), 500):
                queries = [{"text": text} for text in texts[start : start + 500]]
                made = http.post(f"/api/v1/desks/{desk}/queries/batch", json={"queries": queries})
                assert made.is_success, made.text
                found += made.json()["results"]
        return found

    # -- its pages -------------------------------------------------------------------------------------------------
    def window(self, role: str | None = "expert", *, width: int = 1200, height: int = 850, **options: Any) -> Page:
        """A page of a browser of its own, logged in with the key of that role; what it complains of is noted."""
        kind = str(options)
        page = self._spare[kind].pop() if self._spare[kind] else self._new_window(**options)
        self._used.append((kind, page))
        if role is not None:
            made = httpx.post(f"{self.url}/api/v1/session", json={"key": self.key[role]}, timeout=60)
            host = urlsplit(self.url).hostname
            cookie = {"name": COOKIE, "value": made.cookies[COOKIE], "domain": host, "path": "/"}
            page.context.add_cookies([cookie])  # type: ignore[list-item]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light")
        return page

    def _new_window(self, **options: Any) -> Page:
        page = self.browser.new_context(**options).new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.on("console", lambda said: self._note(said, page))
        return page

    def close_windows(self) -> None:
        """Leave the pages: open ones go on working, and a machine has two cores.

        A window that has shown the site before shows a page in half the time. So each is kept for the next test, with
        all forgotten that pages have stored in it; the address where it waits has no script.
        """
        while self._used:
            kind, page = self._used.pop()
            page.mouse.move(0, 0)
            page.goto(f"{self.url}/healthz")
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.context.clear_cookies()
            self._spare[kind].append(page)

    def open(self, path: str, role: str = "expert", **options: Any) -> Page:
        """A window at that page of the site, connected to the service."""
        page = self.window(role, **options)
        page.goto(self.url + path)
        connected(page)
        return page

    def _note(self, said: Any, page: Page) -> None:
        if said.type in ("error", "warning") and not _LOST.search(said.text):
            self.complaints.append(f"{page.url}: {said.text}")


def connected(page: Page) -> None:
    """Wait until the page can be used: it is connected to the service."""
    page.wait_for_function("window.did_handshake === true")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


# -- accessibility -------------------------------------------------------------------------------------------------
def axe_script() -> Path | None:
    """axe-core as npm has installed it for the tests, where it has."""
    found = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    return found if found.exists() else None


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
needs_axe = pytest.mark.skipif(axe_script() is None, reason="needs axe-core: npm install --prefix .venv/axe axe-core")


# axe would measure the colours of what fades in, and takes the bar for a fault that shows how it loads the styles.
_STILL = """scheme => {
    const dress = document.body.classList;
    const moving = '.q-loading-bar[role=progressbar], [class*=enter-active], [class*=leave-active]';
    return (dress.contains('login') || dress.contains(`body--${scheme}`))
        && document.querySelector(moving) === null
        && !document.getAnimations().some(one => one instanceof CSSTransition);
}"""


def violations(page: Page) -> list[str]:
    """What axe-core finds on the page that is serious or critical, in light and in dark: rule, and the elements."""
    script = axe_script()
    assert script is not None
    if not page.evaluate("'axe' in window"):
        page.evaluate(script.read_text(encoding="utf-8"))
    told = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(_STILL, arg=scheme)
        # Without preload: axe's own requests for style sheets would set off the loading bar.
        found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
        told += [
            f"{rule['id']} ({rule['impact']}, {scheme}): {rule['help']}: {[n['html'][:200] for n in rule['nodes'][:4]]}"
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
    return told
