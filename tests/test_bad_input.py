"""Vectors that a caller may hand in by mistake.

Every policy takes them as a reader would expect, or refuses them in one sentence and stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.check_scripts import decisions, say
from askless.errors import InvalidInput
from askless.inputs import as_floats
from askless.persist import load, save
from askless.policies.named import POLICIES
from askless.types import Ask, Guess, NoExamples
from taught import (
    DIM,
    LABELS,
    MADE,
    Floats,
    Refusals,
    every_policy,
    every_space,
    everything,
    make,
    queries,
    taught,
)


def test_no_policy_is_left_out() -> None:
    assert {name for name, _ in MADE} == {named.class_name for named in POLICIES.values()}


# -- vectors that are refused -------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")


class Tensor:
    """As torch's, which numpy asks for an array: it raises what torch raises where it has none to give."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._error


REFUSED: dict[str, Any] = {
    "NaN": [1.0, NAN, 0.0, 0.0],
    "NaN of float32": np.array([1.0, NAN, 0.0, 0.0], np.float32),
    "infinity": [1.0, INF, 0.0, 0.0],
    "minus infinity": np.array([-INF, 0.0, 0.0, 0.0]),
    "infinity of float16": np.array([0.0, 0.0, 0.0, INF], np.float16),
    "both infinities": [INF, -INF, 0.0, 0.0],
    "an integer too large": [10**400, 0, 0, 0],
    "a long double too large": np.array([1, 0, 0, 0], np.longdouble) * np.longdouble("1e400"),
    "too many dimensions": np.ones(DIM + 1),
    "too few dimensions": np.ones(DIM - 1),
    "one number": 3.0,
    "a row": np.ones((1, DIM)),
    "a column": np.ones((DIM, 1)),
    "an empty array": np.array([]),
    "an empty list": [],
    "an empty row": np.ones((0, DIM)),
    "uneven lists": [[1.0], [1.0, 2.0]],
    "a text": "where is my refund",
    "texts": ["1", "2", "3", "4"],
    "nothing": None,
    "nothing in a list": [1.0, None, 0.0, 0.0],
    "complex numbers": np.ones(DIM) * 1j,
    "truth values": np.ones(DIM, bool),
    "a date": np.array(["2026-01-01"] * DIM, "datetime64[D]"),
    "a mapping": {"a": 1.0},
    "a hidden value": np.ma.masked_array([1.0, 99.0, 0.0, 0.0], [False, True, False, False]),
    "a tensor of bfloat16": Tensor(TypeError("Got unsupported ScalarType BFloat16")),
    "a tensor with a gradient": Tensor(RuntimeError("Can't call numpy() on Tensor that requires grad.")),
}


def test_what_another_library_refuses_is_said_in_its_words() -> None:
    for x in (REFUSED["a tensor of bfloat16"], [REFUSED["a tensor of bfloat16"]] * 2):
        with pytest.raises(
            InvalidInput, match=r"Tensor of test_bad_input, which says: Got unsupported ScalarType BFlo"
        ):
            as_floats(x)
    with pytest.raises(InvalidInput, match=r"requires grad\. Turn it into an array first; with torch, x\.detach\(\)"):
        as_floats(REFUSED["a tensor with a gradient"])
    with pytest.raises(InvalidInput, match="rows of different lengths"):
        as_floats(REFUSED["uneven lists"])


def test_a_hidden_value_is_not_taken_for_a_number() -> None:
    with pytest.raises(InvalidInput, match="a masked array, with 1 of its values hidden"):
        as_floats(REFUSED["a hidden value"])
    assert as_floats(np.ma.masked_array([1.0, 2.0], False)).tolist() == [1.0, 2.0]  # nothing of it is hidden


