"""The tour of the service in the documents goes as it is written, against a real server."""

from __future__ import annotations

import hmac
import importlib.util
import inspect
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from askless import client
from askless.client import Client, Retries, ServiceError, administration, answering, asking, knowledge
from askless.client.errors import error_for
from askless.client.signature import SIGNATURE_HEADER, sign
from askless.desk.live import erase
from askless.desk.live.exchange import COLUMNS
from askless.desk.live.names import LONGEST_ANSWER, LONGEST_NAME
from askless.ledger.database import Database
from askless.policies.history import FIRST_FIT
from askless.service.config import MEBIBYTE, ServiceConfig
from askless.service.limits import LONGEST_ID, LONGEST_TEXT, MOST_QUERIES
from askless.service.streams import LONGEST_WAIT
from askless.service.webhooks import CourierSettings
from serving import serving

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "service.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tour() -> ModuleType:
    spec = importlib.util.spec_from_file_location("service_tour", DOCS / "service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tour needs curl (Debian's package curl)")
def test_the_tour_goes_as_it_is_written(tour: ModuleType) -> None:
    assert tour.played(PAGE) == PAGE, "run `.venv/bin/python docs/service.py` and read what changed"


def test_every_block_of_a_language_is_run(tour: ModuleType) -> None:
    marked = PAGE.count("```bash\n") + PAGE.count("```python\n")
    assert marked == len(tour.BLOCK.findall(PAGE))


def test_the_limits_are_those_of_the_code() -> None:
    config, reference = ServiceConfig(), PAGE.partition("## Reference")[2]
    for row in (
        f"| a text | {LONGEST_TEXT:,} characters |",
        f"| an id | {LONGEST_ID} characters;",
        f"| a label, an answer text | {LONGEST_NAME} and {LONGEST_ANSWER:,} characters |",
        f"| {MOST_QUERIES:,} |",
        f"{config.max_body // MEBIBYTE} MiB; {config.max_bulk_body // MEBIBYTE} MiB",
        f"| `?wait=` | {LONGEST_WAIT:g} seconds;",
        f"| {config.rate:g} a second",
        f"| {config.max_streams:,}; of one key {config.max_streams // 4} |",
        f"good for {config.session_seconds // 3600} hours",
        f"has {FIRST_FIT} answers",
    ):
        assert row in reference, row


def test_the_times_and_the_columns_are_those_of_the_code() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    told = PAGE.partition("sent again after ")[2].partition(", each")[0].replace(" and", ",").split(",")
    assert [int(count) * units[unit] for count, unit in (one.split() for one in told)] == [*CourierSettings().delays]
    listed = f"stay listed for {CourierSettings().keep.days} days, dead ones for {CourierSettings().keep_dead.days};"
    assert listed in PAGE
    columns = PAGE.partition("write a row for each query:")[2].partition(".\n")[0]
    assert re.findall(r"`(\w+)`", columns) == [*COLUMNS]


def test_a_receiver_in_another_language_can_check_a_signature() -> None:
    assert 'HMAC-SHA256(secret, "SECONDS.BODY")' in PAGE
    assert SIGNATURE_HEADER in PAGE
    digest = hmac.new(b"secret", b'1700000000.{"id":1}', "sha256").hexdigest()
    assert sign("secret", b'{"id":1}', 1700000000) == f"t=1700000000,v1={digest}"


def test_the_errors_of_the_client_are_told_with_their_statuses() -> None:
    rows = re.findall(r"^\| `(\w+)`[^|]* \| ([^|]+) \|", PAGE.partition("### Errors of the client")[2], re.MULTILINE)
    exported = [getattr(client, name) for name in client.__all__]
    assert {name for name, _ in rows} == {
        kind.__name__ for kind in exported if inspect.isclass(kind) and issubclass(kind, ServiceError)
    }
    told = {int(status): name for name, statuses in rows for status in re.findall(r"\d+", statuses)}
    for status in range(400, 600):
        rest = "Unreachable" if status >= 500 else "ServiceError"
        assert type(error_for(status, {}, "GET")).__name__ == told.get(status, rest), status


def test_when_the_client_tries_again_is_told() -> None:
    part, usual = PAGE.partition("### Errors of the client")[2].partition("\n###")[0], Retries()
    assert "for a minute after its first" in part
    assert "from a quarter of a second to five seconds" in part
    assert (usual.patience, usual.first, usual.longest, usual.most) == (60.0, 0.25, 5.0, None)
    listed = part.partition("all but these:")[2].partition(".")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == _sent_once()


def _sent_once() -> set[str]:
    """The methods whose call is not sent again where it may have been carried out."""
    found = set()
    for module in (administration, answering, asking, knowledge):
        for name, build in inspect.getmembers(module, inspect.isfunction):
            kinds = inspect.signature(build)
            if hasattr(Client, name) and kinds.return_annotation.startswith("Call["):
                needed = [one for one in kinds.parameters.values() if one.default is one.empty and one.kind < 2]
                if not build(*(1 if one.annotation == "int" else "a" for one in needed)).harmless:
                    found.add(name)
    return found


def test_a_restored_copy_is_kept_from_telling_the_receivers_of_the_original(tmp_path: Path) -> None:
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with serving(database) as served:
            desk = served.make_desk()
            assert served.admin.post(f"{desk}/webhooks", json={"url": "http://127.0.0.1:9/"}).is_success
            assert served.client.post(f"{desk}/queries", json={"text": "Do you ship to Norway?"}).is_success
            assert served.admin.get(f"{desk}/deliveries", params={"status": "pending"}).json()["items"]
    said = re.findall(r"^DELETE FROM (\w+);$", PAGE.partition("## Backup")[2].partition("\n## ")[0], re.MULTILINE)
    assert said == ["deliveries", "webhooks"]  # in this order, for the one refers to the other
    with closing(sqlite3.connect(tmp_path / "askless.db")) as connection:
        connection.execute("PRAGMA foreign_keys=ON")
        for table in said:
            assert connection.execute(f"DELETE FROM {table}").rowcount == 1
        connection.commit()


def test_the_tables_that_held_a_text_are_told() -> None:
    assert f"`VACUUM FULL {erase._HELD_TEXT};`" in PAGE
