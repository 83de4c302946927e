"""What a desk is set to, as the ledger keeps it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from askless.errors import InvalidInput
from askless.inputs import as_fraction
from askless.types import Costs


@dataclass(frozen=True, slots=True)
class Settings:
    """Policy and embedder by the names the command line takes, costs, and the share of guesses that are audited.

    `horizon` is the number of texts the desk began with, for policies that want to know it; it stays as it was.
    """

    policy: str
    embedder: str
    costs: Costs = Costs()  # noqa: RUF009  (frozen)
    audit_rate: float = 0.0
    horizon: int = 0

    def __post_init__(self) -> None:
        as_fraction(self.audit_rate, "The audit rate")

    def written(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return asdict(self)

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Settings:
        """The settings that `written` gave."""
        try:
            return cls(**payload | {"costs": Costs(**payload["costs"])})
        except (TypeError, KeyError) as error:
            raise InvalidInput(f"The ledger's settings cannot be read ({error}). Upgrade askless.") from error

    def changes_from(self, before: Settings) -> list[str]:
        """What differs, in words."""
        names = {"policy": "policy", "costs": "costs", "audit_rate": "audit rate", "embedder": "embedder"}
        found = []
        for field, name in names.items():
            old, new = getattr(before, field), getattr(self, field)
            if old != new:
                found.append(f"{name} {_shown(old)} -> {_shown(new)}")
        return found


def _shown(value: Any) -> str:
    if isinstance(value, Costs):
        return f"{value.call:g},{value.right:g},{value.wrong:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)
