"""The contract of a policy, as checks that anyone can run on a policy of their own.

    from askless.checks import check_policy
    check_policy(lambda: MyPolicy(tau=0.8))

Each check plays scripts: a stream is run once through a policy with an expert, the calls are recorded, and
other policies are then given the same calls, changed in one respect. Two decisions are the same when both
guess the same label, or both ask for the same kind of reason; the figures with them are not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from askless import persist
from askless.check_scripts import (
    Floats,
    Form,
    Make,
    Script,
    compare,
    decisions,
    expect,
    known_labels,
    play,
    played,
    refused,
    renamed,
    say,
    scripts,
)
from askless.errors import AsklessError, CheckFailed, UnknownExample
from askless.types import ExampleId, Label, Policy

__all__ = ["Check", "CheckFailed", "all_checks", "check_policy"]


class Check(Protocol):
    """One promise: returns when the policies of `make` keep it, raises `CheckFailed` when they do not."""

    __name__: str

    def __call__(self, make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
        """Run the check on fresh policies, each from a call of `make`."""
        ...


def check_policy(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """Run every check on the policies that `make` builds; the first broken promise raises `CheckFailed`.

    `make` takes nothing and returns a policy that has learned nothing, each time with the same parameters.
    Vectors are drawn by `seed`, of norm 1 on the sphere. A policy with `n_labels` is given that many labels.
    """
    for check in all_checks():
        check(make, space=space, dim=dim, seed=seed)


def all_checks() -> list[Check]:
    """Every check, for instance for `pytest.mark.parametrize`."""
    return [
        check_decide_is_pure,
        check_same_calls_same_decisions,
        check_forget,
        check_relabel,
        check_label_names,
        check_no_aliasing,
        check_save_and_load,
        check_unknown_id,
        check_nan_refused,
        check_example_ids,
        check_input_kinds,
    ]


# -- the promises -------------------------------------------------------------------------------------------


def check_decide_is_pure(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """`decide` changes no later decision, however often and on whatever query it is called."""
    promise = "decide is pure"
    for script in scripts(make, space, dim, seed):
        quiet, busy = played(make, script.calls), make()
        for i, call in enumerate(script.calls):
            decisions(busy, script.probes[i % 12 :: 12])
            play(busy, [call])
        expected = decisions(quiet, script.probes)
        expect(script, promise, busy, expected, "a policy given the same calls with no decide between them")
        decisions(quiet, script.probes[::-1])
        expect(script, promise, quiet, expected, "the same policy when first asked")


def check_same_calls_same_decisions(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """Two policies that are made alike and given the same calls decide alike, round by round."""
    promise = "the same calls give the same decisions (seed every generator from a parameter)"
    twin = "another policy made alike and given the same calls"
    runs = [scripts(make, space, dim, seed) for _ in range(2)]
    for first, second in zip(*runs, strict=True):
        compare(first, promise, second.said, first.said, twin)
        expect(first, promise, second.policy, decisions(first.policy, first.probes), twin)


def check_forget(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """After `forget(id)` a policy decides as one that was given the same calls without that example."""
    for script in scripts(make, space, dim, seed):
        for at, ids in script.choices(seed):
            policy = played(make, script.calls[:at])
            for id in ids:
                policy.forget(id)
            play(policy, script.calls[at:])
            fresh = played(make, [call for call in script.calls if call.id is None or call.id not in ids])
            promise = f"after forget of {_some(ids)} a policy decides as if it had never learned that"
            expected = decisions(fresh, script.probes)
            expect(script, promise, policy, expected, "a fresh policy given the same calls without that")


def check_relabel(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """After `relabel(id, label)` a policy decides as one given the same calls with the new label in place."""
    for script in scripts(make, space, dim, seed):
        names = (*script.names, "newcomer") if known_labels(script.policy) is None else script.names
        for turn, (at, ids) in enumerate(script.choices(seed)):
            # Each label gives way to the next; on the second turn each keeps its own, which changes nothing.
            following = {name: names[(i + (turn != 1)) % len(names)] for i, name in enumerate(names)}
            new = {call.id: following[call.label] for call in script.calls if call.id in ids}
            policy = played(make, script.calls[:at])
            for id in ids:
                policy.relabel(id, new[id])
            play(policy, script.calls[at:])
            fresh = played(make, [replace(c, label=new[c.id]) if c.id in new else c for c in script.calls])
            promise = f"after relabel of {_some(ids)} a policy decides as if told the new label at once"
            expected = decisions(fresh, script.probes)
            expect(script, promise, policy, expected, "a fresh policy given the same calls with the new label")


def check_label_names(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """Labels by other names, in another order or of another type, give the same decisions by those names."""
    for script in scripts(make, space, dim, seed):
        policy = played(make, script.calls)
        for new_names in (script.names[::-1], range(len(script.names)), map(str, script.names)):
            names: dict[Label, Label] = dict(zip(script.names, new_names, strict=True))
            twin = played(make, [call.renamed(names) for call in script.calls])
            expected = [say(renamed(policy.decide(x.copy()), names)) for x in script.probes]
            promise = f"the names of labels are irrelevant (renamed by {names})"
            expect(script, promise, twin, expected, "by the new names, a policy that learned the old ones")


def check_no_aliasing(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """A policy neither keeps nor changes the caller's arrays, and the arrays that it gives out are copies."""
    for script in scripts(make, space, dim, seed):
        policy = make()
        expected = _lent(policy, script, None)
        promise = "a policy keeps no array of the caller's (copy what is kept)"
        found = _lent(make(), script, np.empty(dim))
        compare(script, promise, found, expected, "a policy given the same in arrays that nobody overwrote")
        given: list[Any] = [example.x for example in getattr(policy, "examples", list)()]
        given += policy.state().values() if isinstance(policy, persist.Storable) else []
        for array in given:
            if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.flags.writeable:
                array[...] = 0.5
        promise = "the arrays of examples() and state() are copies, or read-only"
        expect(script, promise, policy, expected, "the same policy before they were overwritten")


