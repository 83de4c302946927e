"""Pairs of equal things made into groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

NodeT = TypeVar("NodeT", bound=Hashable)


def connected(nodes: Sequence[NodeT], pairs: Sequence[tuple[NodeT, NodeT]]) -> list[list[NodeT]]:
    """The connected components of a graph, as lists: nodes in their order, components by their first node.

    A pair with a node that is not among `nodes` joins nothing.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {node: k for k, node in enumerate(nodes)}
    ends = np.array([(place[a], place[b]) for a, b in pairs if a in place and b in place], dtype=np.int64).reshape(
        -1, 2
    )
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(len(nodes), len(nodes)))
    _, component = connected_components(graph, directed=False)
    groups: dict[int, list[NodeT]] = {}
    for node, number in zip(nodes, component.tolist(), strict=True):
        groups.setdefault(number, []).append(node)
    return list(groups.values())