@every_policy
@every_space
def test_vectors_that_are_refused(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused = Refusals(policy)
    for what, x in REFUSED.items():
        try:
            with refused.of(InvalidInput):
                policy.decide(x)
            with refused.of(InvalidInput):
                policy.learn(x, "a", id="bad")
        except BaseException as error:
            error.add_note(f"The input was {what}.")
            raise
    policy.learn(np.ones(DIM), "a", id="bad")  # a refused example has not taken the id


@every_policy
@every_space
def test_vectors_that_are_refused_before_any_example(name: str, params: dict[str, Any], space: str) -> None:
    policy = make(name, params, space)
    of_any_size = {"too many dimensions", "too few dimensions"}
    for what, x in REFUSED.items():
        if what not in of_any_size:
            with pytest.raises(InvalidInput):
                policy.decide(x)
            with pytest.raises(InvalidInput):
                policy.learn(x, "a")
    assert policy.dim is None
    assert policy.labels == ()


@every_policy
@every_space
def test_an_observed_vector_is_refused_or_ignored(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    decision = policy.decide(queries()[0])
    before = everything(policy)
    for x in REFUSED.values():
        try:
            policy.observe(x, decision)
        except InvalidInput:
            continue
        finally:
            assert everything(policy) == before


@every_policy
@every_space
def test_streams_refuse_what_decide_refuses(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused = Refusals(policy)
    with_nan = np.array(queries())
    with_nan[7, 2] = NAN
    for X in (with_nan, np.ones((3, DIM + 1)), np.ones(DIM), np.ones((2, 0)), "text", [["a"] * DIM]):
        with refused.of(InvalidInput):
            list(policy.stream(X))
    assert list(policy.stream(np.ones((0, DIM)))) == []


@every_policy
def test_a_row_of_nan_is_named_as_a_text_for_the_expert(name: str, params: dict[str, Any]) -> None:
    policy = taught(name, params, "sphere")
    unknown = np.full(DIM, np.nan, np.float32)  # what an embedder gives for a text of which it knows nothing
    uses: list[Callable[[], object]] = [
        lambda: policy.decide(unknown),
        lambda: policy.learn(unknown, "a"),
        lambda: policy.decide_many(np.array([queries()[0], unknown])),
    ]
    for use in uses:
        with pytest.raises(InvalidInput, match=r"know no word\. Put that text to the expert"):
            use()
    with pytest.raises(InvalidInput, match="NaN or infinity") as spoiled:
        policy.decide(REFUSED["NaN"])
    assert "expert" not in str(spoiled.value)


@every_policy
def test_a_zero_vector_has_no_direction_on_the_sphere(name: str, params: dict[str, Any]) -> None:
    policy = taught(name, params, "sphere")
    refused = Refusals(policy)
    for zero in (np.zeros(DIM), [0, 0, 0, 0], np.array([0.0, -0.0, 0.0, 0.0], np.float32)):
        with refused.of(InvalidInput):
            policy.decide(zero)
        with refused.of(InvalidInput):
            policy.learn(zero, "a")
    with refused.of(InvalidInput):
        list(policy.stream(np.zeros((1, DIM))))
    fresh = make(name, params)
    for use in (lambda: fresh.decide(np.zeros(DIM)), lambda: fresh.learn(np.zeros(DIM), "a")):
        with pytest.raises(InvalidInput, match="zero vector"):
            use()
    assert fresh.dim is None


@every_policy
def test_a_zero_vector_is_a_point_like_any_other_in_euclidean_space(name: str, params: dict[str, Any]) -> None:
    policy = taught(name, params, "euclidean")
    assert isinstance(policy.decide(np.zeros(DIM)), Guess | Ask)
    policy.learn(np.zeros(DIM), "a", id="zero")
    (held,) = (e.x for e in policy.examples() if e.id == "zero")
    rounding = 1e-7 if name == "SelfTuning" else 0.0  # which keeps float32
    np.testing.assert_allclose(held, np.zeros(DIM), rtol=0, atol=rounding)
    assert isinstance(policy.decide(np.zeros(DIM)), Guess | Ask)


@every_policy
@every_space
def test_what_is_observed_is_a_decision(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused, before = Refusals(policy), policy.state()
    for decision in (None, "a", True, Guess, NoExamples()):
        with refused.of(InvalidInput):
            policy.observe(queries()[0], decision)  # type: ignore[arg-type]
    assert str(policy.state()) == str(before)


# -- vectors that are taken ---------------------------------------------------------------------------------

FORMS: dict[str, Callable[[Floats], Any]] = {
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "long double": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of numpy numbers": list,
    "objects": lambda x: x.astype(object),
    "non-contiguous": lambda x: np.repeat(x, 3)[::3],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "column of a matrix": lambda x: np.array([x, x + 1.0]).T[:, 0],
    "read-only": lambda x: np.frombuffer(x.tobytes()),
    "unaligned": lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float64),
}


@every_policy
@every_space
def test_the_same_numbers_in_any_form(name: str, params: dict[str, Any], space: str) -> None:
    expected = decisions(taught(name, params, space), queries())
    for what, form in FORMS.items():
        policy = taught(name, params, space, form)
        assert decisions(policy, queries(), form) == expected, what


@every_policy
@every_space
def test_many_at_once_as_one_by_one(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    before = str(policy.state())
    assert [say(decision) for decision in policy.decide_many(queries())] == decisions(policy, queries())
    assert str(policy.state()) == before
    assert make(name, params, space).decide_many(queries()[:2]) == [Ask(NoExamples())] * 2


@every_policy
@every_space
def test_integers_are_numbers(name: str, params: dict[str, Any], space: str) -> None:
    rng = np.random.default_rng(3)
    points = rng.integers(-3, 4, size=(30, DIM)) + 10 * np.eye(DIM, dtype=np.int64)[np.arange(30) % 3]
    said = []
    for kind in (np.int64, np.int8, np.float64, list):
        policy = make(name, params, space)
        for i, x in enumerate(points):
            policy.learn(x.tolist() if kind is list else x.astype(kind), LABELS[i % 3])
        asked = [x.tolist() if kind is list else x.astype(kind) for x in points[:9] + points[9:18]]
        said.append(decisions(policy, asked, lambda x: x))
    assert said[0] == said[1] == said[2] == said[3]


@every_policy
def test_only_the_direction_counts_on_the_sphere(name: str, params: dict[str, Any]) -> None:
    expected = decisions(taught(name, params, "sphere"), queries())
    for scale in (2.0**-900, 2.0**-30, 2.0**10, 2.0**900):
        policy = taught(name, params, "sphere", lambda x, scale=scale: x * scale)  # type: ignore[misc]
        assert decisions(policy, queries(), lambda x, scale=scale: x / scale) == expected  # type: ignore[misc]


# -- before the first example -------------------------------------------------------------------------------


@every_policy
@every_space
def test_a_query_before_any_example_is_asked(name: str, params: dict[str, Any], space: str) -> None:
    policy = make(name, params, space)
    for x in queries():
        decision = policy.decide(x)
        assert isinstance(decision, Ask)
        assert isinstance(decision.reason, NoExamples)
        assert decision.suggestions == ()
    assert all(isinstance(d, Ask) for d in policy.stream(np.array(queries())))
    assert isinstance(policy.decide(np.ones(DIM + 3)), Ask)  # a query does not settle the dimension
    assert policy.dim is None
    policy.learn(np.ones(DIM + 1), "a")
    assert policy.dim == DIM + 1


@every_policy
@every_space
def test_after_the_last_example_is_forgotten_all_is_as_before(name: str, params: dict[str, Any], space: str) -> None:
    policy = make(name, params, space)
    policy.learn(np.ones(DIM), "a", id=1)
    policy.forget(1)
    assert policy.labels == ()
    assert list(policy.examples()) == []
    decision = policy.decide(np.ones(DIM))
    assert isinstance(decision, Ask)
    assert isinstance(decision.reason, NoExamples)
    policy.learn(np.ones(DIM + 1), "b", id=1)
    assert [(e.id, e.label, e.x.shape) for e in policy.examples()] == [(1, "b", (DIM + 1,))]


@every_policy
@every_space
def test_an_acted_on_query_of_another_dimension_does_no_harm(
    name: str, params: dict[str, Any], space: str, tmp_path: Path
) -> None:
    """It may settle the dimension or not; what the policy has taken can be saved, and forgotten."""
    policy = make(name, params, space)
    policy.observe(np.ones(DIM), policy.decide(np.ones(DIM)))
    try:
        policy.learn(np.ones(DIM + 1), "a", id="first")
    except InvalidInput:
        policy.learn(np.ones(DIM), "a", id="first")
    policy.learn(np.eye(policy.dim or 0)[0], "c", id="second")
    save(policy, tmp_path / "policy")
    assert isinstance(load(tmp_path / "policy").decide(np.ones(policy.dim or 0)), Guess | Ask)
    policy.forget("first")
    assert policy.labels == ("c",)
