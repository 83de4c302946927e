"""Webhooks and what is sent to them, as the database keeps it.

A delivery is written in the transaction of its event, so none is lost and none told that did not happen. It is
"pending" until the receiver has accepted it ("sent"), or has refused it too often ("dead", until it is sent again).
Either is deleted after a while.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, insert, select, update

from askless.desk.live.types import Happening
from askless.errors import InvalidInput, Unknown
from askless.ledger import schema

PENDING, SENT, DEAD = "pending", "sent", "dead"
STATUSES = (PENDING, SENT, DEAD)
LONGEST_URL = 2_000
SHORTEST_SECRET, LONGEST_SECRET = 16, 200
URL = (  # no name and password in it: the signature says who sends
    r"^https?://([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]{2,45}\])"
    r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?][!-~]*)?$"
)
SECRET = r"^[!-~]*$"

_hooks, _deliveries = schema.webhooks, schema.deliveries


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where a desk's happenings are sent, and which of them."""

    id: int
    url: str
    kinds: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """One happening on its way to one webhook."""

    id: int
    webhook: int
    kind: str
    event: int
    query: str  # the caller's own id
    status: str
    attempts: int
    next_at: datetime
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that is to be sent now, with what sending needs."""

    id: int
    webhook: int
    url: str
    secret: str
    kind: str
    event: int
    at: datetime
    desk: int
    desk_name: str
    key: str
    attempts: int


def create(
    connection: Connection, desk: int, url: str, kinds: Iterable[str] | None, secret: str | None, now: datetime
) -> tuple[Webhook, str]:
    """Add a webhook to a desk; the webhook and its secret, which is made here where none is given."""
    chosen = tuple(dict.fromkeys(kinds)) if kinds is not None else tuple(Happening)
    odd = [kind for kind in chosen if kind not in tuple(Happening)]
    if odd or not chosen:
        known = ", ".join(Happening)
        raise InvalidInput(f"A webhook is told of one or more of {known}; found {', '.join(odd) or 'none'}.")
    secret = secrets.token_urlsafe(32) if secret is None else secret
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET or not re.fullmatch(SECRET, secret):
        raise InvalidInput(
            f"A webhook's secret has {SHORTEST_SECRET} to {LONGEST_SECRET} plain characters without spaces; leave it "
            "out to have one made."
        )
    row = {"desk": desk, "url": checked_url(url), "secret": secret, "kinds": list(chosen), "created_at": now}
    key: Any = connection.execute(insert(_hooks), row).inserted_primary_key
    return Webhook(int(key[0]), url, tuple(map(str, chosen)), now), secret


def checked_url(url: str) -> str:
    """The URL, where a webhook can be sent to it."""
    if len(url) > LONGEST_URL or not re.fullmatch(URL, url):
        raise InvalidInput(
            f"A webhook's URL begins with http:// or https:// and a host, in at most {LONGEST_URL} plain characters; "
            f"found {url[:80]!r}."
        )
    if is_link_local(host_of(url)):
        raise InvalidInput(
            f"A webhook goes to no link-local address, where clouds keep credentials; found {url[:80]!r}."
        )
    return url


def host_of(url: str) -> str:
    """The host that a checked URL names."""
    return urlsplit(url).hostname or ""


def is_link_local(address: str) -> bool:
    """Whether this is an address, and one that only machines on the same link know: clouds keep credentials there."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped.is_link_local
    return found.is_link_local


def listed(connection: Connection, desk: int) -> list[Webhook]:
    """The webhooks of a desk, without their secrets."""
    rows = connection.execute(select(_hooks).where(_hooks.c.desk == desk).order_by(_hooks.c.id))
    return [Webhook(row.id, row.url, tuple(row.kinds), row.created_at) for row in rows]


def remove(connection: Connection, desk: int, webhook: int) -> None:
    """Delete a webhook with all its deliveries."""
    found = select(_hooks.c.id).where(_hooks.c.desk == desk, _hooks.c.id == webhook)
    if connection.execute(found).scalar() is None:
        raise Unknown(f"There is no webhook {webhook} at this desk.")
    connection.execute(delete(_deliveries).where(_deliveries.c.webhook == webhook))
    connection.execute(delete(_hooks).where(_hooks.c.id == webhook))


def page(
    connection: Connection, desk: int, *, status: str | None = None, before: int | None = None, limit: int = 50
) -> list[Delivery]:
    """Deliveries of a desk, the newest first; `before` is the id after which the page begins."""
    d = _deliveries.c
    wanted = _with_key().where(d.desk == desk).order_by(d.id.desc()).limit(limit)
    if status is not None:
        wanted = wanted.where(d.status == status)
    if before is not None:
        wanted = wanted.where(d.id < before)
    return [_delivery(row) for row in connection.execute(wanted)]


def resend(connection: Connection, desk: int, delivery: int, now: datetime) -> Delivery:
    """Send a delivery once more from the beginning, whatever became of it."""
    d = _deliveries.c
    again = {"status": PENDING, "attempts": 0, "next_at": now, "last_error": None, "sent_at": None}
    changed = connection.execute(update(_deliveries).where(d.desk == desk, d.id == delivery).values(again))
    if not changed.rowcount:
        raise Unknown(f"There is no delivery {delivery} at this desk.")
    return _delivery(connection.execute(_with_key().where(d.id == delivery)).one())


