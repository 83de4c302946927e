"""A user's own labelled file, as unit vectors and labels: texts in a table, or vectors."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.datasets.open_text import STDIN
from askless.datasets.tables import format_of, read_table
from askless.errors import InvalidInput, UnreadableFile
from askless.inputs import as_matrix
from askless.reproduce.jobs import Labelled


def read_labelled(path: Path, *, text: str | None = None, label: str | None = None, vectors: str = "X") -> Labelled:
    """The rows of a file: texts, embedded by wordllama, or vectors, brought to norm 1 as the paper's are.

    A .npz file has its vectors under `vectors` and its labels under `label` (or y). A .npy file has vectors alone, and
    `label` names a file beside it: another .npy, or a text with one label a line. Any other is a table of
    `askless.datasets.tables`, with its texts in the column `text` and its labels in the column `label`.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".npz":
            X, names = _archive(path, vectors, label or "y")
        elif suffix == ".npy":
            X, names = np.load(path, allow_pickle=False), _label_file(path, label)
        else:
            texts, names = _table(path, text, label)
            X = _embedded(texts)
    except OSError as error:
        raise UnreadableFile(f"Cannot read {error.filename or path}: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise UnreadableFile(f"Cannot read {path}: {error}.") from error
    return labelled(X, names)


def labelled(X: Any, names: Any) -> Labelled:
    """Vectors and the name of each one's label, checked, with the vectors brought to norm 1."""
    vectors = as_matrix(X, what="the file's vectors")
    names = np.asarray(names)
    if names.ndim != 1 or len(names) != len(vectors):
        raise InvalidInput(f"The file has {len(vectors)} vectors and labels of shape {names.shape}; give one a row.")
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise InvalidInput(f"Row {int(np.isnan(names).argmax())} has no label (NaN); fill it in or leave the row out.")
    norms = np.linalg.norm(vectors, axis=1)
    if not norms.all():
        raise InvalidInput(
            f"Row {int((norms == 0.0).argmax())} is a zero vector, which has no direction; leave it out."
        )
    kinds, index = np.unique(names, return_inverse=True)
    if len(kinds) < 2 or len(kinds) == len(names):
        raise InvalidInput(
            f"The file has {len(kinds)} labels on {len(names)} rows; a run needs two labels, and rows left when each "
            "label has given one example."
        )
    unit = np.ascontiguousarray(vectors / norms[:, None])
    labels = index.astype(np.int64)
    digest = hashlib.sha256(f"{unit.shape} {unit.dtype} ".encode() + unit.tobytes() + labels.tobytes()).hexdigest()
    return Labelled(unit, labels, digest)


def _table(path: Path, text: str | None, label: str | None) -> tuple[list[str], NDArray[Any]]:
    format_of(path)
    if path != STDIN:
        path.stat()  # a file that is not there has no columns to name
    if text is None or label is None:
        raise InvalidInput(f"{path.name} holds a table: name its columns with --text and --label.")
    table = read_table(path, text=text, label=label)
    for column, what in ((table.labels or [], "label"), (table.texts, "text")):
        row = next((row for row, value in enumerate(column, start=1) if not value), None)
        if row is not None:
            raise InvalidInput(f"Row {row} of {path.name} has no {what}; fill it in or leave the row out.")
    return table.texts, np.array(table.labels)


def _embedded(texts: list[str]) -> NDArray[np.float32]:
    from askless.embed.wordllama import WordLlama

    X = WordLlama().embed(texts)
    unknown = np.flatnonzero(np.isnan(X).any(axis=1))
    if len(unknown):
        row = int(unknown[0])
        raise InvalidInput(
            f"The embedder knows no word of the text {texts[row]!r} in row {row + 1} ({len(unknown)} such in all); "
            "leave such rows out."
        )
    return X


def _archive(path: Path, vectors: str, label: str) -> tuple[NDArray[Any], NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        for name in (vectors, label):
            if name not in archive.files:
                raise InvalidInput(
                    f"{path.name} has no array {name!r}; it has {', '.join(archive.files)}. Name them with --vectors "
                    "and --label."
                )
        return archive[vectors], archive[label]


def _label_file(path: Path, label: str | None) -> NDArray[Any]:
    if label is None:
        raise InvalidInput(
            f"{path.name} holds vectors alone: name the file of their labels with --label, another .npy or a text with "
            "one label a line."
        )
    file = Path(label)
    if file.suffix.lower() == ".npy":
        names: NDArray[Any] = np.load(file, allow_pickle=False)
        return names
    return np.array(file.read_text(encoding="utf-8").splitlines())
