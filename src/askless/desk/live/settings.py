"""What a live desk is set to, as the ledger keeps it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from askless.desk.live.types import Mode, WhenAble
from askless.errors import InvalidInput
from askless.inputs import as_fraction
from askless.types import Costs, Policy

_LONGEST_LEASE = 7 * 24 * 3600
_LONGEST_RETENTION = 36_500  # days

_ChoiceT = TypeVar("_ChoiceT", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Policy and embedder by name, costs, the share of guesses that are audited, and how the desk treats experts.

    `retention_days` is the age at which a query is erased, None for never; with `retain_examples` what an expert has
    labelled stays. With `share_examples` callers with a client's key see the examples behind a guess, which other
    askers may have sent: their texts and their ids. Experts always do.
    """

    policy: str = "self-tuning"
    embedder: str = "wordllama"
    costs: Costs = Costs()  # noqa: RUF009  (frozen)
    audit_rate: float = 0.0
    mode: Mode = Mode.LIVE
    paused: bool = False
    when_able: WhenAble = WhenAble.WITHDRAW
    lease_seconds: int = 300
    retention_days: int | None = None
    retain_examples: bool = True
    share_examples: bool = False

    def __post_init__(self) -> None:
        as_fraction(self.audit_rate, "The audit rate")
        object.__setattr__(self, "mode", _choice(Mode, self.mode, "mode"))
        object.__setattr__(self, "when_able", _choice(WhenAble, self.when_able, "when_able"))
        _whole(self.lease_seconds, "A lease", "seconds", _LONGEST_LEASE)
        if self.retention_days is not None:
            _whole(self.retention_days, "The retention", "days", _LONGEST_RETENTION)
        for name in ("paused", "retain_examples", "share_examples"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} is true or false; found {getattr(self, name)!r}.")
        for name in ("policy", "embedder"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise InvalidInput(f"The {name} is named by a text; found {getattr(self, name)!r}.")

    @property
    def blind(self) -> bool:
        """Whether experts are not told what the policy thinks: their answers measure it."""
        return self.audit_rate > 0.0 or self.mode is Mode.SHADOW

    def make_policy(self) -> Policy:
        """The policy, which has learned nothing yet; refused where there is no such one."""
        from askless.policies.named import make_policy

        return make_policy(self.policy, space="sphere", costs=self.costs)

    def learns_as(self, other: LiveSettings) -> bool:
        """Whether the policies of both decide alike, told the same."""
        return (self.policy, self.costs) == (other.policy, other.costs)

    def written(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return asdict(self) | {"mode": self.mode.value, "when_able": self.when_able.value}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> LiveSettings:
        """The settings that `written` gave."""
        try:
            return cls(**payload | {"costs": Costs(**payload["costs"])})
        except (TypeError, KeyError) as error:
            raise InvalidInput(f"The ledger's settings cannot be read ({error}). Upgrade askless.") from error

    def changed(self, **changes: Any) -> LiveSettings:
        """The settings with these fields changed; refused where a field or the policy is none that can be had."""
        names = [field.name for field in fields(self)]
        odd = [name for name in changes if name not in names]
        if odd:
            raise InvalidInput(f"A desk has no setting {odd[0]!r}. Its settings are {', '.join(names)}.")
        costs = changes.get("costs")
        if isinstance(costs, (list, tuple)) and len(costs) == 3:
            changes["costs"] = Costs(*costs)
        elif isinstance(costs, str):
            changes["costs"] = Costs.parse(costs)
        elif isinstance(costs, dict):
            changes["costs"] = _named_costs(costs)
        elif costs is not None and not isinstance(costs, Costs):
            raise InvalidInput(f"Costs are three numbers: call, right, wrong; found {costs!r}.")
        found = replace(self, **changes)
        if not found.learns_as(self):
            found.make_policy()
        return found


def _choice(kind: Callable[[Any], _ChoiceT], value: Any, name: str) -> _ChoiceT:
    try:
        return kind(value)
    except ValueError:
        names: Any = kind
        raise InvalidInput(f"{name} is {' or '.join(c.value for c in names)}; found {value!r}.") from None


def _whole(value: Any, what: str, unit: str, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(f"{what} is a whole number of {unit} from 1 to {most:,}; found {value!r}.")


def _named_costs(costs: dict[str, Any]) -> Costs:
    if set(costs) - {"call", "right", "wrong"} or not all(
        isinstance(v, (int, float)) and math.isfinite(v) for v in costs.values()
    ):
        raise InvalidInput(f"Costs are the numbers call, right and wrong; found {costs!r}.")
    return Costs(**costs)
