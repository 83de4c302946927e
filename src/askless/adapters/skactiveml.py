"""askless as a stream query strategy of scikit-activeml."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.adapters import missing_extra
from askless.inputs import as_fraction

try:
    from skactiveml.base import SingleAnnotatorStreamQueryStrategy, SkactivemlClassifier
    from skactiveml.utils import check_type
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_consistent_length
except ImportError as error:
    raise missing_extra("scikit-activeml", "skactiveml") from error


class HullStreamQuery(SingleAnnotatorStreamQueryStrategy):  # type: ignore[misc]
    """Query a candidate when its ratio exceeds `tau`, or cannot be told from 1.

    The utility of a candidate is its ratio: the distance to the nearest hull over that to the second
    nearest. Give `query` a `SklearnClassifier` around an `AsklessClassifier`, and it queries where that
    classifier would ask with the same tau, a conflict included. With any other classifier the ratio is the
    second largest probability over the largest.

    Parameters
    ----------
    tau : float, default=0.9
        The largest ratio that is left to the classifier, from 0 to 1.
    budget : float, default=1.0
        The largest share of candidates that may be queried. At 1.0 tau alone decides. `None` means
        scikit-activeml's own default, 0.1.
    random_state : int or RandomState instance or None, default=None
        Taken for the sake of the interface: nothing here is random.
    """

    def __init__(self, tau: float = 0.9, budget: float | None = 1.0, random_state: Any = None) -> None:
        super().__init__(budget=budget, random_state=random_state)
        self.tau = tau

    def query(
        self,
        candidates: ArrayLike,
        clf: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        fit_clf: bool = False,
        return_utilities: bool = False,
    ) -> NDArray[np.intp] | tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The indices of the candidates to query, and with `return_utilities` the ratio of each.

        With `fit_clf` a copy of `clf` is fitted on `X`, `y` (and `sample_weight`) first. Nothing is counted:
        `update` does that.
        """
        tau = as_fraction(self.tau, "tau")
        rows, return_utilities = self._validate_data(candidates, return_utilities)
        check_type(clf, "clf", SkactivemlClassifier)
        check_type(fit_clf, "fit_clf", bool)
        if sample_weight is not None:
            check_consistent_length(sample_weight, y)
        if fit_clf:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            clf = clone(clf).fit(X, y, **weights)
        utilities = _ratio(clf, rows)
        queried = self._within_budget((utilities > tau) | (utilities >= 1.0))
        return (queried, utilities) if return_utilities else queried

    def update(
        self, candidates: Any, queried_indices: Any, budget_manager_param_dict: dict[str, Any] | None = None
    ) -> Self:
        """Count the candidates that went by and those that were queried.

        `budget_manager_param_dict` is taken as scikit-activeml's loops give it, and not used.
        """
        queried = np.zeros(len(candidates), dtype=bool)
        queried[queried_indices] = True
        seen, asked = self._counts()
        self.observed_samples_ = seen + len(queried)
        self.queried_samples_ = asked + int(queried.sum())
        return self

    def _within_budget(self, wanted: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The wanted candidates, as far as the budget allows with each in its turn."""
        seen, asked = self._counts()
        queried = []
        for i in np.flatnonzero(wanted):
            if (seen + i + 1) * self.budget_ - asked >= 1.0 - 1e-9:
                queried.append(i)
                asked += 1
        return np.array(queried, dtype=np.intp)

    def _counts(self) -> tuple[int, int]:
        return getattr(self, "observed_samples_", 0), getattr(self, "queried_samples_", 0)


def _ratio(clf: Any, candidates: NDArray[Any]) -> NDArray[np.float64]:
    """The ratio of each candidate; 1 while the classifier has learned nothing."""
    ratio = getattr(clf, "ratio", None)  # SklearnClassifier hands on what the wrapped classifier has
    if ratio is not None:
        try:
            return np.asarray(ratio(candidates))
        except NotFittedError:
            return np.ones(len(candidates))
    P = np.sort(clf.predict_proba(candidates), axis=1)
    return np.asarray(P[:, -2] / P[:, -1]) if P.shape[1] > 1 else np.ones(len(candidates))
