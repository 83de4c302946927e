"""What all embedders share: which texts they take, and what their rows look like."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import AsklessError, InvalidInput
from askless.types import Embedder

_MEMBERS = ("id", "dim", "embed")
_UNIT = 1e-5  # how far from 1 a norm may be: more than float32 rounds, less than any other scale


class EmbeddingFailed(AsklessError):
    """A model that cannot be loaded, or a server that gives no vectors; the message says what to do."""


def as_embedder(embedder: object, found: str = "Expected an embedder; found") -> Embedder:
    """The embedder, where it has what makes one; the message that it has not begins with `found`.

    Nothing is read from it yet: some know their id or dimension only once a model is loaded or a server asked.
    """
    absent = [name for name in _MEMBERS if inspect.getattr_static(embedder, name, None) is None]
    lacks = [name for name in absent if not hasattr(embedder, name)]  # what a wrapper passes on counts as well
    if lacks:
        raise InvalidInput(
            f"{found} a {type(embedder).__name__}, which lacks {', '.join(lacks)}; askless.types.Embedder says what "
            "each of them is."
        )
    made: Embedder = embedder  # type: ignore[assignment]
    return made


def as_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list; one text alone, or a value that is no text, is refused."""
    if isinstance(texts, str):
        raise InvalidInput("Expected a sequence of texts; found one text. Put it in a list.")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidInput(f"Expected texts; found {text!r} ({type(text).__name__}) in row {row}.")
    return texts


def encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8, and so a tokenizer, cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def excerpt(text: str, longest: int = 40) -> str:
    """The beginning of a text, on one line, for a message."""
    line = " ".join(encodable(text[: 4 * longest]).split())
    return repr(line if len(line) <= longest else f"{line[:longest]}...")


def unit_rows(vectors: ArrayLike) -> NDArray[np.float32]:
    """The rows over their norms, as float32; a row that is zero or not finite has no direction and becomes NaN.

    A float32 row of norm 1 stays as it is, to the last bit.
    """
    exact = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(exact).max(axis=1, initial=0.0)
    usable = np.isfinite(largest) & (largest > 0.0)
    scaled = exact[usable] / largest[usable, None]  # so that squares neither over- nor underflow
    lengths = np.linalg.norm(scaled, axis=1)
    with np.errstate(over="ignore"):  # what overflows is no unit vector, and is replaced
        off = np.abs(lengths * largest[usable] - 1.0) > _UNIT
        rows = exact.astype(np.float32)
    rows[~usable] = np.nan
    rows[np.flatnonzero(usable)[off]] = scaled[off] / lengths[off, None]
    return rows


def checked_rows(vectors: ArrayLike, count: int, dim: int, embedder_id: str) -> NDArray[np.float32]:
    """What an embedder gave for `count` texts, as unit rows; another shape is refused."""
    rows = np.asarray(vectors)
    if rows.shape != (count, dim):
        raise InvalidInput(
            f"{embedder_id} gave an array of shape {rows.shape} for {count} texts; expected ({count}, {dim}): "
            "one row a text, with as many columns as its `dim` says."
        )
    return unit_rows(rows)