def check_save_and_load(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """A policy that was saved and loaded decides as the one that stayed in memory, then and later.

    Saving is an addition: of a policy that has neither `params` nor `state` nor `restore` nothing is asked.
    """
    promise = "a policy that was saved and loaded decides as before"
    for script in scripts(make, space, dim, seed):
        half = len(script.calls) // 2
        policy = played(make, script.calls[:half])
        if not any(callable(getattr(policy, name, None)) for name in ("params", "state", "restore")):
            return
        loaded = _saved_and_loaded(policy)
        expect(script, promise, loaded, decisions(policy, script.probes), "the policy that was saved")
        for either in (policy, loaded):
            play(either, script.calls[half:])
        expect(
            script,
            promise,
            loaded,
            decisions(policy, script.probes),
            "after more calls, the one that was saved",
        )
        for id in script.choices(seed)[2][1]:
            policy.forget(id)
            loaded.forget(id)
        expect(script, promise, loaded, decisions(policy, script.probes), "after forget, the one that was saved")


def check_unknown_id(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """`forget` and `relabel` of an id that is not held raise UnknownExample and change nothing."""
    for script in scripts(make, space, dim, seed):
        policy = played(make, script.calls)
        gone = script.ids[0]
        policy.forget(gone)
        expected = decisions(policy, script.probes)
        twins = [str(id) for id in script.ids if isinstance(id, int)]
        for id in ("no such example", -1, gone, *twins):
            what = f"of {id!r}, an id that is not held,"
            refused(f"forget {what}", partial(policy.forget, id), UnknownExample)
            refused(f"relabel {what}", partial(policy.relabel, id, script.names[0]), UnknownExample)
        promise = "forget and relabel of an unknown id change nothing"
        expect(script, promise, policy, expected, "the same policy before")


def check_nan_refused(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """NaN and infinity raise an AsklessError in `decide` and `learn`, and change nothing."""
    for script in scripts(make, space, dim, seed):
        policy, untroubled = make(), played(make, script.calls)
        for call in script.calls:
            for value in (np.nan, np.inf):
                bad = call.x.copy()
                bad[-1] = value
                refused(f"decide on a query with {value}", partial(policy.decide, bad))
                if call.decision is None:
                    what = f"learn of an example with {value}"
                    refused(what, partial(policy.learn, bad, call.label, call.id))
            play(policy, [call])
        expected = decisions(untroubled, script.probes)
        promise = "NaN and infinity are refused and change nothing"
        expect(script, promise, policy, expected, "a policy that was never handed any")


def check_example_ids(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """`learn` returns the id it is given, makes a new one where none is given, and refuses one in use."""
    for script in scripts(make, space, dim, seed):
        policy = make()
        held: set[ExampleId] = set()
        for call in script.learned:
            id = policy.learn(call.x.copy(), call.label, call.id)
            if id != call.id or type(id) is not type(call.id):
                raise CheckFailed(f"learn returns the id that it is given; given {call.id!r}, it returned {id!r}.")
            held.add(id)
        expected = decisions(policy, script.probes)
        for call in script.learned[:3]:
            refused(
                f"learn with the id {call.id!r}, which is in use,",
                partial(policy.learn, -call.x, "new", call.id),
            )
        expect(script, "learn with an id in use changes nothing", policy, expected, "the same policy before")
        made: list[ExampleId] = []
        for call in script.learned[:3]:
            made.append(policy.learn(call.x.copy(), call.label))
            if not isinstance(made[-1], str | int) or made[-1] in held:
                raise CheckFailed(f"learn without an id makes a new string or integer; found {made[-1]!r}.")
            held.add(made[-1])
        for id in made:
            policy.forget(id)
        expect(script, "forget takes the id that learn made", policy, expected, "the same policy before")


def check_input_kinds(make: Make, *, space: str = "sphere", dim: int = 8, seed: int = 0) -> None:
    """The same numbers as float32, list, non-contiguous or read-only array give the same decisions."""
    kinds: dict[str, Form] = {
        "float32 arrays": lambda x: x.astype(np.float32),
        "lists": lambda x: [float(v) for v in x],
        "non-contiguous arrays": lambda x: np.repeat(x, 2)[::2],
        "read-only arrays": lambda x: np.frombuffer(x.tobytes()),
    }
    for script in scripts(make, space, dim, seed):
        expected = decisions(played(make, script.calls), script.probes)
        for kind, form in kinds.items():
            policy = make()
            try:
                play(policy, script.calls, form)
                found = decisions(policy, script.probes, form)
            except Exception as error:
                raise CheckFailed(f"{kind} are taken as float64 arrays are; this policy raised {error!r}.") from error
            promise = f"{kind} give the same decisions as float64 arrays"
            compare(script, promise, found, expected, "a policy given the same numbers as float64 arrays")


# -- their parts --------------------------------------------------------------------------------------------


def _some(ids: list[ExampleId]) -> str:
    return f"the example {ids[0]!r}" if len(ids) == 1 else f"{len(ids)} examples"


def _lent(policy: Policy, script: Script, reused: Floats | None) -> list[str]:
    """What the policy says when every vector comes in one reused array (None: each in one of its own)."""

    def lend(x: Floats, use: Callable[[Floats], Any]) -> Any:
        array = np.empty_like(x) if reused is None else reused
        array[:] = x
        result = use(array)
        if not np.array_equal(array, x):
            raise CheckFailed("A policy leaves the caller's array as it is; this one wrote into it.")
        if reused is not None:
            reused[:] = 0.5
        return result

    for call in script.calls:
        lend(call.x, policy.decide)
        lend(call.x, lambda x, call=call: play(policy, [call], lambda _: x))  # type: ignore[misc]
    return [say(lend(x, policy.decide)) for x in script.probes]


def _saved_and_loaded(policy: Policy) -> Policy:
    if not isinstance(policy, persist.Storable):
        raise CheckFailed(
            f"{type(policy).__name__} cannot be saved. Give it all of params() (the arguments that make it), "
            "state() (what it learned, as arrays and JSON values) and restore(state), or none of them; "
            "askless.persist.Storable describes them."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        try:
            persist.save(policy, path)
            return persist.load(path, kind=type(policy))
        except AsklessError as error:
            raise CheckFailed(f"A policy can be saved and loaded; this one cannot: {error}") from error
