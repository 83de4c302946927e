"""A ledger filled with queries of all kinds, by no desk, so that counts can be compared with a count by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import insert

from askless.ledger import schema
from askless.ledger.database import Database

START = datetime(2026, 1, 29, 22, 17, tzinfo=UTC)  # a Thursday; the month and the week end soon after


def filled(database: Database, count: int = 400, seed: int = 0) -> list[dict[str, Any]]:
    """Queries of all kinds in the tables, and the same as dictionaries."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(1, count + 1):
        status = rng.choice(["guessed", "answered", "asked", "given"], p=[0.6, 0.3, 0.05, 0.05])
        row: dict[str, Any] = {"id": k, "status": str(status), "at": START + timedelta(minutes=37 * k), "why": None}
        row["label"] = None if status == "asked" else f"l{rng.integers(12)}"
        row["p"] = float(rng.random()) if status == "guessed" else None
        if status in ("answered", "asked") or (rng.random() < 0.1 and status == "guessed"):
            row["why"] = str(rng.choice(["unsure", "audit", "shadow", "feedback"]))
            row["ticket"] = {"answered": "answered", "asked": "open"}.get(str(status), "withdrawn")
            row["guess"] = (
                None if row["why"] == "unsure" else f"l{rng.integers(3)}" if rng.random() < 0.5 else row["label"]
            )
            row["seconds"] = float(rng.exponential(500))
            row["likeliest"] = row["guess"] or (None if rng.random() < 0.2 else f"l{rng.integers(2)}")
        rows.append(row)
    with database.write() as connection:
        connection.execute(insert(schema.desks), {"id": 1, "name": "d", "embedder": "e", "created_at": START})
        connection.execute(insert(schema.queries), [
            {"id": r["id"], "desk": 1, "key": str(r["id"]), "received_at": r["at"], "status": r["status"],
             "label": r["label"], "probability": r["p"]} for r in rows
        ])  # fmt: skip
        connection.execute(insert(schema.tickets), [
            {"desk": 1, "query": r["id"], "status": r["ticket"], "why": r["why"], "priority": 1.0, "opened_at": r["at"],
             "opened": 1, "guess": r["guess"], "probability": 0.5, "skipped_by": [],
             "closed_at": r["at"] + timedelta(seconds=r["seconds"]) if r["ticket"] == "answered" else None,
             "closed": 10_000 + r["id"] if r["ticket"] == "answered" else None}
            for r in rows if r["why"]
        ])  # fmt: skip
        events = [event for r in rows if r["why"] for event in events_of(r)]
        connection.execute(insert(schema.events), [{"desk": 1, "at": START, **event} for event in events])
    return rows


def events_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The decision, the opening of its ticket; its answer, by its name then; the verdict on its guess."""
    query, label = row["id"], row["label"]
    yield {"id": query, "query": query, "kind": "asked", "payload": {"why": row["why"]}}
    suggestions = [[row["likeliest"], 0.5, None, None], ["another", 0.7, None, None]] if row["likeliest"] else []
    asking = {"action": "ask", "reason": {"sentence": "so"}, "suggestions": suggestions}
    guessing = {"action": "guess", "label": row["guess"], "probability": 0.5}
    yield {"id": 30_000 + query, "query": query, "kind": "decided", "payload": guessing if row["guess"] else asking}
    if row["ticket"] == "answered":
        yield {"id": 10_000 + query, "query": query, "kind": "answered", "payload": {"label": f"once {label}"}}
        if row["guess"] is not None:
            verdict = {"guess": row["guess"], "answer": label, "right": row["guess"] == label, "why": row["why"]}
            yield {"id": 20_000 + query, "query": query, "kind": "audited", "payload": verdict}


def bucket_of(at: datetime, bucket: str) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if bucket == "hour":
        return day.replace(hour=at.hour)
    return {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}[bucket]
