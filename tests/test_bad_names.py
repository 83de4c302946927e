"""Labels, ids, parameters and costs that a caller may hand in by mistake.

Every policy takes them as a reader would expect, or refuses them in one sentence and stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askless.errors import InvalidInput, UnknownExample, UnknownLabel
from askless.inputs import as_label
from askless.types import Costs
from taught import DIM, Refusals, every_policy, every_space, examples, make, taught

NAN, INF = float("nan"), float("inf")

# -- labels -------------------------------------------------------------------------------------------------

NOT_LABELS: list[Any] = [
    None,
    1.5,
    2.0,
    True,
    NAN,
    b"a",
    ("a",),
    ["a"],
    {"a"},
    np.float64(1),
    np.bool_(True),
    object(),
    "",
    " \n\t",
    "\u200b",
    "\x00",
    " \ufeff\u2060\u00a0",
    "\u3164",
    np.str_(""),
]


@every_policy
@every_space
def test_a_label_is_a_string_that_can_be_read_or_an_integer(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused = Refusals(policy)
    for label in NOT_LABELS:
        with refused.of(InvalidInput):
            policy.learn(np.ones(DIM), label, id="bad")
        with refused.of(InvalidInput):
            policy.relabel(1, label)
        with refused.of(InvalidInput):
            policy.rename_label("a", label)
    policy.learn(np.ones(DIM), "a", id="bad")


def test_a_label_that_shows_a_sign_is_taken_as_it_is() -> None:
    for label in ("é", "日本", "🙂", "-", " x ", "a\u200bb", "ไทย", "👩\u200d🔧", "\U0001fae9", "0"):
        assert as_label(label) == label


@every_policy
@every_space
def test_labels_and_ids_of_numpy_become_plain_ones(name: str, params: dict[str, Any], space: str) -> None:
    policy = make(name, params, space)
    learn: Callable[..., Any] = policy.learn
    ids = [learn(x, np.str_("a"), np.int64(i)) for i, (x, _, _) in enumerate(examples()[:3])]
    ids += [learn(x, np.int32(7), np.str_(i)) for i, (x, _, _) in enumerate(examples()[3:6])]
    assert [repr(id) for id in ids] == ["0", "1", "2", "'0'", "'1'", "'2'"]
    assert sorted(map(repr, policy.labels)) == ["'a'", "7"]
    policy.relabel(np.int64(0), np.str_("b"))  # type: ignore[arg-type]
    policy.forget(np.int64(1))  # type: ignore[arg-type]
    assert sorted(repr((e.id, e.label)) for e in policy.examples()) == [
        "('0', 7)",
        "('1', 7)",
        "('2', 7)",
        "(0, 'b')",
        "(2, 'a')",
    ]


@every_policy
def test_an_unknown_label_is_refused(name: str, params: dict[str, Any]) -> None:
    policy = taught(name, params, "sphere")
    refused = Refusals(policy)
    for old in ("no such label", "3"):
        with refused.of(UnknownLabel):
            policy.rename_label(old, "b")
        with refused.of(UnknownLabel):
            policy.merge_labels(old, "a")
        with refused.of(UnknownLabel):
            policy.merge_labels("a", old)
    with refused.of(InvalidInput):
        policy.rename_label("a", "c")


# -- ids ----------------------------------------------------------------------------------------------------


@every_policy
@every_space
def test_an_unknown_id_is_refused(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused = Refusals(policy)
    unknown: list[Any] = ["no such example", "1", -1, 2, 1000, "", 1.5, None, NAN, (), [], {}, np.ones(2)]
    for id in unknown:
        with refused.of(UnknownExample):
            policy.forget(id)
        with refused.of(UnknownExample):
            policy.relabel(id, "a")
    fresh = make(name, params, space)
    with pytest.raises(UnknownExample):
        fresh.forget(0)
    with pytest.raises(UnknownExample):
        fresh.relabel(0, "a")


@every_policy
@every_space
def test_an_id_in_use_or_of_another_type_is_refused(name: str, params: dict[str, Any], space: str) -> None:
    policy = taught(name, params, space)
    refused = Refusals(policy)
    for id in ("e0", 1, 1.5, True, (1,), b"x", ["e0"]):
        with refused.of(InvalidInput):
            policy.learn(np.ones(DIM), "a", id=id)  # type: ignore[arg-type]


# -- parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("GeneralizedHull", "tau"), ("ActivePerceptron", "tau"), ("SimilarityThreshold", "threshold")],
)
def test_a_threshold_lies_between_0_and_1(name: str, parameter: str) -> None:
    outside: list[Any] = [-0.1, -1e-300, 1.0000001, 2, NAN, INF, "0.5", None, True, [0.5], 1j]
    for value in outside:
        with pytest.raises(InvalidInput, match=parameter):
            make(name, {parameter: value})
    for value in (0, 1, 0.0, 1.0, 0.5, np.float32(0.5), np.float64(1.0), np.int64(1)):
        assert getattr(make(name, {parameter: value}), parameter) == value


@every_policy
def test_parameters_that_every_policy_takes(name: str, params: dict[str, Any]) -> None:
    rest = {k: v for k, v in params.items() if k not in ("n_labels", "labels_given")}
    for n_labels in (0, -1, 2.5, True, "3", NAN):
        with pytest.raises(InvalidInput, match="n_labels"):
            make(name, {**rest, "n_labels": n_labels})
    for space in ("cube", "Sphere", "", None, 3):
        with pytest.raises(InvalidInput, match="space"):
            make(name, params, space)  # type: ignore[arg-type]
    assert make(name, {**rest, "n_labels": np.int64(5)}).n_labels == 5


@pytest.mark.parametrize("name", ["CenterBased", "CenterThenHull", "SequentialKMeans"])
def test_what_needs_the_number_of_labels_refuses_the_open_world(name: str) -> None:
    with pytest.raises(InvalidInput, match="n_labels"):
        make(name, {})
    with pytest.raises(InvalidInput, match="n_labels"):
        make("ConservativeHull", {"refine": True})


def test_costs_are_costs_or_three_numbers() -> None:
    others: list[Any] = [
        "-1,1,-10",
        "abc",
        (-1, 1),
        [-1, 1, -10, 0],
        (),
        None,
        3,
        {"call": -1},
        np.array(3.0),
        [1, "a", 2],
    ]
    for costs in others:
        with pytest.raises(InvalidInput, match="Costs are"):
            make("SelfTuning", {"costs": costs})
    with pytest.raises(InvalidInput, match=r"Costs\.parse reads such a text"):
        make("SelfTuning", {"costs": "-1,1,-10"})
    for costs in ((-1, 1, -4), [-1.0, 1.0, -4.0], np.array([-1.0, 1.0, -4.0]), Costs(wrong=-4)):
        assert make("SelfTuning", {"costs": costs}).params()["costs"] == [-1, 1, -4]


def test_costs_in_the_wrong_order() -> None:
    for costs in ((1, -1, -10), (-1, -10, 1), (-10, 1, -1), (NAN, 1, -10), (-1, INF, -10), (-1, 1, -INF)):
        with pytest.raises(InvalidInput, match="Costs"):
            Costs(*costs)
    for text in ("1,-1,-10", "-1,1", "-1,1,-10,0", "a,b,c", "", "-1;1;-10"):
        with pytest.raises(InvalidInput, match="Costs"):
            Costs.parse(text)
    with pytest.raises(InvalidInput, match="Costs"):
        Costs("-1", 1, -10)  # type: ignore[arg-type]
    assert Costs.parse("-1,1,-10") == Costs() == Costs(-1, 1, -10)
    assert (Costs().question, Costs().mistake) == (2.0, 11.0)
