"""The memory of a server grows with its examples and open tickets, not with the queries that it answers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import httpx
from sqlalchemy import func, select

from askless.datasets.sample import support_questions
from askless.ledger import schema
from askless.ledger.database import Database
from reliability import SOAK, Server, served
from reliability_checks import check_verified

QUERIES = 100_000 if SOAK else 1_000
EXAMPLES = 300 if SOAK else 50
BATCH = 100 if SOAK else 50
MEBIBYTE = 1 << 20
ALLOWED = (16 if SOAK else 8) * MEBIBYTE  # pages that SQLite's connections keep, and what the allocator holds back


def resident(server: Server) -> int:
    """The bytes of the server in memory."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the server is gone")


def learned(address: str) -> int:
    """The examples and open tickets."""
    q, t = schema.queries.c, schema.tickets.c
    with Database(address) as database, database.read() as connection:
        examples = connection.execute(select(func.count()).where(q.example)).scalar_one()
        waiting = connection.execute(select(func.count()).where(t.status == "open")).scalar_one()
    return int(examples) + int(waiting)


def test_memory_does_not_grow_with_queries(database_address: str, tmp_path: Path) -> None:
    texts, labels = support_questions()
    with served(database_address, tmp_path, policy="generalized-hull:tau=0.7") as [server]:
        known = teach(server, texts[:: len(texts) // EXAMPLES], labels[:: len(texts) // EXAMPLES])
        before = learned(database_address)
        figures = []
        headers = {"Authorization": f"Bearer {server.key}"}
        with httpx.Client(headers=headers, timeout=60) as http:
            for start in range(0, QUERIES, BATCH):
                ask(http, server, known, start)
                if (start + BATCH) % (QUERIES // 20) == 0:
                    figures.append({"queries": start + BATCH, "resident": resident(server)})
        keep(figures, database_address)
        fifth, last = figures[3], figures[-1]
        assert fifth["queries"] * 5 == last["queries"] == QUERIES
        assert last["resident"] - fifth["resident"] < ALLOWED, figures
        assert learned(database_address) == before
        check_verified(database_address)


def teach(server: Server, texts: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Answer what the desk asks of these; the texts that it guesses from then on, whoever sends them."""
    for n, (text, label) in enumerate(zip(texts, labels, strict=True)):
        outcome = server.post("queries", {"id": f"taught {n}", "text": text}).json()
        if outcome["status"] == "asked":
            assert server.post(f"tickets/{outcome['ticket']}/answer", {"label": label}).is_success
    again = [{"id": f"again {n}", "text": text} for n, text in enumerate(texts)]
    outcomes = server.post("queries/batch", {"queries": again}).json()["results"]
    known = [text for text, outcome in zip(texts, outcomes, strict=True) if outcome["status"] == "guessed"]
    assert len(known) > len(texts) // 2
    return known


def ask(http: httpx.Client, server: Server, known: list[str], start: int) -> None:
    """A few queries: nine tenths as one batch, the others one by one; all of them are guessed."""
    rows = [{"id": f"q{n}", "text": known[n % len(known)]} for n in range(start, start + BATCH)]
    alone = BATCH // 10
    done = http.post(server.path("queries/batch"), json={"queries": rows[alone:]})
    outcomes = done.json()["results"] + [http.post(server.path("queries"), json=row).json() for row in rows[:alone]]
    assert {outcome["status"] for outcome in outcomes} == {"guessed"}
    assert http.get(server.path(f"queries/q{start}")).json()["status"] == "guessed"


def keep(figures: list[dict[str, int]], address: str) -> None:
    """Leave the figures in the folder that the environment names."""
    folder = os.environ.get("ASKLESS_SOAK_OUT")
    if SOAK and folder:
        backend = address.split(":")[0] if "://" in address else "sqlite"
        path = Path(folder) / f"memory_{backend}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
