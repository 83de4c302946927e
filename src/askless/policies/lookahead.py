"""Blocks of queries seen from the examples, so that the next block can be looked at while one is being decided."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.geometry.blocks import BYTES, block_rows
from askless.policies.neighbourhoods import NEIGHBOURS, Neighbourhoods, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.types import Vector

_FIRST = 64  # queries: enough for a good matrix product, few enough that the first of them need not wait long
_GROWTH = 4  # of a block over the one before: each waits for the interpreter, which other threads may hold
_FOUND = 24 * (NEIGHBOURS + 1)  # bytes of what is found for one query


@dataclass(frozen=True, slots=True)
class Block:
    """Queries as the rows are kept, their products with the examples there were then, and what these say to them."""

    seen: NDArray[np.float32]
    products: NDArray[np.float32]
    moves: int
    changes: int
    found: Neighbourhoods | None

    def neighbourhoods(self, examples: OrderedExamples, start: int, stop: int) -> Neighbourhoods:
        """What all examples say to some of the queries; those that were appended since count as well."""
        seen, products = self.seen[start:stop], self.products[start:stop]
        later = seen @ examples.rows[products.shape[1] :].T
        there = np.hstack([products, later]) if later.size else products
        return neighbourhoods(examples, seen, there, np.full(len(seen), len(examples)))


def look(examples: OrderedExamples, queries: Sequence[Vector], whole: bool) -> Block:
    """The products of queries with the examples, and where `whole`, what all of these say to each query.

    May run beside the thread that changes the examples: a change waits until this is done.
    """
    with examples.lock:
        seen = examples.seen_from(np.array(queries))
        rows, found = examples.rows, None
        products = seen @ rows.T if len(rows) else np.zeros((len(seen), 0), dtype=np.float32)
        if whole and products.size:
            found = neighbourhoods(examples, seen, products, np.full(len(seen), len(examples)))
        return Block(seen, products, examples.moves, examples.changes, found)


class Blocks:
    """Blocks of the queries in turn; `calm` says for how many queries nothing has changed by now.

    As many queries as that are looked at ahead, from the first moment on: by a thread of their own, while the caller is
    busy with the blocks before them or with something else. What may change soon is looked at when its turn has come.
    """

    def __init__(self, examples: OrderedExamples, queries: Sequence[Vector], calm: Callable[[], int]) -> None:
        self._examples, self._queries, self._calm = examples, queries, calm
        self._start = 0  # of what no block has yet
        self._together = _FIRST  # in the next block, at most
        self._later: deque[tuple[Sequence[Vector], Future[Block]]] = deque()
        self._thread = ThreadPoolExecutor(1, "askless-ahead")  # it starts where there is work for it
        weakref.finalize(self, self._thread.shutdown, wait=False, cancel_futures=True)  # where no block is ever taken
        self._look_ahead()

    def __iter__(self) -> Iterator[tuple[Sequence[Vector], Block]]:
        done = False
        try:
            while self._later or self._start < len(self._queries):
                if self._later:
                    queries, block = self._later.popleft()
                    found = block.result()
                else:
                    queries = self._next()
                    found = look(self._examples, queries, len(queries) <= self._calm())
                self._look_ahead()
                yield queries, found
            done = True
        finally:  # one that is given up waits for nothing: it may be collected while the lock is held here
            self._thread.shutdown(wait=done, cancel_futures=True)

    def _look_ahead(self) -> None:
        most = BYTES // (4 * len(self._examples) + _FOUND)
        while self._start < len(self._queries):
            ahead = self._size() + sum(len(queries) for queries, _ in self._later)
            if ahead > self._calm() or (self._later and ahead > most):
                return
            queries = self._next()
            self._later.append((queries, self._thread.submit(look, self._examples, queries, True)))

    def _next(self) -> Sequence[Vector]:
        size = self._size()
        queries = self._queries[self._start : self._start + size]
        self._start, self._together = self._start + size, _GROWTH * size
        return queries

    def _size(self) -> int:
        return min(self._together, block_rows(len(self._examples)))
