"""The state of a desk as of an event, in one row: so that a start need not replay the whole ledger.

A body is an ordinary numpy archive without pickled objects, compressed. The vectors of examples and of open tickets
are not in it, but read from the queries when it is loaded; of an array of the policy that holds the same vectors only
the rows are kept that differ, in their last digits, since the policy has brought them to norm 1. The header holds what
the body's bytes must be: one that is damaged, of another version or of another embedder is ignored, and so is one from
before an example was erased.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select

from askless.desk.live.fold import Fold, LabelState, Renaming, Waiting
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import Why
from askless.desk.live.vectors import events_with_vectors, read_vectors
from askless.errors import AsklessError
from askless.ledger import schema
from askless.ledger.entry import Entry
from askless.ledger.events import ERASED
from askless.ledger.ledger import DeskRow

VERSION = 1
_SAME = "vectors"  # of the examples: what an array of the policy is, but for the rows that are stored
_TEXT = "json"
_table, _events = schema.snapshots, schema.events


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is written to the ledger: as of which event, the header and the body."""

    event: int
    header: dict[str, Any]
    body: bytes


def load(connection: Connection, row: DeskRow) -> Fold:
    """The state of a desk: the newest snapshot that can be used, or nothing, and the events after it."""
    found = _newest(connection, row)
    if found is not None:
        _catch_up(connection, row, found)
        if not found.stale:
            return found
    fold = Fold()
    _catch_up(connection, row, fold)
    fold.stale = False  # what is erased was left out from the start
    return fold


def _catch_up(connection: Connection, row: DeskRow, fold: Fold) -> None:
    for event, vector_of in events_with_vectors(connection, row.id, fold.last_event):
        fold.apply(event, vector_of)


def take(fold: Fold, embedder: str) -> Snapshot | None:
    """A snapshot of this state; None where the policy offers no way to save it."""
    if not all(hasattr(fold.policy, name) for name in ("state", "restore")):
        return None
    policy: Any = fold.policy
    arrays: dict[str, NDArray[Any]] = {}
    rest: dict[str, Any] = {}
    for name, value in policy.state().items():
        if not isinstance(value, np.ndarray):
            rest[name] = value
        elif len(value) and value.dtype == np.float32 and value.shape == fold.near.rows.shape:
            rest[name] = {_SAME: True}
            differs = np.flatnonzero((value != fold.near.rows).any(axis=1))
            arrays[f"{_SAME}.{name}.at"], arrays[f"{_SAME}.{name}"] = differs, value[differs]
        else:
            arrays[f"policy.{name}"] = value
    names = list(fold.labels)
    number = {name: k for k, name in enumerate(names)}
    arrays["examples"] = np.array(list(fold.examples), dtype=np.int64)
    arrays["labels"] = np.array([number[label] for label in fold.examples.values()], dtype=np.int32)
    text = {
        "settings": fold.settings.written(),
        "labels": [[name, state.answer, state.count] for name, state in fold.labels.items()],
        "waiting": [[id, w.why.value, w.offered] for id, w in fold.waiting.items()],
        "renamings": fold.renamings,
        "known": len(fold.near),
        "policy": rest,
    }
    try:
        arrays[_TEXT] = np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)
    except (TypeError, ValueError):  # a policy of the user's own with a state that JSON cannot hold
        return None
    body = _packed(arrays)
    header = {"version": VERSION, "embedder": embedder, "sha256": hashlib.sha256(body).hexdigest()}
    return Snapshot(fold.last_event, header, body)


def store(entry: Entry, snapshot: Snapshot) -> None:
    """Write a snapshot in place of those before, unless something was erased since it was taken."""
    erased = select(_events.c.id).where(
        _events.c.desk == entry.desk, _events.c.id > snapshot.event, _events.c.kind == ERASED
    )
    if entry.connection.execute(erased.limit(1)).scalar() is not None:
        return
    entry.connection.execute(delete(_table).where(_table.c.desk == entry.desk))
    entry.connection.execute(
        insert(_table),
        {
            "desk": entry.desk,
            "event": snapshot.event,
            "made_at": entry.at,
            "header": snapshot.header,
            "body": snapshot.body,
        },
    )


def _newest(connection: Connection, row: DeskRow) -> Fold | None:
    found = connection.execute(
        select(_table).where(_table.c.desk == row.id).order_by(_table.c.event.desc()).limit(1)
    ).one_or_none()
    if found is None:
        return None
    header = found.header
    if not isinstance(header, dict) or header.get("version") != VERSION or header.get("embedder") != row.embedder:
        return None
    if header.get("sha256") != hashlib.sha256(found.body).hexdigest():
        return None
    try:
        with np.load(io.BytesIO(found.body), allow_pickle=False) as archive:
            arrays: dict[str, NDArray[Any]] = {name: archive[name] for name in archive.files}
        return _restored(connection, arrays, int(found.event))
    except (AsklessError, ValueError, TypeError, LookupError, AttributeError, OSError, zipfile.BadZipFile):
        return None  # a cache: what cannot be read is made anew


def _restored(connection: Connection, arrays: dict[str, NDArray[Any]], event: int) -> Fold | None:
    text = json.loads(arrays.pop(_TEXT).tobytes())
    fold = Fold()
    fold.settings = LiveSettings.read(text["settings"])
    fold.policy = fold.settings.make_policy()
    fold.labels = {name: LabelState(answer, count) for name, answer, count in text["labels"]}
    names = list(fold.labels)
    ids = arrays.pop("examples").tolist()
    fold.examples = {id: names[k] for id, k in zip(ids, arrays.pop("labels").tolist(), strict=True)}
    vectors = read_vectors(connection, [*ids, *(id for id, _, _ in text["waiting"])])
    known = [id for id in ids if vectors.get(id) is not None]
    if len(known) != text["known"]:
        return None
    rows: NDArray[np.float32] = np.array([vectors[id] for id in known], dtype=np.float32)
    fold.near.restore(known, rows, [fold.examples[id] for id in known])
    fold.waiting = {id: Waiting(vectors.get(id), Why(why), offered) for id, why, offered in text["waiting"]}
    fold.renamings = [Renaming(*row) for row in text["renamings"]]
    state: dict[str, Any] = {n.removeprefix("policy."): a for n, a in arrays.items() if n.startswith("policy.")}
    for name, value in text["policy"].items():
        state[name] = value
        if isinstance(value, dict) and _SAME in value:
            state[name] = rows.copy()
            state[name][arrays[f"{_SAME}.{name}.at"]] = arrays[f"{_SAME}.{name}"]
    policy: Any = fold.policy
    policy.restore(state)
    fold.last_event = fold.saved = event
    return fold


def _packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)
    return file.getvalue()
