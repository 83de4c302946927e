"""Policies by name: `generalized-hull:tau=0.9`, the paper's `ghc:0.9`, or `module:Class` for one of your own.

A class is imported when it is first asked for, so that listing the names loads nothing.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from askless.errors import InvalidInput
from askless.inputs import as_module
from askless.types import POLICY_METHODS, Policy

# name: module, class, how to write it, what it does
_CLASSES = {
    "self-tuning": (
        "self_tuning",
        "SelfTuning",
        "self-tuning",
        "guess where the best label is likely enough for the costs; no threshold",
    ),
    "conservative-hull": (
        "conservative_hull",
        "ConservativeHull",
        "conservative-hull:refine=true",
        "guess only inside a hull",
    ),
    "generalized-hull": (
        "generalized_hull",
        "GeneralizedHull",
        "generalized-hull:tau=0.9",
        "guess where the nearest hull is at most tau times as far as the second",
    ),
    "center-based": (
        "center_based",
        "CenterBased",
        "center-based:constant=5",
        "ask until every label's centre is known, then guess the nearest",
    ),
    "center-then-hull": (
        "center_then_hull",
        "CenterThenHull",
        "center-then-hull:constant=5",
        "center-based, then conservative-hull after e^d rounds",
    ),
    "sequential-kmeans": (
        "sequential_kmeans",
        "SequentialKMeans",
        "sequential-kmeans",
        "ask until every label has an example, then centroids follow the guesses",
    ),
    "active-perceptron": (
        "active_perceptron",
        "ActivePerceptron",
        "active-perceptron:tau=0.95",
        "a perceptron that asks where its margin is at most 2 (1 - tau)",
    ),
    "similarity-threshold": (
        "similarity_threshold",
        "SimilarityThreshold",
        "similarity-threshold:threshold=0.9",
        "guess the nearest example's label where it is similar enough",
    ),
    "always-ask": ("always_ask", "AlwaysAsk", "always-ask", "ask about everything"),
}
# alias: the name it stands for, how to write it, what it sets
_ALIASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "chc": ("conservative-hull", "chc", {}),
    "ghc": ("generalized-hull", "ghc:0.9", {}),
    "ghc-nearest": ("generalized-hull", "ghc-nearest:0.9", {"distance": "nearest"}),
    "cc": ("center-based", "cc:5", {}),
    "cc-chc": ("center-then-hull", "cc-chc:5", {}),
    "skm": ("sequential-kmeans", "skm", {}),
    "amp": ("active-perceptron", "amp:0.95", {}),
}


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """Where the class behind a name is found, what the name sets, and what a help page says about it."""

    module: str
    class_name: str
    example: str
    summary: str
    sets: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> type[Policy]:
        """The class, imported now."""
        module = importlib.import_module(f"askless.policies.{self.module}")
        cls: type[Policy] = getattr(module, self.class_name)
        return cls


def _named_by_alias(name: str, example: str, sets: dict[str, Any]) -> NamedPolicy:
    module, class_name, _, _ = _CLASSES[name]
    fixed = "".join(f", {parameter}={value}" for parameter, value in sets.items())
    return NamedPolicy(module, class_name, example, f"short for {name}{fixed}", sets)


POLICIES: dict[str, NamedPolicy] = {name: NamedPolicy(*row) for name, row in _CLASSES.items()} | {
    alias: _named_by_alias(*row) for alias, row in _ALIASES.items()
}


def names_table() -> str:
    """Lines of text for a help page: how each policy is written, and what it does."""
    rows = [(named.example, named.summary) for named in POLICIES.values()]
    rows.append(("module:Class:name=value", "a policy of your own"))
    width = max(len(example) for example, _ in rows)
    return "\n".join(f"{example:<{width}}  {summary}" for example, summary in rows)


def policy_class(name: str) -> type[Policy]:
    """The class of one of askless's own policies, by its name, its alias or the name of the class.

    It never imports a module from outside askless, whatever the name says.
    """
    return _named(name).load()


def spec_name(policy: Policy | type[Policy]) -> str:
    """The name under which `make_policy` finds this policy's class: one of the table, or `module:Class`."""
    cls = policy if isinstance(policy, type) else type(policy)
    for name, named in POLICIES.items():
        if (cls.__module__, cls.__qualname__) == (f"askless.policies.{named.module}", named.class_name):
            return name
    return f"{cls.__module__}:{cls.__qualname__}"


