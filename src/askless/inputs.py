"""What callers hand in, turned into what the code works with, or refused in one sentence."""

from __future__ import annotations

import importlib
import math
import numbers
import unicodedata
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askless.errors import InvalidInput
from askless.types import SPACES, Ask, Costs, Decision, ExampleId, Guess, Label, Matrix, Vector

_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))  # categories of Unicode: controls, signs of no width, spaces
# Letters and marks that leave no trace on a page all the same: fillers, joiners, selectors of a variant.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe0e\ufe0f\uffa0")
_LEAST, _MOST = 1e-100, 1e100  # norms whose squares float64 can hold well
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)  # numpy has one object for each


def as_floats(x: ArrayLike, what: str = "a query") -> NDArray[np.float32] | NDArray[np.float64]:
    """The same numbers as float32 (from float16 or float32) or float64 (from anything else), contiguous."""
    if type(x) is np.ndarray and (x.dtype is _SINGLE or x.dtype is _DOUBLE) and x.flags.c_contiguous:  # nearly always
        return x
    array = _as_array(x, what)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size < 8:
        return np.asarray(array, dtype=np.float32, order="C")
    if kind == "f" and size == 8:
        return np.asarray(array, dtype=np.float64, order="C")
    if kind in "iuf" or (kind == "O" and all(isinstance(v, numbers.Real) for v in array.ravel())):
        try:
            with np.errstate(over="ignore"):  # what overflows comes out infinite, and is refused as such
                return np.asarray(array, dtype=np.float64, order="C")
        except OverflowError:
            raise InvalidInput(f"Expected numbers for {what}; found one that no float64 can hold.") from None
    raise InvalidInput(
        f"Expected numbers for {what}; found {array.dtype.name} values. Embed texts before they come here."
    )


def _as_array(x: ArrayLike, what: str) -> NDArray[Any]:
    """The values as an array of numpy's, where nothing of them is lost on the way."""
    if isinstance(x, np.ma.MaskedArray):
        hidden = int(np.ma.getmaskarray(x).sum())
        if hidden:
            raise InvalidInput(
                f"Expected numbers for {what}; found a masked array, with {hidden} of its values hidden. Leave such "
                "rows out, or fill them in with x.filled(value)."
            )
    try:
        return np.asarray(x)
    except (ValueError, TypeError, RuntimeError) as error:
        parts = x if isinstance(x, list | tuple) else (x,)
        for part in parts:  # a tensor of another library says itself why it cannot be an array
            if hasattr(part, "__array__") and not isinstance(part, np.ndarray | np.generic):
                raise InvalidInput(
                    f"Expected numbers for {what} that numpy can read; found a {type(part).__name__} of "
                    f"{type(part).__module__.partition('.')[0]}, which says: {str(error).rstrip('.')}. Turn it into an "
                    "array first; with torch, x.detach().cpu().float().numpy()."
                ) from None
        raise InvalidInput(f"Expected numbers for {what}; found rows of different lengths.") from None


def as_vector(x: ArrayLike, dim: int | None = None, what: str = "a query") -> Vector:
    """One vector of finite numbers, of dimension `dim` where that is known."""
    v = as_floats(x, what)
    if v.ndim != 1:
        raise InvalidInput(f"Expected one vector for {what}; found an array of shape {v.shape}.")
    _check_dim(v.shape[0], dim, what)
    if not math.isfinite(_square(v)) and not np.isfinite(v).all():
        raise _not_finite(v, what, "")
    return v


def as_matrix(X: ArrayLike, dim: int | None = None, what: str = "queries") -> Matrix:
    """Rows of finite numbers, each of dimension `dim` where that is known; no rows at all is fine."""
    M = as_floats(X, what)
    if M.shape == (0,):
        M = M.reshape(0, dim or 0)
    if M.ndim != 2:
        raise InvalidInput(f"Expected one row a vector for {what}; found an array of shape {M.shape}.")
    if M.shape[0]:
        _check_dim(M.shape[1], dim, what)
    if not np.isfinite(M).all():
        row = int(np.flatnonzero(~np.isfinite(M).all(axis=1))[0])
        raise _not_finite(M[row], what, f" in row {row}")
    return M


def _not_finite(v: Vector, what: str, where: str) -> InvalidInput:
    if np.isnan(v).all():
        return InvalidInput(
            f"Expected finite numbers for {what}; found NaN alone{where}, as embedders give for a text of which they "
            "know no word. Put that text to the expert without asking a policy, and do not learn it."
        )
    return InvalidInput(
        f"Expected finite numbers for {what}; found NaN or infinity{where}. Leave that row out or mend it."
    )


