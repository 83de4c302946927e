"""The tour of the service in the documents goes as it is written, against a real server."""

from __future__ import annotations

import hmac
import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from askless.client.signature import SIGNATURE_HEADER, sign
from askless.desk.live.exchange import COLUMNS
from askless.desk.live.names import LONGEST_ANSWER, LONGEST_NAME
from askless.policies.history import FIRST_FIT
from askless.service.config import MEBIBYTE, ServiceConfig
from askless.service.limits import LONGEST_ID, LONGEST_TEXT, MOST_QUERIES
from askless.service.streams import LONGEST_WAIT
from askless.service.webhooks import CourierSettings

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
