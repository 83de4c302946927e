"""Many texts to vectors: in blocks, each distinct text once, with progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from askless.embed.rows import as_embedder, as_texts, checked_rows
from askless.errors import InvalidInput
from askless.types import Embedder

Progress: TypeAlias = Callable[[int, int], None]  # texts done, texts in all

_BATCH = 1024  # enough to keep any embedder busy, few enough that a stop loses little


def embed_texts(
    embedder: Embedder, texts: Iterable[str], *, progress: Progress | None = None, batch: int = _BATCH
) -> NDArray[np.float32]:
    """One unit row a text; NaN rows where the embedder knows no token of the text.

    Equal texts are embedded once. Beyond the array that is returned, memory holds the vectors of one block of
    `batch` texts, and an index of about a hundred bytes a text. With a `CachedEmbedder`, what is done when a
    run stops is not done again by the next one.
    """
    if not isinstance(batch, int) or batch < 1:
        raise InvalidInput(f"batch is the number of texts embedded at a time, at least 1; found {batch!r}.")
    embedder = as_embedder(embedder)
    texts = as_texts(texts if isinstance(texts, str) else list(texts))
    distinct: dict[str, int] = {}
    place = np.fromiter((distinct.setdefault(text, len(distinct)) for text in texts), np.intp, len(texts))
    order = np.argsort(place, kind="stable")  # the texts' rows, grouped by distinct text
    ends = np.cumsum(np.bincount(place, minlength=len(distinct)))
    rows = np.empty((0, 0), dtype=np.float32)
    names, done = list(distinct), 0
    for start in range(0, len(names), batch):
        block = names[start : start + batch]
        vectors = embedder.embed(block)
        if start == 0:  # not before: some embedders know their dimension only after the first text
            rows = np.empty((len(texts), embedder.dim), dtype=np.float32)
        vectors = checked_rows(vectors, len(block), rows.shape[1], embedder.id)
        targets = order[done : ends[start + len(block) - 1]]
        rows[targets] = vectors[place[targets] - start]
        done += len(targets)
        if progress is not None:
            progress(done, len(texts))
    return rows if texts else np.empty((0, embedder.dim), dtype=np.float32)
