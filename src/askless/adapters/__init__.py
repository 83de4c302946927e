"""askless inside other libraries, one module each: `scikit_learn`, `river`, `skactiveml`.

Every module needs its library, which comes with the extra that the error names. What they share is here: how
close a query is to each label, and how a policy travels through pickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.errors import MissingExtra
from askless.inputs import as_label
from askless.types import Label, Matrix

if TYPE_CHECKING:
    from askless.policies.hull_policy import HullPolicy

INSIDE = 1e-9  # a distance of at most this part of the data's scale counts as zero


class Closeness(NamedTuple):
    """How close queries are to labels: `weights` has one row a query and one column a label of `labels`.

    A weight is the nearest label's distance over the label's own distance: 1 for the nearest label, less
    for the others. `ratio` is that of the design, from 0 (inside one hull) to 1 (nothing tells the first
    label from the second: equally near, inside two hulls, or a single label whose hull does not contain the
    query).
    """

    labels: tuple[Label, ...]
    weights: NDArray[np.float64]
    ratio: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The weights of each query over their sum."""
        return np.asarray(self.weights / self.weights.sum(axis=1, keepdims=True))


def closeness(policy: HullPolicy, X: Matrix, scale: float) -> Closeness:
    """The closeness of each row of X to each label of a policy that has examples.

    Outside all hulls a weight is d_nearest / d_label. Inside one hull that label takes all, which is the
    limit of the former. Inside several the hulls cannot tell those labels apart: they share by the distance
    to their nearest example, and the others get nothing. `scale` is the largest norm of the examples.
    """
    labels, distances = policy.distances(X)
    if policy.space == "sphere":
        sizes = np.ones(len(X))
    else:
        sizes = np.maximum(scale, np.linalg.norm(X.astype(np.float64), axis=1))
    inside = distances <= INSIDE * sizes[:, None]
    weights = _inverse(np.where(inside, 0.0, distances))
    conflict = inside.sum(axis=1) > 1
    if conflict.any():
        _, nearest = policy.distances(X[conflict], "nearest")
        weights[conflict] = _inverse(np.where(inside[conflict], nearest, np.inf))
    ratio = np.sort(weights, axis=1)[:, -2] if len(labels) > 1 else 1.0 - inside[:, 0]
    return Closeness(labels, weights, np.where(conflict, 1.0, ratio))


def _inverse(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest distance of each row over each distance; a zero gets 1, and then the others get 0."""
    smallest = distances.min(axis=1, keepdims=True)
    zero = distances == 0.0
    return np.where(zero, 1.0, smallest / np.where(zero, 1.0, distances))


def as_policy_label(value: object) -> Label:
    """A class of another library as a label that equals it: True becomes 1, and 2.0 becomes 2."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    return as_label(value)


def missing_extra(library: str, extra: str) -> MissingExtra:
    """The error for a library that is not installed."""
    return MissingExtra(f"This adapter needs {library}, which is not installed: pip install 'askless[{extra}]'")
