"""From the name of an alternative and the value of its parameter to the policy that runs it."""

from __future__ import annotations

from collections.abc import Sequence

from askless.types import Label, Policy


def make_peer(name: str, value: float, classes: Sequence[Label], seed: int) -> Policy:
    """The alternative of that name with its parameter set; `classes` are all labels, for those that must be told."""
    kind, _, detail = name.partition("-")
    if kind == "similarity":
        from askless.policies.similarity_threshold import SimilarityThreshold

        return SimilarityThreshold(value)
    if kind == "river":
        from askless.replay.peers.nearest_votes import NeighbourEntropy

        return NeighbourEntropy(value, seed)
    if kind == "skactiveml":
        from askless.replay.peers.uncertainty import BudgetedUncertainty

        return BudgetedUncertainty(detail, value, classes, seed)
    if kind == "mapie":
        from askless.replay.peers.conformal import ConformalSet

        return ConformalSet(value, classes, seed)
    from askless.replay.peers.sgd import SgdThreshold

    return SgdThreshold(value, classes, seed)
