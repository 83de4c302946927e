"""`askless keys`: the secret is seen once, roles and desks hold, a slip in a name makes nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from askless.cli.main import app
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.errors import AsklessError, Conflicting, InvalidInput, Unknown
from askless.ledger.database import Database
from askless.service.keys import KeyRing, Role


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ASKLESS_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keys(*arguments: str, typed: str | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["keys", *arguments], input=typed)
    if isinstance(result.exception, AsklessError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def made(*arguments: str) -> str:
    """The key that `create` printed: the only line of its standard output."""
    return keys("create", *arguments).stdout.removesuffix("\n")


def found(secret: str, where: str = "askless.db") -> tuple[str, Role, str | None] | None:
    with Database(where) as database:
        caller = KeyRing(database).find(secret)
    return None if caller is None else (caller.name, caller.role, caller.desk)


def test_a_key_is_printed_alone_and_opens_what_it_says() -> None:
    secret = made("website")
    assert re.fullmatch(r"ask_[\w-]{32,}", secret)
    assert found(secret) == ("website", Role.CLIENT, None)
    assert found(secret[:-1]) is None
    assert found(made("anna", "--role", "expert")) == ("anna", Role.EXPERT, None)


def test_what_the_key_is_for_is_said_beside_it() -> None:
    assert "admin of all desks" in keys("create", "boss", "--role", "admin").stderr


def test_a_new_database_is_said_beside_the_key() -> None:
    first = keys("create", "one", "--database", "shop.db")
    assert "Made the database shop.db" in first.stderr
    assert re.fullmatch(r"ask_[\w-]{32,}\n", first.stdout)
    assert "Made the database" not in keys("create", "two", "--database", "shop.db").stderr


def test_a_key_of_one_desk(folder: Path) -> None:
    with Database(folder / "askless.db") as database, Desks(database, listen=False) as desks:
        database.prepare()
        desks.create("returns", LiveSettings(), "me")
    assert found(made("website", "--desk", "returns")) == ("website", Role.CLIENT, "returns")
    assert re.search(r"website .* client .* returns", keys("list").stdout)
    with pytest.raises(Unknown, match="no desk 'other'"):
        keys("create", "more", "--desk", "other")


def test_no_secret_is_kept_or_listed(folder: Path) -> None:
    secrets = [made("one"), made("two", "--role", "admin")]
    listed = keys("list").output
    kept = b"".join(path.read_bytes() for path in folder.iterdir())
    for secret in secrets:
        assert secret not in listed
        assert secret.encode() not in kept
        assert secret.removeprefix("ask_").encode() not in kept


def test_a_revoked_key_opens_nothing_and_keeps_its_name() -> None:
    secret = made("website")
    assert "Revoked the key website." in keys("revoke", "website").stdout
    assert found(secret) is None
    assert re.search(r"website .* revoked 20\d\d-", keys("list").stdout)
    with pytest.raises(Conflicting, match="There is, or was"):
        keys("create", "website")


def test_a_key_revoked_twice_is_told_so() -> None:
    made("website")
    keys("revoke", "website")
    assert re.search(r"website was revoked already, on 20\d\d-", keys("revoke", "website").stdout)


def test_the_last_admins_key_is_revoked_only_when_one_is_sure() -> None:
    first, second = made("first", "--role", "admin"), made("second", "--role", "admin")
    made("website")
    keys("revoke", "first")  # another admin is left
    asked = keys("revoke", "second", typed="n\n", code=1).output
    assert "last key of an admin" in asked
    assert "askless keys create NAME --role admin" in asked
    assert found(second) is not None
    keys("revoke", "second", "--yes")
    assert (found(first), found(second)) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("create", "x", "--role", "boss"), InvalidInput, "client, expert, admin"),
        (("create", " "), InvalidInput, "name"),
        (("revoke", "nobody"), Unknown, "askless keys list"),
    ],
)
def test_a_mistake_is_said(arguments: tuple[str, ...], error: type[AsklessError], said: str) -> None:
    made("first")
    with pytest.raises(error, match=said):
        keys(*arguments)


@pytest.mark.parametrize("arguments", [("list",), ("revoke", "x"), ("create", "x", "--desk", "d")])
def test_a_slip_in_the_database_makes_none(folder: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"no database 'typo\.db'"):
        keys(*arguments, "--database", "typo.db")
    assert not list(folder.iterdir())


def test_no_keys_are_listed_with_what_to_do(folder: Path) -> None:
    with Database(folder / "askless.db") as database:
        database.prepare()
    assert "askless keys create" in keys("list").stdout


def test_the_variable_names_the_database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLESS_DATABASE", "team.db")
    secret = made("website")
    assert found(secret, "team.db") is not None
    assert not (folder / "askless.db").exists()


def test_an_error_is_one_line_and_leaves_with_two(folder: Path) -> None:
    command = [sys.executable, "-c", "from askless.cli.main import main; main()", "keys", "list"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"askless: There is no database 'askless\.db'\..*\n", done.stderr)
