"""API keys and the sessions of browsers: made, found, revoked. Only hashes of secrets are kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from askless.desk.live.desk import find_desk
from askless.errors import Conflicting, InvalidInput, Unknown
from askless.ledger import schema
from askless.ledger.database import Database

_MOST_CACHED = 10_000
_LONGEST_NAME = 100


class Role(StrEnum):
    """What a key may do; each may do what the ones before it may."""

    CLIENT = "client"  # submit queries and read what became of them
    EXPERT = "expert"  # answer tickets; labels, examples, statistics
    ADMIN = "admin"  # desks, keys, webhooks, export, erasure

    @property
    def rank(self) -> int:
        """Higher may do more."""
        return list(Role).index(self)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as it may be shown. `desk` is the name of the only desk it opens, or None for all."""

    id: int
    name: str
    role: Role
    desk: str | None
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: the only time that its secret is seen."""

    secret: str
    row: KeyRow


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request. `session` where a cookie, not a key, says so."""

    name: str
    role: Role
    desk: str | None = None
    key: int | None = None
    session: bool = False

    def may(self, role: Role) -> bool:
        """Whether that role's acts are allowed."""
        return self.role.rank >= role.rank

    def sees(self, desk: str) -> bool:
        """Whether the desk exists for this caller."""
        return self.desk is None or self.desk == desk


def hashed(secret: str) -> str:
    """What is stored of a secret.

    A plain SHA-256: the secrets are 256 random bits, which nobody can guess however fast the hash. Slow hashes are for
    passwords that people think of; here one would only slow every request down. The lookup is by this hash, so that
    its time tells nothing of a secret.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def create_key(database: Database, name: str, role: Role | str, desk: str | None = None) -> NewKey:
    """Make a key; its secret is returned once and never kept."""
    name = name.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A key's name has 1 to {_LONGEST_NAME} printable characters; {name!r} does not.")
    if role not in list(Role):
        raise InvalidInput(f"There is no role {str(role)!r}; choose one of {', '.join(Role)}.")
    secret = "ask_" + secrets.token_urlsafe(32)
    with database.write() as connection:
        if connection.execute(select(schema.keys.c.id).where(schema.keys.c.name == name)).first():
            raise Conflicting(f"There is, or was, a key named {name!r}. Choose another name.")
        connection.execute(
            insert(schema.keys).values(
                name=name,
                role=str(role),
                desk=None if desk is None else find_desk(connection, desk).id,
                hash=hashed(secret),
                created_at=datetime.now(UTC),
            )
        )
        row = _key_row(connection.execute(_keys().where(schema.keys.c.name == name)).one())
    return NewKey(secret, row)


def list_keys(database: Database) -> list[KeyRow]:
    """All keys, revoked ones included, oldest first."""
    with database.read() as connection:
        return [_key_row(row) for row in connection.execute(_keys().order_by(schema.keys.c.id))]


def find_key(database: Database, key: str | int) -> KeyRow:
    """The key of that name or number."""
    with database.read() as connection:
        return _key_row(_found(connection, key))


def is_last_admin(database: Database, key: KeyRow) -> bool:
    """Whether this is the only key in force of an admin of all desks, who alone can make keys over HTTP."""
    admins = [
        row.id for row in list_keys(database) if row.role is Role.ADMIN and row.desk is None and row.revoked_at is None
    ]
    return admins == [key.id]


def revoke_key(database: Database, key: str | int) -> KeyRow:
    """Revoke the key of that name or number, and end its sessions. A revoked one stays as it is."""
    with database.write() as connection:
        found = _found(connection, key)
        if found.revoked_at is None:
            change = update(schema.keys).where(schema.keys.c.id == found.id)
            connection.execute(change.values(revoked_at=datetime.now(UTC)))
        connection.execute(delete(schema.sessions).where(schema.sessions.c.key == found.id))
        return _key_row(connection.execute(_keys().where(schema.keys.c.id == found.id)).one())


def has_keys(database: Database) -> bool:
    """Whether any key is in force."""
    with database.read() as connection:
        return (
            connection.execute(select(schema.keys.c.id).where(schema.keys.c.revoked_at.is_(None))).first() is not None
        )


class KeyRing:
    """Finds who holds a secret. What it found is trusted for at most `keep` seconds; a miss is never kept."""

    def __init__(self, database: Database, keep: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._keep = keep
        self._clock = clock
        self._found: dict[tuple[str, bool], tuple[float, Caller]] = {}

    def remembered(self, secret: str, *, session: bool = False) -> Caller | None:
        """The caller, where it was found a moment ago; never waits."""
        known = self._found.get((hashed(secret), session))
        return known[1] if known is not None and known[0] > self._clock() else None

    def find(self, secret: str, *, session: bool = False) -> Caller | None:
        """The caller by the database."""
        digest = hashed(secret)
        began = self._clock()
        with self._database.read() as connection:
            row = connection.execute(_session_keys(digest) if session else _secret_keys(digest)).first()
        if row is None:
            self._found.pop((digest, session), None)
            return None
        caller = Caller(row.name, Role(row.role), row.desk_name, row.id, session)
        if len(self._found) >= _MOST_CACHED:
            self._found.clear()
        self._found[digest, session] = (began + self._keep, caller)
        return caller

    def forget(self) -> None:
        """Ask the database again from now on: a key was revoked, or a session ended."""
        self._found.clear()

    def any_keys(self) -> bool:
        """Whether any key is in force."""
        return has_keys(self._database)

    def log_in(self, caller: Caller, seconds: int) -> str:
        """Begin a session of the caller's key: the secret for its cookie. Sessions that are over are swept away."""
        token = secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        with self._database.write() as connection:
            connection.execute(delete(schema.sessions).where(schema.sessions.c.expires_at < now))
            connection.execute(
                insert(schema.sessions).values(
                    key=caller.key, hash=hashed(token), created_at=now, expires_at=now + timedelta(seconds=seconds)
                )
            )
        return token

    def log_out(self, token: str) -> None:
        """End the session, where there is one."""
        with self._database.write() as connection:
            connection.execute(delete(schema.sessions).where(schema.sessions.c.hash == hashed(token)))
        self.forget()


def _found(connection: Connection, key: str | int) -> Any:
    column = schema.keys.c.id if isinstance(key, int) else schema.keys.c.name
    found = connection.execute(_keys().where(column == key)).first()
    if found is None:
        raise Unknown(f"There is no key {key!r}; `askless keys list` shows them.")
    return found


def _keys() -> Select[Any]:
    return select(schema.keys, schema.desks.c.name.label("desk_name")).select_from(
        schema.keys.outerjoin(schema.desks, schema.desks.c.id == schema.keys.c.desk)
    )


def _secret_keys(digest: str) -> Select[Any]:
    return _keys().where(schema.keys.c.hash == digest, schema.keys.c.revoked_at.is_(None))


def _session_keys(digest: str) -> Select[Any]:
    return (
        _keys()
        .join(schema.sessions, schema.sessions.c.key == schema.keys.c.id)
        .where(
            schema.sessions.c.hash == digest,
            schema.sessions.c.expires_at > datetime.now(UTC),
            schema.keys.c.revoked_at.is_(None),
        )
    )


def _key_row(row: Any) -> KeyRow:
    return KeyRow(row.id, row.name, Role(row.role), row.desk_name, row.created_at, row.revoked_at)
