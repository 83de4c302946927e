"""The calls of those who ask: submit, fetch, wait, tell whether a guess was right."""

from __future__ import annotations

import time
import uuid
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias, TypeVar

from askless.client.call import Call, json_of, path
from askless.client.results import Outcome, Page, QueryRow, many, one, page_of
from askless.errors import InvalidInput

T = TypeVar("T")
Steps: TypeAlias = Generator[Call[Any], Any, T]  # yields calls, is sent their results, returns the whole

LARGEST_BATCH = 1_000

_outcome = one(Outcome)


def ask(
    desk: str,
    text: str | None = None,
    id: str | None = None,
    *,
    vector: Sequence[float] | None = None,
    wait: float | None = None,
) -> Steps[Outcome]:
    """Submit a query, a text or a vector of the desk's embedder; with `wait`, wait so many seconds for an expert.

    `id` is your own name for it: the same id again gives the same outcome and counts once. Without one the client
    makes one before the first try, so that a try that is repeated never counts twice.
    """
    call = _submitted(desk, text, id or new_id(), vector)
    outcome: Outcome = yield call
    if wait is not None and outcome.waits:
        outcome = yield from wait_for(desk, outcome.id, wait)
    return outcome


def ask_many(desk: str, texts: Sequence[str], ids: Sequence[str] | None = None) -> Steps[list[Outcome]]:
    """Submit many texts, in requests of at most 1,000; the outcomes come in the order of the texts."""
    if isinstance(texts, str):
        raise InvalidInput("ask_many takes a list of texts; for one text use ask.")
    if ids is not None and len(ids) != len(texts):
        raise InvalidInput(f"There are {len(texts)} texts and {len(ids)} ids; give one id for each text, or none.")
    names = [new_id() for _ in texts] if ids is None else list(ids)
    outcomes: list[Outcome] = []
    for start in range(0, len(names), LARGEST_BATCH):
        stop = start + LARGEST_BATCH
        rows = [{"id": i, "text": t} for i, t in zip(names[start:stop], texts[start:stop], strict=True)]
        outcomes += yield Call(
            "POST",
            path("desks", desk, "queries", "batch"),
            lambda response: many(Outcome)(json_of(response)["results"]),
            body={"queries": rows},
            harmless=True,
        )
    return outcomes


def query(desk: str, id: str) -> Call[Outcome]:
    """What stands about a query."""
    return Call("GET", path("desks", desk, "queries", id), _outcome, harmless=True)


def wait_for(desk: str, id: str, timeout: float = 60.0) -> Steps[Outcome]:
    """Wait until the query no longer waits for an expert, at most `timeout` seconds; then what stands, either way.

    A service that cannot be reached meanwhile is tried again until then; Unreachable where it still cannot.
    """
    end = time.monotonic() + timeout
    while True:
        outcome: Outcome = yield Call("GET", path("desks", desk, "queries", id), _outcome, harmless=True, until=end)
        if not outcome.waits or time.monotonic() >= end:
            return outcome


def watched(desk: str, id: str) -> str:
    """The path of the stream of server-sent events about a query."""
    return path("desks", desk, "queries", id, "events")


def feedback(desk: str, id: str, right: str | None = None) -> Call[Outcome]:
    """Say that a guess was wrong, and which label is right where you know: it becomes a ticket, an expert decides."""
    return Call("POST", path("desks", desk, "queries", id, "feedback"), _outcome, body={"right": right})


def queries(
    desk: str,
    *,
    status: str | None = None,
    label: str | None = None,
    search: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[QueryRow]]:
    """A page of the desk's queries, the newest first, with what was decided and why (experts)."""
    params = {"status": status, "label": label, "search": search, "cursor": cursor, "limit": limit}
    return Call("GET", path("desks", desk, "queries"), page_of(QueryRow), params=params, harmless=True)


def erase(desk: str, id: str) -> Call[None]:
    """Erase the text and the vector of a query everywhere (admins); the counts stay."""
    return Call("DELETE", path("desks", desk, "queries", id), nothing, harmless=True)


def new_id() -> str:
    """An id that nobody else makes."""
    return uuid.uuid4().hex


def _submitted(desk: str, text: str | None, id: str, vector: Sequence[float] | None) -> Call[Outcome]:
    if text is None and vector is None:
        raise InvalidInput("A query needs a text or a vector; neither was given.")
    body: dict[str, Any] = {"id": id}
    if text is not None:
        body["text"] = text
    if vector is not None:
        body["vector"] = [float(x) for x in vector]
    return Call("POST", path("desks", desk, "queries"), _outcome, body=body, harmless=True)


def nothing(response: Any) -> None:
    """For an answer without a result."""
    return
