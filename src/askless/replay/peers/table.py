"""The alternatives by name: what each needs, the values that are swept, and what to know when reading its figures."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True, slots=True)
class Peer:
    """One alternative: its parameter is set to each of `values` in turn, and the best in hindsight is shown."""

    name: str
    title: str
    package: str | None  # what must be installed; None where askless has it
    parameter: str
    values: tuple[float, ...]
    note: str


_TOLD = "told all labels in advance"
_BUDGETS = (0.4, 0.6, 0.8, 0.9, 0.98, 1.0)
PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "similarity",
            "similarity threshold",
            None,
            "threshold",
            (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875, 0.9, 0.95),
            "the nearest example's label where its cosine reaches the threshold: what semantic-router and GPTCache do",
        ),
        Peer(
            "river",
            "river entropy sampler",
            "river",
            "discount factor",
            (0.0, 0.25, 0.5, 1.0, 3.0),
            "EntropySampler over KNNClassifier(5), which here keeps every example instead of the last 1,000; its "
            "first questions are forced, or it would never ask",
        ),
        Peer(
            "skactiveml-variable",
            "scikit-activeml VariableUncertainty",
            "scikit-activeml",
            "budget",
            _BUDGETS,
            f"over a Parzen window classifier (rbf, gamma 5, prior 0.1); {_TOLD}",
        ),
        Peer("skactiveml-split", "scikit-activeml Split", "scikit-activeml", "budget", _BUDGETS, f"as above; {_TOLD}"),
        Peer(
            "skactiveml-fixed",
            "scikit-activeml FixedUncertainty",
            "scikit-activeml",
            "budget",
            _BUDGETS,
            f"as above; {_TOLD}",
        ),
        Peer(
            "mapie",
            "MAPIE split conformal",
            "mapie",
            "confidence level",
            (0.8, 0.85, 0.9, 0.925, 0.95),
            "guesses when the set has one label; half of the answers train a logistic regression (SGD), half "
            f"calibrate; its coverage is not guaranteed on examples chosen by asking; {_TOLD}",
        ),
        Peer(
            "sgd",
            "SGD logistic regression",
            "scikit-learn",
            "threshold",
            (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95),
            f"guesses when the probability reaches the threshold; {_TOLD}",
        ),
    )
}


def installed_peers() -> tuple[list[Peer], list[str]]:
    """The alternatives that can run, and a sentence about those that cannot."""
    found = [peer for peer in PEERS.values() if peer.package is None or version_of(peer) is not None]
    absent = [peer for peer in PEERS.values() if peer not in found]
    if not absent:
        return found, []
    packages = dict.fromkeys(str(peer.package) for peer in absent)
    names = ", ".join(peer.title for peer in absent)
    return found, [f"Left out, for want of {', '.join(packages)}: {names}. pip install 'askless[peers]' adds them."]


def version_of(peer: Peer) -> str | None:
    """The installed version of the package behind an alternative; None where it is not installed."""
    if peer.package is None:
        return None
    try:
        return version(peer.package)
    except PackageNotFoundError:
        return None
