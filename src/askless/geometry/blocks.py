"""Queries decided in turn while the store learns, with one matrix product for many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askless.geometry.nearest import NearestTwo
from askless.inputs import as_matrix

if TYPE_CHECKING:
    from askless.geometry.store import ExampleStore

BYTES = 1 << 24  # of inner products held at a time


def block_rows(examples: int) -> int:
    """How many queries to multiply at a time: up to 256, fewer where the store is large."""
    return max(8, min(256, BYTES // (4 * examples + 1)))


class QueryBlock:
    """Rows of queries and, for the block at hand, their inner products with all examples.

    What was appended since the block's product was made is multiplied with the query at hand alone, so learning between
    queries costs a short product and no new scan. Any other change makes the block's product anew.
    """

    def __init__(self, store: ExampleStore, X: NDArray[Any]) -> None:
        self._store, self._X = store, X
        self._index: object = None
        self._first = self._last = self._known = 0
        self._changes = -1
        self._queries: NDArray[Any] = X[:0]
        self._products: NDArray[Any] = np.zeros((0, 0))
        self._room: NDArray[Any] = np.zeros(0)

    def __len__(self) -> int:
        return len(self._X)

    def nearest_two(self, i: int, tau: float = 1.0, distance: str = "hull", exact: bool = False) -> NearestTwo:
        """The nearest two of query number i, with all that the store holds now."""
        store = self._store
        with store.lock:
            index = store.index
            if not self._first <= i < self._last or self._changes != store.changes or self._index is not index:
                self._multiply(i)
            known, size, row = self._known, index.size, i - self._first
            if size > self._products.shape[1]:
                wider = np.empty((len(self._queries), size + len(self._queries)), index.dtype)
                wider[:, :known] = self._products[:, :known]
                self._products = wider
            query, products = self._queries[row], self._products[row]
            if size > known:
                np.dot(index.block[known:size], query, out=products[known:size])
            return store.settle(query, products[:size], tau, distance, exact)

    def _multiply(self, i: int) -> None:
        """The product of the block that starts at query i with all examples."""
        store = self._store
        self._index = index = store.index
        if self._X.shape[1] != index.dim:  # the first example came after the block was made
            as_matrix(self._X, index.dim)
        self._first, self._last = i, min(len(self._X), i + block_rows(index.size))
        self._queries = store.rounded(self._X[i : self._last])
        rows = self._last - i
        shape = rows, index.size + rows
        need = shape[0] * shape[1]
        if need > len(self._room) or self._room.dtype != index.dtype:
            self._room = np.empty(need + need // 2, index.dtype)
        self._products = self._room[:need].reshape(shape)
        np.matmul(self._queries, index.block[: index.size].T, out=self._products[:, : index.size])
        self._known, self._changes = index.size, store.changes
