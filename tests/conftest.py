"""What every test has: an embedding cache of its own, never the user's. And databases and pages for those that ask."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from askless.ledger.database import Database
    from browser import Site
    from label_runs import Run
    from postgres import Cluster


# Their tests start servers or play whole runs: they come first, so that no process is left alone with one at the end.
_LONG = (
    "test_benchmarks.py",
    "test_reliability_kill.py",
    "test_service_docs.py",
    "test_cli_serve.py",
    "test_reproduce_quick.py",
    "test_reliability_processes.py",
    "test_pages_inbox_live.py",
    "test_label_docs.py",
    "test_reliability_database.py",
    "test_reliability_memory.py",
    "test_reliability_callers.py",
)


def pytest_configure() -> None:
    """Tests press Ctrl-C in programs that they start, which would ignore it where whoever started the tests does."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, the others as they were."""
    items.sort(key=lambda item: _LONG.index(item.path.name) if item.path.name in _LONG else len(_LONG))


@pytest.fixture(autouse=True, scope="session")
def _cache_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASKLESS_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True, scope="session")
def _no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All that is called is on this machine, by plain HTTP; httpx would read every certificate for each new client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        patch.delenv("SSL_CERT_FILE", raising=False)  # which would come before
        yield


@pytest.fixture
def run_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `askless label` in an empty folder with these lines on the standard input: exit code, output, errors.

    `then` is done once the lines are used up. White space in the output is one space.
    """
    from label_runs import runner

    return runner(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server of this test process; `postgres.new()` is the address of a fresh, empty database."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'askless[serve]'")
    from postgres import Cluster, binaries

    found = binaries()
    if found is None:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    cluster = Cluster(found)
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def _prepared_postgres(postgres: Cluster) -> str:
    """The name of a database with an empty ledger, to copy."""
    from askless.ledger.database import Database

    url = postgres.new()
    with Database(url) as database:
        database.prepare()
    return url.rsplit("/", 1)[1]


@pytest.fixture(params=["sqlite", "postgresql"])
def database_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty prepared ledger is, on each backend in turn: for tests that open it in several processes."""
    if request.param == "sqlite":
        from askless.ledger.database import Database

        path = tmp_path / "askless.db"
        with Database(path) as database:
            database.prepare()
        yield str(path)
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    url = cluster.new(request.getfixturevalue("_prepared_postgres"))
    yield url
    cluster.drop(url)


@pytest.fixture
def database(database_address: str) -> Iterator[Database]:
    """An empty prepared ledger, on each backend in turn."""
    from askless.ledger.database import Database

    with Database(database_address) as database:
        yield database


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """Chromium without a window, one for all tests of a file.

    While it is there an event loop counts as running, so that other files' tests could not start one of their own.
    """
    pytest.importorskip("playwright", reason="needs playwright: pip install 'askless[dev]'")
    from browser import browsing

    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def _service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    from browser import Site

    site = Site(tmp_path_factory.mktemp("site"))
    site.start()
    yield site
    site.stop()


@pytest.fixture(scope="module")
def site(_service: Site, chromium_browser: Browser) -> Iterator[Site]:
    """A service with its pages, without a desk at first: each test makes one of its own."""
    _service.browser = chromium_browser
    yield _service
    _service.leave()


@pytest.fixture
def pages(site: Site) -> Iterator[Site]:
    """The service with its pages; at the end of the test no browser may have complained of a page."""
    site.complaints.clear()
    yield site
    site.close_windows()
    assert not site.complaints
