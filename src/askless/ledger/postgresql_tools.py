"""PostgreSQL's own programs, pg_dump and pg_restore: a ledger to a file and back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from sqlalchemy import URL

from askless.errors import MissingExtra, Unavailable, UnreadableFile
from askless.ledger import schema
from askless.ledger.database import Database
from askless.ledger.upgrade import VERSION_TABLE, refuse_newer

_DEBIAN = Path("/usr/lib/postgresql")
_OPTIONS = ("--no-owner", "--no-privileges")  # whoever restores it owns it


def dump(database: Database, path: Path) -> None:
    """Write the ledger's tables to an archive, as they are at one moment; others go on with their work."""
    tables = [f"--table={name}" for name in (*schema.metadata.tables, VERSION_TABLE)]
    done = _run([_tool("pg_dump"), "--format=custom", *_OPTIONS, *tables, f"--file={path}"], database)
    if done.returncode:
        raise Unavailable(f"The backup of {database.name} was not made: {_said(done)}")


def load(path: Path, database: Database) -> None:
    """Make the tables of an archive in a database that has none of them: all or nothing."""
    done = _run([_tool("pg_restore"), "--single-transaction", "--exit-on-error", *_OPTIONS, str(path)], database)
    if done.returncode:
        raise Unavailable(f"The backup {path} was not restored, and {database.name} is as it was: {_said(done)}")


def check(path: Path, where: str) -> None:
    """Read an archive to its end; refuse one that is damaged or cut short, of something else, or of a newer askless."""
    for wanted, to in ((f"--table={VERSION_TABLE}", "-"), ("--no-owner", os.devnull)):
        done = _run([_tool("pg_restore"), wanted, f"--file={to}", str(path)])
        if done.returncode:
            raise UnreadableFile(f"{where} is damaged: {_said(done)}; use another backup.")
        if to == "-":
            version = re.search(r"^COPY [^\n]*\n(\d{4})$", done.stdout, re.MULTILINE)
            if version is None:
                raise UnreadableFile(f"{where} is an archive of another database, no backup of a ledger of askless.")
            refuse_newer(int(version[1]), where)


def _run(command: list[str], database: Database | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program. The password goes by the environment, where other users of the machine cannot read it."""
    env = dict(os.environ)
    if database is not None:
        url = database.url
        plain = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
        command = [*command, f"--dbname={plain.render_as_string()}"]
        if url.password is not None:
            env["PGPASSWORD"] = str(url.password)
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """What a program that failed said, on one line."""
    return " ".join(done.stderr.split()).rstrip(".") or f"exit code {done.returncode}"


def _tool(name: str) -> str:
    """The newest that Debian has, or the one on the path: a server refuses programs that are older than itself."""
    folders = (folder for folder in _DEBIAN.glob("*/bin") if folder.parent.name.isdecimal())
    for folder in sorted(folders, key=lambda folder: int(folder.parent.name), reverse=True):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        raise MissingExtra(
            f"Backups of PostgreSQL are made by its own {name}, which is not on this machine: apt-get install "
            "postgresql-client."
        )
    return found
