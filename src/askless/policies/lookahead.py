"""Blocks of queries seen from the examples, so that the next block can be looked at while one is being decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askless.geometry.blocks import block_rows
from askless.policies.neighbourhoods import Neighbourhoods, neighbourhoods
from askless.policies.ordered_examples import OrderedExamples
from askless.types import Vector

_TOGETHER = 64  # queries: enough for a good matrix product, few enough that the first of them need not wait long


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


def blocks(
    examples: OrderedExamples, queries: Sequence[Vector], calm: Callable[[], int]
) -> Iterator[tuple[Sequence[Vector], Block]]:
    """Blocks of the queries in turn; `calm` says for how many queries nothing has changed by now.

    Where that is a block or more, all of the next block is looked at, by a thread of its own while the caller is busy
    with the one before. What may change soon is looked at when its turn has come.
    """
    later: Future[Block] | None = None
    start, stop = 0, _size(examples)
    with ThreadPoolExecutor(1, "askless-ahead") as ahead:  # a thread is started where there is work for it
        while start < len(queries):
            here = queries[start:stop]
            block = look(examples, here, len(here) <= calm()) if later is None else later.result()
            start, stop, later = stop, stop + _size(examples), None
            if start < len(queries) and stop - start <= calm():
                later = ahead.submit(look, examples, queries[start:stop], True)
            yield here, block


def _size(examples: OrderedExamples) -> int:
    return min(_TOGETHER, block_rows(len(examples)))
