"""Examples known before, taken in by the thousand: checked first, embedded outside of the worker, written in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from askless.desk.live.configure import settings_of
from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import GivenExample, Progress
from askless.desk.live.intake import ready
from askless.desk.live.labels import create, known_or_made, set_answer
from askless.desk.live.names import answer_text, label_name
from askless.desk.live.rows import insert_events, insert_rows, new_ids
from askless.desk.live.types import NewQuery, QueryStatus
from askless.desk.live.vectors import StoredVectors
from askless.desk.texts import key_of
from askless.embed.run import embed_texts
from askless.errors import AsklessError, Conflicting, InvalidInput
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.events import Event

_CHUNK = 1_000  # examples in one operation: callers are served in between
_KEYS_AT_ONCE = 500

_queries = schema.queries


@dataclass(frozen=True, slots=True)
class Given:
    """How many examples are new, and how many the desk had already.

    `answers` labels got their answer text from these; `answers_kept` had another one already, which stays.
    """

    added: int
    same: int
    answers: int = 0
    answers_kept: int = 0


class _Switched(AsklessError):
    """The desk has another embedder since these vectors were made."""


def give(
    desks: Desks, name: str, examples: Sequence[GivenExample], who: str | None, *, progress: Progress | None = None
) -> Given:
    """Take in examples in their order. What cannot be taken is refused by its row before anything is written.

    Without an id of its own an example has a digest of its text: the same file again adds nothing. An id that the desk
    has with another text or label is refused, and so is one of an erased query. A label that is new, or has no answer
    text yet, gets the one that its examples bring. A stop in the middle leaves whole chunks behind, and the same call
    again goes on after them.
    """
    row = desks.row(name)
    answers = _answers(examples)
    checked = _checked(examples)
    with desks.database.read() as connection:
        fresh = _fresh(connection, row.id, checked)
        _refuse_twins(connection, row.id, fresh)
    new = {example.label for example in fresh}
    got, kept = desks.run(name, lambda desk: _write_answers(desk, answers, new, who)).result() if answers else (0, 0)
    done = 0
    for start in range(0, len(fresh), _CHUNK):
        chunk = fresh[start : start + _CHUNK]
        done += _embedded_and_written(desks, name, chunk, who)
        if progress is not None:
            progress(min(start + _CHUNK, len(fresh)), len(fresh))
    return Given(done, len(checked) - done, got, kept)


def _answers(examples: Sequence[GivenExample]) -> dict[str, str]:
    """The answer texts by their labels; two for one label are refused."""
    found: dict[str, tuple[str, int]] = {}
    for place, given in enumerate(examples, start=1):
        row = given.row or place
        try:
            answer = answer_text(given.answer)
            if answer is None:
                continue
            label = label_name(given.label)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row}: {error} Nothing was taken in.") from None
        before = found.setdefault(label, (answer, row))
        if before[0] != answer:
            raise InvalidInput(
                f"Row {row}: the label {label!r} has another answer text in row {before[1]}, and a label has one. "
                "Leave the others blank, or rename the column to take none in. Nothing was taken in."
            )
    return {label: answer for label, (answer, _) in found.items()}


def _write_answers(desk: LiveDesk, answers: dict[str, str], new: set[str], who: str | None) -> tuple[int, int]:
    """The operation of the worker: how many labels have got their text now, and how many keep another one.

    A label that the desk has not is made only where a `new` example has it: one that was deleted stays so.
    """
    got = kept = 0
    for label, answer in answers.items():
        known = desk.fold.labels.get(label)
        if known is None:
            if label in new:
                create(desk, label, answer, who)
                got += 1
        elif known.answer is None:
            set_answer(desk, label, answer, who)
            got += 1
        elif known.answer != answer:
            kept += 1
    return got, kept


def _embedded_and_written(desks: Desks, name: str, chunk: list[GivenExample], who: str | None) -> int:
    while True:
        embedder = desks.embedder(settings_of(desks, name).embedder)
        vectors = embed_texts(embedder, [example.text for example in chunk])
        made_by = embedder.id
        try:
            return desks.run(name, lambda desk: _write(desk, chunk, vectors, made_by, who)).result()  # noqa: B023
        except _Switched:
            continue


def _checked(examples: Sequence[GivenExample]) -> list[GivenExample]:
    """The examples as they are kept, each with a key; equal ones once."""
    found: dict[str, GivenExample] = {}
    for place, given in enumerate(examples, start=1):
        row = given.row or place
        try:
            kept = ready(NewQuery(key_of(given.text) if given.key is None else given.key, given.text))
            example = GivenExample(str(kept.text), label_name(given.label), kept.key, row)
        except InvalidInput as error:
            raise InvalidInput(f"Row {row}: {error} Nothing was taken in.") from None
        before = found.setdefault(str(example.key), example)
        if (before.text, before.label) != (example.text, example.label):
            what = "label" if before.text == example.text else "text"
            shown = "its text" if given.key is None else f"the id {example.key!r}"
            raise InvalidInput(
                f"Row {row}: {shown} is in row {before.row} as well, with another {what}. Leave one of them out. "
                "Nothing was taken in."
            )
    return list(found.values())


def _fresh(connection: Connection, desk: int, examples: list[GivenExample]) -> list[GivenExample]:
    """Those that the desk has not; one that contradicts what it has is refused."""
    q = _queries.c
    found: dict[str, Any] = {}
    for start in range(0, len(examples), _KEYS_AT_ONCE):
        keys = [example.key for example in examples[start : start + _KEYS_AT_ONCE]]
        columns = (q.key, q.text, q.label, q.status, q.erased_at)
        for row in connection.execute(select(*columns).where(q.desk == desk, q.key.in_(keys))):
            found[row.key] = row
    fresh = []
    for example in examples:
        known = found.get(str(example.key))
        if known is None:
            fresh.append(example)
        elif (known.text, known.label) != (example.text, example.label) or known.status == QueryStatus.GUESSED:
            raise Conflicting(f"Row {example.row}: {_contradiction(example, known)} Nothing was taken in.")
    return fresh


def _refuse_twins(connection: Connection, desk: int, fresh: list[GivenExample]) -> None:
    """Refuse by its row a new label that is another one but for capitals, before anything is written."""
    known = set(connection.execute(select(schema.labels.c.name).where(schema.labels.c.desk == desk)).scalars())
    spelled = {name.casefold(): name for name in known}
    for example in fresh:
        twin = spelled.setdefault(example.label.casefold(), example.label)
        if example.label not in known and twin != example.label:
            raise Conflicting(
                f"Row {example.row}: the label {example.label!r} differs from the label {twin!r} only in capital and "
                "small letters. Write both alike. Nothing was taken in."
            )


def _contradiction(example: GivenExample, known: Any) -> str:
    if known.erased_at is not None:
        return f"the query {example.key!r} was erased at this desk. Leave the row out."
    if known.text != example.text:
        return f"the desk has another text under the id {example.key!r}. Give it another id."
    if known.status in (QueryStatus.ASKED, QueryStatus.GUESSED):
        return f"the query {example.key!r} is at the desk already, {known.status}. Answer or correct it there."
    return f"the desk has {example.key!r} with the label {known.label!r}. Correct it there, or leave the row out."


def _write(
    desk: LiveDesk, chunk: list[GivenExample], vectors: NDArray[np.float32], made_by: str, who: str | None
) -> int:
    """The operation of the worker: rows, events and the state; how many were new."""
    if desk.row.embedder != made_by:
        raise _Switched(f"The desk has the embedder {desk.row.embedder} by now.")
    connection = desk.entry.connection
    place = {example.key: k for k, example in enumerate(chunk)}
    fresh = _fresh(connection, desk.row.id, chunk)
    for label in dict.fromkeys(example.label for example in fresh):
        known_or_made(desk, label, who)
    ids, numbers = new_ids(connection, _queries, len(fresh)), new_ids(connection, schema.events, len(fresh))
    at_hand: dict[int, NDArray[np.float32] | None] = {}
    rows, events = [], []
    for id, number, example in zip(ids, numbers, fresh, strict=True):
        x = vectors[place[example.key]]
        at_hand[id] = None if np.isnan(x).any() else np.array(x, dtype=np.float32)
        rows.append(_row(desk, id, number, example, at_hand[id], who))
        events.append(Event(number, kinds.GIVEN, id, {"label": example.label}, None, who, desk.entry.at))
    insert_rows(connection, _queries, rows)
    insert_events(desk.entry, events)
    vector_of = StoredVectors(connection, at_hand)
    for event in events:
        desk.apply(event, vector_of)
    return len(fresh)


def _row(
    desk: LiveDesk, id: int, event: int, example: GivenExample, x: NDArray[np.float32] | None, who: str | None
) -> dict[str, Any]:
    return {
        "id": id,
        "desk": desk.row.id,
        "key": example.key,
        "text": example.text,
        "vector": None if x is None else x.tobytes(),
        "embedder": desk.row.embedder,
        "received_at": desk.entry.at,
        "asker": who,
        "status": QueryStatus.GIVEN.value,
        "label": example.label,
        "decided": event,
        "example": True,
    }
