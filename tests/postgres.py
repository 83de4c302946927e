"""A PostgreSQL server for tests: started from the binaries on this machine, in a folder of its own, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import psycopg

SETTINGS = {
    "fsync": "off",  # processes are killed in these tests, never the machine
    "max_connections": "200",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
}

# Reads until the process that holds the other end of its standard input closes it or dies, in whatever way.
WATCH = 'cat >/dev/null; "$@" -m immediate stop >/dev/null 2>&1; rm -rf "$FOLDER"'


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl: Debian's newest, or the one on the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda f: float(f.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.append(Path(on_path).resolve().parent)
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


class Cluster:
    """A server on a free loopback port and on a socket in its folder. It lets everybody on this machine in.

    The server refuses to run as root; then it runs as the user postgres, or nobody. A watching process stops it and
    removes its folder as soon as this process is gone, even where that is killed.
    """

    def __init__(self, bin: Path) -> None:
        self._bin = bin
        self.folder = Path(tempfile.mkdtemp(prefix="askless-pg-", dir=_place()))
        self._names = count(1)
        self._as: list[str] = []
        self._watch: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            user = next(entry.pw_name for entry in pwd.getpwall() if entry.pw_name in ("postgres", "nobody"))
            shutil.chown(self.folder, user)
            self._as = ["runuser", "-u", user, "--"]
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        data = str(self.folder / "data")
        self._control = [*self._as, str(self._bin / "pg_ctl"), "-D", data, "-w", "-t", "60"]
        self._run(
            [*self._as, str(self._bin / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"]
        )
        self._watch = subprocess.Popen(
            ["sh", "-c", WATCH, "watch", *self._control],
            stdin=subprocess.PIPE,
            cwd="/",
            env=os.environ | {"FOLDER": str(self.folder)},
            start_new_session=True,  # an interrupt at the terminal is for the tests
        )
        for attempt in range(5):
            self.port = _free_port()
            try:
                self.start()
            except subprocess.CalledProcessError:  # another took the port in the meantime
                if attempt == 4:
                    raise
            else:
                return

    def start(self) -> None:
        """Start the server; returns once it takes connections."""
        options = {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        line = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._run([*self._control, "-l", str(self.folder / "log"), "-o", line, "start"])

    def stop(self, how: str = "immediate") -> None:
        """Stop the server: "immediate" is like pulling the plug, "fast" ends its connections properly."""
        self._run([*self._control, "-m", how, "stop"])

    def restart(self, how: str = "fast") -> None:
        """Stop the server and start it on the same port."""
        self.stop(how)
        self.start()

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if self._watch is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        if self._watch.stdin is not None:
            self._watch.stdin.close()
        self._watch.wait(60)

    def new(self, template: str = "template1") -> str:
        """The address of a fresh database: an empty one, or a copy of another that nobody is connected to."""
        name = f"askless_{next(self._names)}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected to it."""
        self.execute(f'DROP DATABASE IF EXISTS "{url.rsplit("/", 1)[1]}" WITH (FORCE)')

    def url(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str, name: str = "postgres") -> None:
        """Run one statement by itself."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, command: list[str]) -> None:
        # Into a file, not a pipe: the server would inherit it and keep it open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", check=False)
            if done.returncode:
                output.seek(0)
                raise subprocess.CalledProcessError(done.returncode, command, output.read())


def _place() -> str:
    """In memory where there is plenty, or on the disk; a short path either way, as that of a socket must be."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 4e9 else "/tmp"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Return once the function gives something true; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {seconds} s")
        time.sleep(0.02)
