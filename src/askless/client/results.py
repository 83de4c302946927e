"""What the service answers, as typed objects. A field that a newer service adds is ignored, not an error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from askless.client.call import json_of
from askless.client.errors import ServiceError

T = TypeVar("T")


def read(kind: type[T], data: Any) -> T:
    """The dataclass `kind` from the JSON object `data`: by the names of its fields, each read as its metadata says."""
    if not isinstance(data, dict):
        raise ServiceError(
            f"The service answered {str(data)[:80]!r}; expected an object with the fields of a {_name(kind)}."
        )
    values: dict[str, Any] = {}
    for spec in dataclasses.fields(kind):  # type: ignore[arg-type]
        reader: Callable[[Any], Any] | None = spec.metadata.get("read")
        value = data.get(spec.name)
        if value is not None:
            values[spec.name] = reader(value) if reader else value
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise ServiceError(f"The service's {_name(kind)} has no {spec.name!r}: is it a service of askless?")
    return kind(**values)


def _name(kind: type[Any]) -> str:
    return kind.__name__.lower()


def many(kind: type[T]) -> Callable[[Any], tuple[T, ...]]:
    """Reads a list of them."""
    return lambda rows: tuple(read(kind, row) for row in rows)


WHEN = {"read": datetime.fromisoformat}


@dataclass(frozen=True, slots=True)
class Evidence:
    """An example that a guess rests on, with its part in it.

    `id` and `text` are None for a client's key, unless the desk shares its examples; `text` also once it was erased.
    """

    label: str
    weight: float
    id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What stands about a query: "guessed" or "answered" with a label and its answer text, or "asked" with a ticket."""

    id: str
    status: str  # guessed, asked, answered, given
    event: int  # grows with each change
    received_at: datetime = field(metadata=WHEN)
    label: str | None = None
    answer: str | None = None
    probability: float | None = None
    evidence: tuple[Evidence, ...] = field(default=(), metadata={"read": many(Evidence)})
    ticket: int | None = None
    reason: str | None = None
    disputed: bool = False  # somebody says that the guess is wrong, and an expert is asked
    erased: bool = False

    @property
    def waits(self) -> bool:
        """Whether an expert still has to answer."""
        return not self.erased and (self.disputed or self.status == "asked")


@dataclass(frozen=True, slots=True)
class Offer:
    """A label that a ticket suggests, with its closest example."""

    label: str
    answer: str | None = None
    example: str | None = None
    distance: float | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Ticket:
    """A question to the experts. At a desk with audits `why`, `guess`, `probability` and `reason` stay None."""

    id: int
    query: str  # the id of the query
    status: str  # open, answered, withdrawn
    priority: float
    opened_at: datetime = field(metadata=WHEN)
    text: str | None = None
    why: str | None = None
    reason: str | None = None
    asker: str | None = None
    offers: tuple[Offer, ...] = field(default=(), metadata={"read": many(Offer)})
    guess: str | None = None
    probability: float | None = None
    suggested: str | None = None
    lease_by: str | None = None
    lease_until: datetime | None = field(default=None, metadata=WHEN)
    label: str | None = None
    closed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer did: where its query stands, and the ids of waiting queries that it settled."""

    outcome: Outcome = field(metadata={"read": lambda data: read(Outcome, data)})
    settled: tuple[str, ...] = field(default=(), metadata={"read": tuple})


@dataclass(frozen=True, slots=True)
class Label:
    """A label, its answer text and the number of its examples."""

    id: int
    name: str
    examples: int
    answer: str | None = None
    created_at: datetime | None = field(default=None, metadata=WHEN)


@dataclass(frozen=True, slots=True)
class QueryRow(Outcome):
    """What stands about a query, its text, who sent it, whether it is an example, whether it was erased."""

    text: str | None = None
    asker: str | None = None
    example: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A query whose label an expert gave."""

    id: str
    label: str
    status: str
    received_at: datetime = field(metadata=WHEN)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """A desk: its settings, how much it knows, how much waits. `vectors` names what its vectors were made by."""

    name: str
    vectors: str
    settings: dict[str, Any]
    labels: int
    examples: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Job:
    """Work in the background: `done` of `total` texts are embedded with another embedder."""

    id: int
    status: str  # running, done, failed, cancelled
    embedder: str
    done: int
    total: int
    forgets: int = 0  # examples without a text, which the switch forgets
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where a desk's happenings are sent; `secret` is there only in the answer that made it."""

    id: int
    url: str
    kinds: tuple[str, ...] = field(metadata={"read": tuple})
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One happening on its way to a webhook; `query` is the id of the query it is about."""

    id: int
    webhook: int
    kind: str
    event: int
    query: str
    status: str  # pending, sent, dead
    attempts: int
    created_at: datetime = field(metadata=WHEN)
    next_at: datetime | None = field(default=None, metadata=WHEN)
    sent_at: datetime | None = field(default=None, metadata=WHEN)
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A key, for one desk or for all; `secret` is there only in the answer that made it."""

    id: int
    name: str
    role: str  # client, expert, admin
    created_at: datetime = field(metadata=WHEN)
    desk: str | None = None
    revoked_at: datetime | None = field(default=None, metadata=WHEN)
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of a list; `next` is the `cursor` of the following page, None at the end. `Client.each` walks them all."""

    items: tuple[T, ...]
    next: str | None


def one(kind: type[T]) -> Callable[[Any], T]:
    """Reads a response that is one of them."""
    return lambda response: read(kind, json_of(response))


def all_of(kind: type[T]) -> Callable[[Any], tuple[T, ...]]:
    """Reads a response that lists all of them."""
    return lambda response: many(kind)(json_of(response)["items"])


def page_of(kind: type[T]) -> Callable[[Any], Page[T]]:
    """Reads a response that lists some of them."""

    def page(response: Any) -> Page[T]:
        data = json_of(response)
        return Page(many(kind)(data["items"]), data.get("next"))

    return page
