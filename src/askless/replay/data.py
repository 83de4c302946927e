"""Labelled texts with their vectors, ready to be replayed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askless.embed.run import embed_texts
from askless.errors import InvalidInput
from askless.types import Embedder


@dataclass(frozen=True, eq=False)
class Vectored:
    """Texts, their labels and their vectors, a row each; a row of NaN is a text the embedder knows nothing of."""

    name: str
    embedder: str
    texts: list[str]
    labels: list[str]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.labels) == len(self.vectors):
            raise InvalidInput(
                f"Expected a label and a vector for each text; found {len(self.texts)} texts, {len(self.labels)} "
                f"labels and {len(self.vectors)} vectors."
            )

    @cached_property
    def classes(self) -> list[str]:
        """The distinct labels, sorted."""
        return sorted(set(self.labels))

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a vector."""
        return np.asarray(np.isfinite(self.vectors).all(axis=1))

    @cached_property
    def digest(self) -> str:
        """A digest of what a run depends on: the vectors and the labels, in their order."""
        found = hashlib.sha256(json.dumps(self.labels).encode())
        found.update(np.ascontiguousarray(self.vectors).tobytes())
        return found.hexdigest()


def vectored(
    name: str,
    texts: Sequence[str],
    labels: Sequence[str],
    embedder: Embedder,
    progress: Callable[[int, int], None] | None = None,
) -> Vectored:
    """The texts with their vectors."""
    vectors = embed_texts(embedder, texts, progress=progress)
    data = Vectored(name, embedder.id, list(texts), list(labels), vectors)
    if not data.known.any():
        raise InvalidInput(f"{embedder.id} knows no token of any text of {name}; is --text the right column?")
    return data
