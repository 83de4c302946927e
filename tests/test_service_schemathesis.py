"""schemathesis against the OpenAPI document, with all its checks: small here, larger with ASKLESS_SOAK=1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from askless.ledger.database import Database
from serving import Served, serving

SOAK = os.environ.get("ASKLESS_SOAK") == "1"

DELETES_THE_DESK = "delete_api_v1_desks__desk__delete"

# Nobody waits for long. Whether a file holds a table cannot be said in a schema: 422 is a right answer to a file that
# the schema allows.
CONFIG = """
[parameters]
"query.wait" = 0.1
{more}
[[operations]]
include-path = "/api/v1/desks/{{desk}}/import"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "403", "404", "409", "422"]
"""
AT_THE_DESK = '"path.desk" = "support"'  # only where all that is sent is right: it stands in for wrong names too


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Database(tmp_path_factory.mktemp("served") / "askless.db") as database:
        database.prepare()
        with serving(database, log_requests=True, heartbeat_seconds=1.0) as found:
            desk = found.make_desk("support", policy="similarity-threshold:0.9")
            found.teach(desk, {"How do I pay my bill?": "pay", "I forgot my password": "password"})
            yield found


# The tool itself ends at a text such as "http://[942]" in an answer, where it looks for links: Python's urlsplit
# refuses it (schemathesis 4.32.5, `_same_origin_path`). Such a text is no link.
LAUNCHER = """
from schemathesis.cli import schemathesis
from schemathesis.engine import observations
found = observations._same_origin_path
def same_origin_path(value, origin):
    try:
        return found(value, origin)
    except ValueError:
        return None
observations._same_origin_path = same_origin_path
schemathesis()
"""


def schemathesis(served: Served, folder: Path, *options: str, more: str = "") -> None:
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG.format(more=more))
    key = f"Authorization: Bearer {served.key['admin']}"
    run = [
        sys.executable,
        "-c",
        LAUNCHER,
        "--config-file",
        config,
        "run",
        f"{served.url}/openapi.json",
        "-H",
        key,
        "--checks",
        "all",
    ]
    fixed = ["--no-color", "--generation-deterministic", "--suppress-health-check", "all", "--request-timeout", "120"]
    fixed += ["--max-response-time", "120"]  # a model may be loaded, or a kernel compiled
    # To delete a query is to erase it: what was decided stays, and who asks for it is told that it was erased.
    fixed += ["--exclude-checks", "use_after_free"]
    # The streams of events do not end by themselves; tests/test_service_streams.py reads them.
    fixed += ["--exclude-path-regex", "/events$", "--exclude-operation-id", DELETES_THE_DESK]
    done = subprocess.run(
        [*map(str, run), *fixed, *options], cwd=folder, capture_output=True, text=True, timeout=6 * 3600
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert not [line for line in served.logged() if line["event"] == "failure"]


def test_the_document_describes_every_status_and_the_problem(served: Served) -> None:
    document = served.nobody.get("/openapi.json").json()
    problem = {"$ref": "#/components/schemas/ProblemBody"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            failures = {status: body for status, body in operation["responses"].items() if int(status) >= 400}
            for status, body in failures.items():
                assert body["content"] == {"application/problem+json": {"schema": problem}}, (method, path, status)
            if path.startswith("/api/"):
                assert {"401", "422", "429", "500", "503"} <= failures.keys(), (method, path)
            assert operation["summary"]
            assert operation.get("description"), (method, path)
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_bounds_are_written_as_json_schema_has_them(served: Served) -> None:
    def keys(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            yield from part
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            yield from keys(inner)

    schemas = served.nobody.get("/openapi.json").json()["components"]["schemas"]
    assert not {"ge", "le", "gt", "lt", "multiple_of", "min_length", "max_length"} & set(keys(schemas))
    retention = schemas["DeskChangeBody"]["properties"]["retention_days"]["anyOf"][0]
    assert (retention["minimum"], retention["maximum"]) == (1, 36_500)


def test_schemathesis_finds_no_failure_in_right_requests(served: Served, tmp_path: Path) -> None:
    chosen = r"/(queries|queries/batch|tickets/next|tickets/\{number\}/answer|labels|statistics)$"
    few = ["--max-examples", "50"] if SOAK else ["--max-examples", "3", "--include-path-regex", chosen]
    schemathesis(served, tmp_path, "--mode", "positive", "--phases", "fuzzing,stateful", *few, more=AT_THE_DESK)


def test_schemathesis_finds_no_failure_in_wrong_requests(served: Served, tmp_path: Path) -> None:
    if SOAK:
        schemathesis(served, tmp_path, "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "50")
        return
    chosen = r"/(tickets/next|session|keys)$"
    schemathesis(
        served, tmp_path, "--phases", "coverage,fuzzing", "--max-examples", "3", "--include-path-regex", chosen
    )
