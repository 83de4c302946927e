"""Vectors as they are: made elsewhere, read from a file, found by their texts."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.embed.rows import as_texts, excerpt, unit_rows
from askless.errors import InvalidInput, MissingExtra, UnreadableFile

TEXT_NAMES = ("text", "texts")
VECTOR_NAMES = ("vector", "vectors", "embedding", "embeddings")
_SAME = 1e-3  # how far apart two vectors of one text may be: what rounding to half precision does


class Vectors:
    """An embedder that only looks up: each text has the vector that was given for it, over its norm.

    A vector of zeros, NaN or infinity becomes a row of NaN: such a text is asked about, never guessed. A text
    for which no vector was given is an error.
    """

    cacheable = False  # it is in a file already

    def __init__(self, texts: Sequence[str], vectors: ArrayLike, name: str = "given") -> None:
        texts = as_texts(texts)
        self._rows = unit_rows(_matrix(vectors, name))
        if len(texts) != len(self._rows):
            raise InvalidInput(f"{name} has {len(self._rows)} vectors for {len(texts)} texts; expected one for each.")
        self._row_of: dict[str, int] = {}
        for row, text in enumerate(texts):
            first = self._row_of.setdefault(text, row)
            if first != row and not _alike(self._rows[first], self._rows[row]):
                raise InvalidInput(
                    f"{name} gives the text {excerpt(text)} two different vectors, in rows {first} and {row}; "
                    "a text has one vector."
                )
        self._name = name
        self._digest = _digest(texts, self._rows)

    @classmethod
    def read(cls, path: str | os.PathLike[str], texts: Sequence[str] | None = None) -> Vectors:
        """The vectors of a file, by what its name ends in.

        .jsonl and .parquet have a column `text` and a column `vector` (or `embedding`) with a list of numbers in
        each row; .npz has the arrays `texts` and `vectors`. A .npy has vectors alone: pass the `texts` they
        belong to, in the same order.
        """
        path = Path(path).expanduser()
        ending = path.suffix.lower()
        if ending not in _READERS:
            raise InvalidInput(f"Vectors are read from {', '.join(_READERS)} files; found {path.name!r}.")
        try:
            found, vectors = _READERS[ending](path)
        except OSError as error:
            raise UnreadableFile(f"Cannot read {path}: {error.strerror or error}.") from error
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, InvalidInput):
                raise
            raise UnreadableFile(f"{path} is no {ending} file that can be read: {error}.") from error
        known = found if found is not None else texts
        if known is None:
            raise InvalidInput(
                f"{path.name} holds vectors without their texts. Save them together, "
                "numpy.savez('vectors.npz', texts=texts, vectors=vectors), and name that file."
            )
        return cls(known, vectors, path.name)

    @property
    def id(self) -> str:
        """Names the file and its content."""
        return f"vectors/{self._name}@{self._digest[:12]}"

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._rows.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The row given for each text; NaN rows where that vector has no direction."""
        texts = as_texts(texts)
        missing = [text for text in texts if text not in self._row_of]
        if missing:
            raise InvalidInput(
                f"{self._name} holds no vector for {len(missing)} of {len(texts)} texts, "
                f"such as {excerpt(missing[0])}. Add them, or choose an embedder that can read new texts."
            )
        return self._rows[[self._row_of[text] for text in texts]]


def _from_npz(path: Path) -> tuple[list[str] | None, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        held = {name: arrays[name] for name in arrays.files if name in (*TEXT_NAMES, *VECTOR_NAMES)}
    texts, vectors = _pick(held, TEXT_NAMES, path), _pick(held, VECTOR_NAMES, path)
    if texts.dtype.kind != "U":
        raise InvalidInput(f"The texts in {path.name} are {texts.dtype.name} values; expected an array of strings.")
    return texts.tolist(), vectors


def _from_npy(path: Path) -> tuple[list[str] | None, Any]:
    return None, np.load(path, allow_pickle=False)


def _from_jsonl(path: Path) -> tuple[list[str] | None, Any]:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(f'{path.name} must hold one object a line, such as {{"text": "...", "vector": [...]}}.')
    names = dict.fromkeys(name for row in rows for name in row)
    return _from_columns({name: [row.get(name) for row in rows] for name in names}, path)


def _from_parquet(path: Path) -> tuple[list[str] | None, Any]:
    import pandas

    try:
        frame = pandas.read_parquet(path)
    except ImportError:
        raise MissingExtra(
            "Reading a .parquet file needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    return _from_columns({name: frame[name].tolist() for name in frame.columns.unique()}, path)


def _from_columns(columns: dict[str, list[Any]], path: Path) -> tuple[list[str] | None, Any]:
    vectors = _pick(columns, VECTOR_NAMES, path)
    dim = next((len(vector) for vector in vectors if hasattr(vector, "__len__")), 0)
    filled = [vector if hasattr(vector, "__len__") else [np.nan] * dim for vector in vectors]  # null: no direction
    return _pick(columns, TEXT_NAMES, path), filled


_READERS = {".jsonl": _from_jsonl, ".parquet": _from_parquet, ".npz": _from_npz, ".npy": _from_npy}


def _pick(columns: Any, names: Sequence[str], path: Path) -> Any:
    found = [name for name in names if name in columns]
    if len(found) != 1:
        raise InvalidInput(
            f"{path.name} needs one column or array named {' or '.join(names)}; found {', '.join(found) or 'none'}."
        )
    return columns[found[0]]


def _matrix(vectors: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(vectors, dtype=np.float64)
    except (ValueError, TypeError):
        raise InvalidInput(
            f"{name} must give every text a list of numbers, all of one length; found something else in a row."
        ) from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(f"{name} must hold one row of numbers a text; found an array of shape {array.shape}.")
    return array


def _alike(first: NDArray[np.float32], second: NDArray[np.float32]) -> bool:
    return bool(np.allclose(first, second, atol=_SAME, rtol=0.0, equal_nan=True))


def _digest(texts: Sequence[str], rows: NDArray[np.float32]) -> str:
    total = hashlib.sha256(np.ascontiguousarray(rows).tobytes())
    for text in texts:
        total.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return total.hexdigest()
