"""What a service is set to: limits, logs, who may call."""

from __future__ import annotations

import ipaddress
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.ledger.database import Database

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The settings of one service; every one has a default that is safe on a machine reached by others.

    `open` lets callers on the same machine in without a key for as long as the database holds none.
    `rate` is in requests a second for each key, counted over `burst_seconds`; None turns it off. Each process counts
    for itself.
    """

    open: bool = False
    max_body: int = 4 * MEBIBYTE  # the longest text, each of its characters escaped
    max_bulk_body: int = 32 * MEBIBYTE  # of batches and imports
    max_streams: int = 1000  # long polls and event streams at a time
    rate: float | None = 200.0
    burst_seconds: int = 10
    session_seconds: int = 12 * 3600
    key_cache_seconds: float = 1.0  # how long another process's revocation of a key may go unseen
    readers: int = 8  # threads that read from the database
    heartbeat_seconds: float = 15.0  # of event streams
    log_requests: bool = True
    log_texts: bool = False  # puts the texts of queries into the logs
    deliver_webhooks: bool = True
    pages: bool = False  # the inbox and the dashboard; one service of a process can have them

    def __post_init__(self) -> None:
        for name in ("max_body", "max_bulk_body", "max_streams", "burst_seconds", "session_seconds", "readers"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.rate is not None and not self.rate > 0:
            raise InvalidInput(
                f"rate is {self.rate}; give a number of requests a second above 0, or None for no limit."
            )
        if not 0 <= self.key_cache_seconds <= 1:
            raise InvalidInput(f"key_cache_seconds is {self.key_cache_seconds}; it must lie between 0 and 1.")


def is_loopback(host: str | None) -> bool:
    """Whether the address is this machine's own."""
    if host is None:
        return False
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def check_host(host: str, database: Database) -> None:
    """Refuse to listen where others can call while nobody needs a key."""
    from askless.service.keys import has_keys

    if not is_loopback(host) and not has_keys(database):
        raise InvalidInput(
            f"Listening on {host} would let everyone who reaches it in: the database has no keys. "
            f"Make one first: askless keys create NAME --role admin{database_option(database.name)}"
        )


def database_option(name: str) -> str:
    """What a command needs after it to work on the database of that name; nothing for the default one."""
    return "" if name == "askless.db" else f" --database {shlex.quote(name)}"
