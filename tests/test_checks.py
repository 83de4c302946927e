"""Every policy keeps every promise, in both spaces; each check catches the policy that breaks its promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from numpy.typing import ArrayLike

import broken_policies as broken
from askless.check_scripts import decisions, scripts
from askless.checks import Check, CheckFailed, all_checks, check_policy
from askless.errors import InvalidInput
from askless.policies.named import POLICIES, policy_class
from askless.types import SPACES, Decision, Policy
from broken_policies import BROKEN, Nearest

CHECKS = all_checks()

# Each class with parameters that make it guess and ask within a short script, in both spaces; further parameters that
# change nothing about distances, in one of them. In three dimensions the hybrid turns to hulls after 21 rounds.
BOTH, SPHERE, EUCLIDEAN = SPACES, ("sphere",), ("euclidean",)
MADE: list[tuple[str, dict[str, Any], int, tuple[str, ...]]] = [
    ("AlwaysAsk", {}, 8, BOTH),
    ("ConservativeHull", {}, 4, BOTH),
    ("ConservativeHull", {"n_labels": 4}, 8, SPHERE),
    ("ConservativeHull", {"refine": True, "n_labels": 3}, 3, BOTH),
    ("GeneralizedHull", {"tau": 0.9}, 8, BOTH),
    ("GeneralizedHull", {"tau": 0.5, "n_labels": 4}, 4, EUCLIDEAN),
    ("GeneralizedHull", {"tau": 0.7, "distance": "nearest"}, 8, BOTH),
    ("SimilarityThreshold", {"threshold": 0.75}, 8, BOTH),
    ("CenterBased", {"constant": 0.0, "labels_given": True}, 8, BOTH),
    ("CenterBased", {"constant": 5.0, "n_labels": 3}, 8, EUCLIDEAN),
    ("CenterThenHull", {"constant": 5.0, "n_labels": 3}, 3, BOTH),
    ("SequentialKMeans", {"n_labels": 4}, 8, BOTH),
    ("SequentialKMeans", {"labels_given": True}, 8, SPHERE),
    ("ActivePerceptron", {"tau": 0.9}, 8, BOTH),
    ("ActivePerceptron", {"tau": 0.9, "n_labels": 4}, 8, EUCLIDEAN),
    ("SelfTuning", {}, 8, BOTH),
    ("SelfTuning", {"n_labels": 4}, 4, EUCLIDEAN),
    ("SelfTuning", {"costs": [-1.0, 1.0, -2.0]}, 80, SPHERE),
]
every_policy = pytest.mark.parametrize(
    ("name", "params", "dim", "space"),
    [(name, params, dim, space) for name, params, dim, spaces in MADE for space in spaces],
    ids=str,
)


def maker(name: str, params: dict[str, Any], space: str) -> Callable[[], Policy]:
    kind: Callable[..., Policy] = policy_class(name)
    return lambda: kind(**params, space=space)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@every_policy
def test_every_policy_keeps_every_promise(
    name: str, params: dict[str, Any], dim: int, space: str, check: Check
) -> None:
    check(maker(name, params, space), space=space, dim=dim)


def test_no_policy_is_left_out_in_either_space() -> None:
    both = {name for name, _, _, spaces in MADE if spaces == BOTH}
    assert both == {named.class_name for named in POLICIES.values()}


@every_policy
def test_the_scripts_bring_out_guesses_and_questions(name: str, params: dict[str, Any], dim: int, space: str) -> None:
    """Without both, the checks would compare nothing that can differ."""
    played = scripts(maker(name, params, space), space, dim, 0)
    kinds = {word.split("(")[0] for script in played for word in script.said}
    kinds |= {w.split("(")[0] for script in played for w in decisions(script.policy, script.probes)}
    assert kinds == ({"Ask"} if name == "AlwaysAsk" else {"Ask", "Guess"})


# -- policies that break a promise --------------------------------------------------------------------------


def failure(check: Check, make: Callable[[], Policy], space: str) -> str | None:
    """What the check says, or None where it passes."""
    try:
        check(make, space=space)
    except CheckFailed as error:
        return str(error)
    return None


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("seed", range(3))
def test_a_sound_policy_of_ones_own_passes(space: str, seed: int) -> None:
    check_policy(Nearest, space=space, seed=seed)


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_promise_fails_its_check_and_no_other(kind: type[Nearest]) -> None:
    found = {check.__name__: failure(check, kind, "sphere") for check in CHECKS}
    assert [name for name, said in found.items() if said] == [BROKEN[kind]], found


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_promise_fails_its_check_in_euclidean_space(kind: type[Nearest]) -> None:
    (check,) = (check for check in CHECKS if check.__name__ == BROKEN[kind])
    assert failure(check, kind, "euclidean")


def test_every_check_has_a_policy_that_breaks_it() -> None:
    assert set(BROKEN.values()) == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("kind", [broken.RemembersQueries, broken.ForgivesUnknownIds, broken.TakesArraysOnly])
def test_check_policy_runs_them_all(kind: type[Nearest]) -> None:
    with pytest.raises(CheckFailed):
        check_policy(kind)


def test_messages_say_what_was_found_and_what_to_do() -> None:
    by_name = {check.__name__: check for check in CHECKS}
    said = {kind: str(failure(by_name[name], kind, "sphere")) for kind, name in BROKEN.items()}
    assert "params()" in said[broken.CannotBeSaved]
    assert "state()" in said[broken.CannotBeSaved]
    assert "restore(state)" in said[broken.CannotBeSaved]
    assert "SavesObjects" in said[broken.SavesObjects]
    assert "UnknownExample" in said[broken.ForgivesUnknownIds]
    assert "KeyError" in said[broken.RaisesKeyError]
    assert "fresh policy given the same calls without" in said[broken.ForgetsNothing]
    assert "'mine'" in said[broken.ChoosesIds]
    assert "wrote into it" in said[broken.WritesIntoArrays]
    for text in said.values():
        assert text.endswith(".")


def test_a_decision_that_is_neither_is_named() -> None:
    class SaysYes(Nearest):
        def decide(self, x: ArrayLike) -> Decision:
            return "yes"  # type: ignore[return-value]

    with pytest.raises(CheckFailed, match="returned 'yes'"):
        check_policy(SaysYes)


class OnlyFive:
    """The methods that make a policy and nothing more."""

    def __init__(self) -> None:
        self._inside = Nearest()
        self.decide, self.observe, self.learn = self._inside.decide, self._inside.observe, self._inside.learn
        self.forget, self.relabel = self._inside.forget, self._inside.relabel


def test_five_methods_make_a_policy() -> None:
    check_policy(OnlyFive)


class NoMethods:
    """No policy at all."""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (NoMethods, "found a NoMethods, which lacks decide, observe, learn, forget, relabel"),
        (Nearest(), r"from a class or a function without arguments.* Write lambda: Nearest\(\.\.\.\)\."),
        (None, "without arguments; found None"),
    ],
)
def test_what_makes_no_policy_is_refused(make: Any, says: str) -> None:
    checks: list[Check] = [check_policy, *CHECKS]
    for run in checks:
        with pytest.raises(InvalidInput, match=says):
            run(make)


@pytest.mark.parametrize(("space", "dim"), [("cube", 8), ("sphere", 1), ("euclidean", 0)])
def test_checks_refuse_spaces_and_dimensions_they_cannot_draw(space: str, dim: int) -> None:
    with pytest.raises(InvalidInput, match="dim >= 2"):
        check_policy(Nearest, space=space, dim=dim)