def due_webhooks(connection: Connection, now: datetime) -> list[int]:
    """The webhooks that something is to be sent to by now."""
    return list(connection.execute(select(_deliveries.c.webhook).where(*_is_due(now)).distinct()).scalars())


def take_due(connection: Connection, places: Mapping[int, int], now: datetime, lease: timedelta) -> list[Due]:
    """Deliveries whose time has come, so many for each webhook as it has places.

    They are leased to this process: until the lease ends nobody else takes them. Then somebody does, so what a process
    took with it when it died is sent by another.
    """
    d = _deliveries.c
    taken: list[int] = []
    for webhook, most in places.items():
        first = select(d.id).where(*_is_due(now), d.webhook == webhook).order_by(d.next_at, d.id).limit(most)
        taken += connection.execute(first.with_for_update(skip_locked=True)).scalars()
    if not taken:
        return []
    connection.execute(update(_deliveries).where(d.id.in_(taken)).values(next_at=now + lease))
    return [_due(row) for row in connection.execute(_whole().where(d.id.in_(taken)).order_by(d.id))]


def asked(connection: Connection, due: Due) -> dict[str, Any]:
    """What is said of a new ticket: its number and its query, and nothing that the policy thinks.

    Whoever hears of it may be the expert whose answer measures the guess. The number is that of the ticket whatever
    became of it since; a text that was erased meanwhile is null.
    """
    q, t = schema.queries.c, schema.tickets.c
    wanted = select(t.id, q.key, q.text, q.received_at).join_from(schema.queries, schema.tickets, t.query == q.id)
    row = connection.execute(wanted.where(q.desk == due.desk, q.key == due.key)).one_or_none()
    if row is None:
        raise Unknown(f"There is no ticket for the query {due.key!r}.")
    received = None if row.received_at is None else row.received_at.isoformat()
    return {"ticket": row.id, "query": {"id": row.key, "text": row.text, "received_at": received}}


def accepted(connection: Connection, due: Due, now: datetime) -> None:
    """The receiver has it."""
    d = _deliveries.c
    done = {"status": SENT, "attempts": due.attempts + 1, "sent_at": now, "last_error": None}
    connection.execute(update(_deliveries).where(d.id == due.id, d.status == PENDING).values(done))


def failed(connection: Connection, due: Due, error: str, again_at: datetime | None) -> None:
    """It could not be delivered; to be tried again, or dead where `again_at` is None."""
    d = _deliveries.c
    values: dict[str, Any] = {"attempts": due.attempts + 1, "last_error": error}
    values |= {"status": DEAD} if again_at is None else {"next_at": again_at}
    connection.execute(update(_deliveries).where(d.id == due.id, d.status == PENDING).values(values))


def let_go(connection: Connection, due: Iterable[Due], now: datetime) -> None:
    """Give leases back: nothing was sent, or nobody knows."""
    d = _deliveries.c
    ids = [one.id for one in due]
    connection.execute(update(_deliveries).where(d.id.in_(ids), d.status == PENDING).values(next_at=now))


def sweep(connection: Connection, *, sent_before: datetime, dead_before: datetime) -> None:
    """Delete what was sent before one time, and what was given up before another."""
    d = _deliveries.c
    connection.execute(delete(_deliveries).where(d.status == SENT, d.sent_at < sent_before))
    connection.execute(delete(_deliveries).where(d.status == DEAD, d.next_at < dead_before))  # its last lease's end


def _is_due(now: datetime) -> tuple[Any, Any]:
    return _deliveries.c.status == PENDING, _deliveries.c.next_at <= now


def _with_key() -> Any:
    return select(_deliveries, schema.queries.c.key).join(schema.queries, schema.queries.c.id == _deliveries.c.query)


def _whole() -> Any:
    columns: Sequence[Any] = (
        *_deliveries.c,
        _hooks.c.url,
        _hooks.c.secret,
        schema.queries.c.key,
        schema.desks.c.name.label("desk_name"),
        schema.events.c.at,
    )
    return (
        select(*columns)
        .join(_hooks, _hooks.c.id == _deliveries.c.webhook)
        .join(schema.queries, schema.queries.c.id == _deliveries.c.query)
        .join(schema.desks, schema.desks.c.id == _deliveries.c.desk)
        .join(schema.events, schema.events.c.id == _deliveries.c.event)
    )


def _delivery(row: Any) -> Delivery:
    return Delivery(
        row.id,
        row.webhook,
        row.kind,
        row.event,
        row.key,
        row.status,
        row.attempts,
        row.next_at,
        row.last_error,
        row.created_at,
        row.sent_at,
    )


def _due(row: Any) -> Due:
    return Due(
        row.id,
        row.webhook,
        row.url,
        row.secret,
        row.kind,
        row.event,
        row.at,
        row.desk,
        row.desk_name,
        row.key,
        row.attempts,
    )
