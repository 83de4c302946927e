"""The pictures of the pages, from a real service and a real browser: `python -m docs.screens` writes docs/pages/*.png.

A week is played into a desk of a temporary database (`docs.week`), `askless serve` is started over it, and Chromium
opens each page.
"""

from __future__ import annotations

import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from docs.week import EXPERTS, Clock, played_week

from askless.datasets.sample import support_questions
from askless.desk.live import tickets
from askless.desk.live.configure import configure
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.types import Why
from askless.ledger.database import Database
from askless.service.keys import Role, create_key

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OUT = Path(__file__).with_name("pages")
DESK = "support"
START_SECONDS = 90
COLOURS = 256  # of a picture: the pages have few, and the files stay small
PRICES = {"call": 2, "mistake": 20, "currency": "€"}
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


@dataclass(frozen=True)
class Picture:
    """One picture: a page of the desk, and the window it is seen in."""

    name: str
    page: str
    dark: bool = False
    width: int = 1200
    height: int = 800


PICTURES = (
    Picture("inbox", "inbox"),
    Picture("queue", "queue"),
    Picture("history", "history"),
    Picture("labels", "labels?label=track+order"),
    Picture("map", "map?label=track+order&label=card+not+arrived&label=return+item", height=860),
    Picture("dashboard", "dashboard", height=1000),
    Picture("settings", "settings"),
    Picture("inbox-dark", "inbox", dark=True),
    Picture("inbox-phone", "inbox", width=390, height=800),
)


def main(out: Path = OUT) -> None:
    """Make all pictures anew."""
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="askless-screens-") as folder:
        database = Path(folder) / "askless.db"
        say("playing a week in")
        key = prepare(database)
        with serving(database) as url, browsing() as browser:
            for picture in PICTURES:
                taken = small(take(browser, url, key, picture))
                (out / f"{picture.name}.png").write_bytes(taken)
                say(f"{picture.name}.png, {len(taken) / 1024:,.0f} KB")


def prepare(where: Path) -> str:
    """A ledger with the desk in it, as it is after a week, and a key of one of its experts, who is an admin too."""
    end = datetime.now(UTC)
    clock = Clock(end)
    with Database(where) as database:
        database.prepare()
        with Desks(database, listen=False, clock=clock) as desks:
            played_week(desks, DESK, clock, end=end)
            # A desk with audits tells its experts nothing of what it thinks; the pictures should show that it can.
            desks.run(DESK, lambda live: configure(live, {"audit_rate": 0.0}, "admin")).result()
            desks.run(DESK, answer_audits).result()
        return create_key(database, EXPERTS[0], Role.ADMIN).secret


def answer_audits(live: LiveDesk) -> None:
    """The audits that still wait are answered, so that the inbox shows a question that the desk was unsure of."""
    truth = dict(zip(*support_questions(), strict=True))
    while (ticket := tickets.next_ticket(live, EXPERTS[0])) is not None and ticket.why is Why.AUDIT:
        tickets.answer(live, ticket.id, truth[str(ticket.text)], EXPERTS[0])


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """The address of the service over that ledger, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [str(Path(sys.prefix) / "bin" / "askless"), "serve", "--rate", "0", "--port", str(port)]
    log = (database.parent / "log").open("wb")
    process = subprocess.Popen([*program, "--database", str(database)], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(url, process, database.parent / "log")
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(START_SECONDS)
        log.close()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the service is ready."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            if httpx.get(f"{url}/readyz").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"The service did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")


@contextmanager
def browsing() -> Iterator[Browser]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("The pictures need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def take(browser: Browser, url: str, key: str, picture: Picture) -> bytes:
    """The picture of a page once it is quiet, as PNG."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.dark else "light",
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.add_init_script(f"localStorage.setItem('askless prices {DESK}', {json.dumps(json.dumps(PRICES))})")
        page.goto(f"{url}/login#{key}")
        page.wait_for_url(f"{url}/ui/**")
        page.goto(f"{url}/ui/{DESK}/{picture.page}")
        page.wait_for_function("window.did_handshake === true")
        settle(page)
        return page.screenshot()
    finally:
        context.close()


def settle(page: Page) -> None:
    """Wait until the page has stopped changing for a second."""
    page.wait_for_function(
        """() => new Promise((resolve) => {
            let timer = setTimeout(resolve, 1000, true);
            new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(resolve, 1000, true); })
                .observe(document.body, { childList: true, subtree: true, characterData: true });
        })"""
    )


def small(png: bytes) -> bytes:
    """The same picture in fewer colours, where Pillow is installed and that is smaller."""
    try:
        from PIL import Image
    except ImportError:
        return png
    file = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return min(png, file.getvalue(), key=len)


def say(text: str) -> None:
    """A line for who waits."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
