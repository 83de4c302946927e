"""A policy survives the way through a file, by its name or by its class."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.check_scripts import decisions
from askless.errors import InvalidInput, UnreadableFile
from askless.persist import load, save
from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.base import PolicyBase
from askless.policies.named import make_policy
from askless.types import Ask, Guess
from saved import ARRAYS, HEADER, LABELS, Toy, queries, sealed, taught, toy

SPECS = [
    "always-ask",
    "conservative-hull",
    "conservative-hull:refine=true,n_labels=3",
    "generalized-hull:tau=0.7",
    "ghc-nearest:0.8",
    "similarity-threshold:threshold=0.8",
    "center-based:constant=0.5,n_labels=3",
    "center-then-hull:constant=0.5,labels_given=true",
    "sequential-kmeans:n_labels=3",
    "active-perceptron:tau=0.9",
]


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
@pytest.mark.parametrize("spec", SPECS)
def test_a_loaded_policy_is_the_saved_one(spec: str, space: str, tmp_path: Path) -> None:
    policy = taught(spec, space=space)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert type(loaded) is type(policy)
    assert isinstance(loaded, PolicyBase)
    assert loaded.params() == policy.params()
    assert loaded.labels == policy.labels
    assert decisions(loaded, queries()) == decisions(policy, queries())
    for one, other in zip(loaded.examples(), policy.examples(), strict=True):
        assert (repr(one.id), repr(one.label)) == (repr(other.id), repr(other.label))
        np.testing.assert_array_equal(one.x, other.x)
    assert loaded.learn([1.0, 2.0, 3.0], 7) == policy.learn([1.0, 2.0, 3.0], 7)


@pytest.mark.parametrize("spec", SPECS)
def test_a_policy_that_has_learned_nothing(spec: str, tmp_path: Path) -> None:
    save(make_policy(spec), tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert isinstance(loaded.decide([1.0, 0.0]), Ask)
    for i in range(2):
        loaded.learn(np.eye(2)[i], i)


def test_labels_come_back_with_their_type(tmp_path: Path) -> None:
    policy = make_policy("similarity-threshold:threshold=0.9")
    for x, label in zip(np.eye(3), LABELS, strict=True):
        policy.learn(x, label)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    for x, label in zip(np.eye(3), LABELS, strict=True):
        decision = loaded.decide(x)
        assert isinstance(decision, Guess)
        assert repr(decision.label) == repr(label)


@pytest.mark.parametrize("name", ["policy", "policy.npz", "policy.v1.bin", ".hidden", "with space é"])
def test_the_path_keeps_its_name(name: str, tmp_path: Path) -> None:
    save(taught(), str(tmp_path / name))
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert isinstance(load(str(tmp_path / name)), ActivePerceptron)


def test_numpy_reads_the_file_without_pickle(tmp_path: Path) -> None:
    policy = taught()
    save(policy, tmp_path / "policy")
    with np.load(tmp_path / "policy", allow_pickle=False) as archive:
        header = json.loads(archive["askless-policy"].tobytes())
        np.testing.assert_array_equal(archive["x"], policy.state()["x"])
        assert archive["askless-policy"].dtype == np.uint8
    assert header["format"] == "askless-policy"
    assert header["version"] == 1
    assert header["class"] == "ActivePerceptron"
    assert header["params"] == {"tau": 0.9, "space": "sphere", "n_labels": None}
    assert header["state"]["label"] == policy.state()["label"]
    with zipfile.ZipFile(tmp_path / "policy") as archive:
        assert archive.testzip() is None


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        save(taught(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_states_of_every_shape_come_back(tmp_path: Path) -> None:
    state = {
        "x": np.arange(6.0).reshape(2, 3).T,
        "nested": {
            "x": np.array([1.5], np.float32),
            "list": [np.array([3], np.int8), None, True, {"deep": np.array(2.5)}],
        },
        "nested.x": np.array(["a", "bcd"]),
        "askless-policy": np.zeros((0, 4)),
        "odd/../name\0": np.array([True]),
        "": np.array([1j]),
        "numbers": [0, -1, 10**30, 0.1, -0.0, float("inf"), np.int64(4), np.float32(0.5), np.bool_(True)],
        "texts": ["", "é\u2603\n", "\ud800", np.str_("n")],
        "strided": np.arange(10)[::3],
        "empty": {},
    }
    save(toy(**state), tmp_path / "toy")
    found = load(tmp_path / "toy", kind=Toy).held

    def same(one: Any, other: Any) -> None:
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            np.testing.assert_array_equal(one, other)
        elif isinstance(other, dict):
            assert list(one) == list(other)
            for key in other:
                same(one[key], other[key])
        elif isinstance(other, list):
            for left, right in zip(one, other, strict=True):
                same(left, right)
        else:
            plain = other.item() if isinstance(other, np.generic) else other
            assert repr(one) == repr(plain)

    same(found, state)
    with np.load(tmp_path / "toy", allow_pickle=False) as archive:
        assert len(set(archive.files)) == 10  # nine arrays and the header, none under the name of another


# -- classes ------------------------------------------------------------------------------------------------


class Perceptron(ActivePerceptron):
    """A policy of the user's own."""


def test_a_class_of_ones_own_is_passed_as_kind(tmp_path: Path) -> None:
    policy = Perceptron(0.8)
    policy.learn([1.0, 0.0], "a")
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy", kind=Perceptron)
    assert type(loaded) is Perceptron
    assert loaded.tau == 0.8
    with pytest.raises(UnreadableFile, match="kind=Perceptron"):
        load(tmp_path / "policy")
    with pytest.raises(UnreadableFile, match="holds a Perceptron, and kind is ActivePerceptron"):
        load(tmp_path / "policy", kind=ActivePerceptron)


@pytest.mark.parametrize("kind", ["ghc", dict, 3, make_policy("ghc")])
def test_a_kind_is_a_class_that_can_be_saved(kind: Any, tmp_path: Path) -> None:
    save(make_policy("ghc"), tmp_path / "p")
    with pytest.raises(InvalidInput, match=r"kind is the class of the saved policy.*found .*Leave it out"):
        load(tmp_path / "p", kind=kind)


def test_a_namesake_of_a_policy_is_not_taken_for_it(tmp_path: Path) -> None:
    namesake = type("GeneralizedHull", (Toy,), {"__module__": "elsewhere"})
    save(namesake(), tmp_path / "policy")
    with pytest.raises(UnreadableFile, match="elsewhere"):
        load(tmp_path / "policy")


def test_the_format_is_what_the_description_says(tmp_path: Path) -> None:
    loaded = load(sealed(tmp_path / "policy", HEADER, ARRAYS))
    assert repr(loaded) == "ActivePerceptron(tau=0.5, space='sphere', n_labels=None)"
    assert [example.label for example in loaded.examples()] == ["a"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("class_name", "module"),
    [("Trap", "trap"), ("trap:Trap", "trap"), ("trap.Trap", "trap"), ("ActivePerceptron", "trap")],
)
def test_no_module_is_imported_because_a_file_names_it(
    class_name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.py").write_text("class Trap: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = sealed(tmp_path / "policy", {**HEADER, "class": class_name, "module": module}, ARRAYS)
    with pytest.raises(UnreadableFile):
        load(path)
    assert "trap" not in sys.modules


def test_saving_and_checking_load_no_heavy_library() -> None:
    code = (
        "import sys, askless.persist, askless.checks; heavy = {'numba', 'scipy', 'matplotlib', 'pandas', "
        "'sklearn', 'rich', 'typer'}; print(*(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