def _check_dim(found: int, expected: int | None, what: str) -> None:
    if found == 0:
        raise InvalidInput(f"Expected at least one number for {what}; found an empty array.")
    if expected is not None and found != expected:
        raise InvalidInput(
            f"Expected {expected} dimensions for {what}, as the examples have; found {found}. "
            "Use the embedder that made the examples."
        )


def unit(v: Vector) -> NDArray[np.float64]:
    """The vector over its norm, in float64; a zero vector has no direction and is refused."""
    w: NDArray[Any] = v if v.dtype is _DOUBLE else v.astype(np.float64)
    norm = math.sqrt(_square(w))
    if not _LEAST < norm < _MOST:  # squares under- or overflow: scale first
        largest = float(np.abs(w).max())
        if largest == 0.0:
            raise InvalidInput("A zero vector has no direction on the sphere; use space='euclidean', or leave it out.")
        w = w / largest
        norm = math.sqrt(_square(w))
    scaled: NDArray[np.float64] = w / norm
    return scaled


def units(M: Matrix) -> NDArray[np.float64]:
    """Each row as `unit` gives it, to the last bit."""
    W = M.astype(np.float64)
    norms = np.array([math.sqrt(_square(w)) for w in W])
    if not ((norms > _LEAST) & (norms < _MOST)).all():
        return np.array([unit(w) for w in W])
    scaled: NDArray[np.float64] = W / norms[:, None]
    return scaled


def _square(v: Vector) -> float:
    """The squared norm, infinite where it overflows: np.vdot warns of that no more than of infinite input."""
    return float(np.vdot(v, v))


def as_label(label: object) -> Label:
    """A label as a Python str or int; one without a sign to read is no answer, and is refused."""
    found = _as_name(label, "A label")
    if isinstance(found, str) and not (found.isascii() and found.isalnum()) and not is_readable(found):
        raise InvalidInput(f"A label needs something to read in it; found {label!r}. Leave the query unanswered.")
    return found


def is_readable(text: str) -> bool:
    """Whether there is a sign in the text that can be seen: no space, no control character, none of width zero."""
    return any(sign not in _BLANK and unicodedata.category(sign) not in _UNSEEN for sign in text)


def as_id(id: object) -> ExampleId:
    """An example id as a Python str or int."""
    return _as_name(id, "An example id")


def _as_name(value: object, what: str) -> str | int:
    if type(value) is int or type(value) is str:  # nearly always
        return value
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, bool) and isinstance(value, numbers.Integral):
        return int(value)
    raise InvalidInput(f"{what} is a string or an integer; found {value!r} ({type(value).__name__}).")


def as_decision(decision: object) -> Decision:
    """A decision, as `decide` returned it."""
    if isinstance(decision, Guess | Ask):
        return decision
    raise InvalidInput(f"A decision is the Guess or the Ask that decide returned; found {decision!r}.")


def as_costs(costs: object) -> Costs:
    """Costs, from `Costs` or from the three numbers call, right, wrong."""
    if isinstance(costs, Costs):
        return costs
    if isinstance(costs, Sequence | np.ndarray) and not isinstance(costs, str) and np.ndim(costs) and len(costs) == 3:
        return Costs(*costs)
    hint = " Costs.parse reads such a text." if isinstance(costs, str) else ""
    raise InvalidInput(f"Costs are Costs(call, right, wrong), or three numbers in this order; found {costs!r}.{hint}")


def as_space(space: str) -> str:
    """One of the two spaces."""
    if space not in SPACES:
        raise InvalidInput(f"The space is 'sphere' or 'euclidean'; found {space!r}.")
    return space


def as_n_labels(n_labels: object) -> int | None:
    """A known number of labels, or None in the open world."""
    if n_labels is None:
        return None
    if isinstance(n_labels, bool) or not isinstance(n_labels, numbers.Integral) or int(n_labels) < 1:
        raise InvalidInput(f"n_labels is a positive integer, or None where the number is unknown; found {n_labels!r}.")
    return int(n_labels)


def as_flag(value: object, name: str) -> bool:
    """True or False, and no other value: the text "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is True or False; found {value!r}.")
    return bool(value)


def as_fraction(value: object, name: str) -> float:
    """A number in [0, 1]."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number: Any = value
    if not is_number or not 0.0 <= number <= 1.0:
        raise InvalidInput(f"{name} lies in [0, 1]; found {value!r}.")
    return float(number)


def as_module(name: str, what: str, hint: str = "") -> ModuleType:
    """The module of that name, imported now: it holds what the caller wrote, `what` in one word.

    `hint` is said where no such module is found, since the name may be a slip in one of askless's own.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise InvalidInput(
                f"No {what} and no module is named {name!r}.{hint} Run from the folder that holds the module, or "
                "install it."
            ) from None
        raise InvalidInput(f"The module {name} cannot be imported: {error}.") from error
