"""The calls of administrators: desks, export, jobs, webhooks, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askless.client.asking import nothing
from askless.client.call import Call, path
from askless.client.results import Delivery, Desk, Job, Key, Page, Webhook, all_of, one, page_of


def desks(desk: str) -> Call[tuple[Desk, ...]]:
    """The desks that this key may see."""
    return Call("GET", path("desks"), all_of(Desk), harmless=True)


def show(desk: str) -> Call[Desk]:
    """This desk: its settings and its counts."""
    return Call("GET", path("desks", desk), one(Desk), harmless=True)


def create_desk(desk: str, /, name: str, **settings: Any) -> Call[Desk]:
    """A new desk; `settings` as `configure` takes them, and the embedder."""
    return Call("POST", path("desks"), one(Desk), body={"name": name} | settings)


def configure(desk: str, /, **settings: Any) -> Call[Desk]:
    """Change settings of this desk, for example policy="ghc:0.9", audit_rate=0.02 or mode="shadow"."""
    return Call("PATCH", path("desks", desk), one(Desk), body=settings, harmless=True)


def pause(desk: str) -> Call[Desk]:
    """Take no queries for now."""
    return Call("POST", path("desks", desk, "pause"), one(Desk), harmless=True)


def resume(desk: str) -> Call[Desk]:
    """Take queries again."""
    return Call("POST", path("desks", desk, "resume"), one(Desk), harmless=True)


def delete_desk(desk: str) -> Call[None]:
    """Delete this desk and all it knows."""
    return Call("DELETE", path("desks", desk), nothing)


def export(desk: str, format: str = "csv") -> Call[bytes]:
    """All queries of the desk with their labels, as the bytes of a CSV, JSONL or Parquet file."""
    params = {"format": format}
    return Call("GET", path("desks", desk, "export"), lambda r: r.content, params=params, harmless=True, longer=590.0)


def reembed(desk: str, embedder: str, *, forget_vectors: bool = False) -> Call[Job]:
    """Embed all texts with another embedder in the background, then switch; the job that does it.

    Queries that came as vectors alone cannot follow: with `forget_vectors` they are let go as examples, and nothing is
    learned from the answers to those that wait.
    """
    body = {"embedder": embedder, "forget_vectors": forget_vectors}
    return Call("POST", path("desks", desk, "embedder"), one(Job), body=body)


def jobs(desk: str) -> Call[tuple[Job, ...]]:
    """Work in the background, the newest first."""
    return Call("GET", path("desks", desk, "jobs"), all_of(Job), harmless=True)


def job(desk: str, number: int) -> Call[Job]:
    """One job with its progress."""
    return Call("GET", path("desks", desk, "jobs", number), one(Job), harmless=True)


def cancel_job(desk: str, number: int) -> Call[Job]:
    """Stop a job; the desk keeps the embedder it has."""
    return Call("DELETE", path("desks", desk, "jobs", number), one(Job), harmless=True)


def webhooks(desk: str) -> Call[tuple[Webhook, ...]]:
    """The desk's webhooks, without their secrets."""
    return Call("GET", path("desks", desk, "webhooks"), all_of(Webhook), harmless=True)


def create_webhook(desk: str, url: str, kinds: Sequence[str] | None = None, secret: str | None = None) -> Call[Webhook]:
    """Have happenings of these kinds (all where None) sent to a URL. The secret is in the answer, this once."""
    body = {"url": url, "kinds": None if kinds is None else list(kinds), "secret": secret}
    body = {name: value for name, value in body.items() if value is not None}
    return Call("POST", path("desks", desk, "webhooks"), one(Webhook), body=body)


def delete_webhook(desk: str, number: int) -> Call[None]:
    """Delete a webhook; what was still to be sent to it is dropped."""
    return Call("DELETE", path("desks", desk, "webhooks", number), nothing)


def deliveries(
    desk: str, *, status: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Delivery]]:
    """What was sent to webhooks, is still to be sent ("pending"), or was given up ("dead"); the newest first."""
    params = {"status": status, "cursor": cursor, "limit": limit}
    return Call("GET", path("desks", desk, "deliveries"), page_of(Delivery), params=params, harmless=True)


def resend(desk: str, number: int) -> Call[Delivery]:
    """Send a delivery again, dead ones included."""
    return Call("POST", path("desks", desk, "deliveries", number, "resend"), one(Delivery))


def keys(desk: str) -> Call[tuple[Key, ...]]:
    """All keys, without their secrets."""
    return Call("GET", path("keys"), all_of(Key), harmless=True)


def create_key(desk: str, name: str, role: str, *, only: str | None = None) -> Call[Key]:
    """A new key, for one desk alone with `only`. The key itself is in the answer, this once."""
    return Call("POST", path("keys"), one(Key), body={"name": name, "role": role, "desk": only})


def revoke_key(desk: str, number: int) -> Call[None]:
    """Make a key worthless from now on."""
    return Call("DELETE", path("keys", number), nothing, harmless=True)
