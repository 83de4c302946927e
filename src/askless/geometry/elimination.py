"""Which labels a query can still have, where the cells are convex: the refined rule of appendix E.1.

If label k held the query q, its cell would hold the hull of q and of all its examples. Where that hull meets the hull
of another label, two cells would overlap, so q cannot have label k. [Réveillard et al. 2026, appendix E.1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from askless.geometry.projection import hulls_meet
from askless.types import Label

if TYPE_CHECKING:
    from askless.geometry.store import ExampleStore


def possible_labels(store: ExampleStore, x: ArrayLike) -> list[Label]:
    """The labels that the examples do not rule out for x; stops at two, because then nothing is deduced."""
    points = {label: store.vectors(label) for label in store.labels}
    left: list[Label] = []
    for label, own in points.items():
        with_query = np.vstack([own, np.asarray(x, np.float64)])
        others = (points[other] for other in points if other != label)
        if not any(hulls_meet(with_query, other, store.space) for other in others):
            left.append(label)
            if len(left) == 2:
                break
    return left