def make_policy(spec: str, **defaults: Any) -> Policy:
    """The policy that a text such as `ghc:0.9` describes.

    The text is `name`, `name:value`, `name:parameter=value,...`, or `module:Class` with the same after
    another colon; a value without a name goes to the first parameter. A value reads as an integer, a
    number, true, false, none, or else as text. `defaults` (space, n_labels, costs, horizon, dtype, labels_given)
    apply where the class takes such a parameter and the text does not set it; a default of None counts as
    not given.
    """
    cls, sets, name, arguments = _resolve(spec)
    taken = _parameters(cls)
    values = _arguments(arguments, taken, name)
    for parameter in sets.keys() & values.keys():
        raise InvalidInput(f"{name} sets {parameter}={sets[parameter]} already; leave it out of {spec!r}.")
    given = {k: v for k, v in defaults.items() if v is not None and k in taken}
    values = given | dict(sets) | values
    missing = [p.name for p in taken.values() if p.default is p.empty and p.name not in values]
    if missing:
        raise InvalidInput(f"{name} needs a value for {_list(missing)}; write {name}:{missing[0]}=value.")
    return cls(**values)


def _resolve(spec: str) -> tuple[type[Policy], Mapping[str, Any], str, str | None]:
    """The class, what its name sets, the name, and the text of its arguments (None where there is none)."""
    if not isinstance(spec, str):
        raise InvalidInput(f"A policy is named by a text such as 'ghc:0.9'; found {spec!r}.")
    name, colon, rest = spec.strip().partition(":")
    class_name, second_colon, arguments = rest.partition(":")
    is_module = all(part.isidentifier() for part in name.split("."))
    if is_module and class_name.isidentifier() and _key(name) not in _by_key():
        return _own_class(name, class_name), {}, f"{name}:{class_name}", arguments if second_colon else None
    named = _named(name)
    return named.load(), named.sets, name, rest if colon else None


def _key(name: str) -> str:
    """The same for ActivePerceptron, active-perceptron and active_perceptron."""
    return name.replace("-", "").replace("_", "").lower()


def _by_key() -> dict[str, NamedPolicy]:
    return {_key(name): named for name, named in POLICIES.items()}


def _named(name: str) -> NamedPolicy:
    named = _by_key().get(_key(name))
    if named is None:
        raise InvalidInput(
            f"No policy is named {name!r}.{_did_you_mean(name, POLICIES)} The names are "
            f"{_list(POLICIES)}; write module:Class for a policy of your own."
        )
    return named


def _own_class(module_name: str, class_name: str) -> type[Policy]:
    """A class from outside askless that has the methods of a policy."""
    module = as_module(module_name, "policy", _did_you_mean(module_name, POLICIES))
    cls = getattr(module, class_name, None)
    if not isinstance(cls, type):
        policies = [n for n, c in vars(module).items() if isinstance(c, type) and not _lacks(c)]
        found = f"its policies are {_list(policies)}" if policies else "it holds no policy"
        raise InvalidInput(f"The module {module_name} has no class {class_name!r}; {found}.")
    if lacks := _lacks(cls):
        raise InvalidInput(
            f"{module_name}:{class_name} is no policy: it lacks {_list(lacks)}. "
            "askless.types.Policy says what each of them does."
        )
    return cls


def _lacks(cls: type) -> list[str]:
    """The methods of a policy that the class does not have, or only as a parent declares them."""
    absent = [m for m in POLICY_METHODS if getattr(cls, m, None) in (None, getattr(Policy, m))]
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    return absent + sorted(abstract.difference(absent))


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The parameters the class takes by name; where it passes **others on, its parent's as well."""
    found: dict[str, inspect.Parameter] = {}
    for parent in cls.__mro__[:-1]:  # all but object
        if "__init__" not in vars(parent):
            continue
        parameters = list(inspect.signature(vars(parent)["__init__"]).parameters.values())[1:]
        for p in parameters:
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                found.setdefault(p.name, p)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found


def _arguments(text: str | None, taken: dict[str, inspect.Parameter], name: str) -> dict[str, Any]:
    """The values that `value,parameter=value,...` sets."""
    values: dict[str, Any] = {}
    first = next((p.name for p in taken.values() if p.kind is p.POSITIONAL_OR_KEYWORD), None)
    for part in [] if text is None else text.split(","):
        parameter, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and first is not None and not values:
            parameter, value = first, parameter
        if not value:
            raise InvalidInput(
                f"Expected parameter=value after {name}; found {part.strip()!r}. It takes {_list(taken)}."
            )
        if parameter not in taken:
            hint = _did_you_mean(parameter, taken)
            raise InvalidInput(f"{name} has no parameter {parameter!r}.{hint} It takes {_list(taken)}.")
        if parameter in values:
            raise InvalidInput(f"{parameter} is set twice in {name}:{text}; set it once.")
        values[parameter] = _value(value)
    return values


def _value(text: str) -> int | float | bool | str | None:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.lower(), list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "no parameters"
