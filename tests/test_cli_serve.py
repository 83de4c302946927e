"""`askless serve`: from nothing to an answered question, stopped and started again; what it refuses."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from askless.cli.main import main
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.ledger.database import Database
from askless.service.keys import Role, create_key, revoke_key

if TYPE_CHECKING:
    from postgres import Cluster

ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]
_PATIENCE = 120.0  # seconds until a server that says nothing is given up


@dataclass
class Served:
    """A server in a process of its own, and what it has said."""

    process: subprocess.Popen[bytes]
    out: Path
    log: Path

    @property
    def folder(self) -> Path:
        return self.out.parent / "work"

    @property
    def said(self) -> str:
        return self.out.read_text(encoding="utf-8")

    @property
    def address(self) -> str:
        found = re.search(r"http://\S+:\d+", self.said)
        assert found is not None
        return found[0]

    @property
    def key(self) -> str | None:
        found = re.search(r"First admin key.*: (ask_[\w-]+)", self.said)
        return None if found is None else found[1]

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not holds():
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            assert time.monotonic() < end, self.said
            time.sleep(0.05)

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=_PATIENCE)


@contextlib.contextmanager
def starting(folder: Path) -> Iterator[Callable[..., Served]]:
    """Starts `askless serve` in the folder's `work`, on a free port; what still runs is stopped at the end."""
    running: list[Served] = []
    (folder / "work").mkdir(exist_ok=True)

    def started(*arguments: str) -> Served:
        out, log = folder / f"out{len(running)}", folder / f"log{len(running)}"
        with out.open("wb") as o, log.open("wb") as e:
            command = [*ASKLESS, "serve", "--port", "0", *arguments]
            process = subprocess.Popen(command, cwd=folder / "work", stdout=o, stderr=e)
        running.append(Served(process, out, log))
        running[-1].until(lambda: "/queries" in running[-1].said)  # in the lines to paste, which come last
        return running[-1]

    try:
        yield started
    finally:
        for served in running:
            if served.process.poll() is None:
                served.process.kill()
                served.process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    with starting(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an empty desk, for the tests that leave it running."""
    with starting(tmp_path_factory.mktemp("plain")) as started:
        yield started()


def failed(folder: Path, *arguments: str) -> str:
    """What a start says that comes to nothing."""
    done = subprocess.run([*ASKLESS, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done.stdout
    return done.stderr


def refused(folder: Path, *arguments: str) -> str:
    """The one sentence of a start that is refused."""
    said = failed(folder, *arguments)
    assert said.count("\n") == 1, said
    return said


def askless(*arguments: str) -> tuple[int, str, str]:
    """Any other command, which ends by itself: how it leaves, and what it says."""
    with (
        pytest.raises(SystemExit) as left,
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        main([*arguments])
    return int(left.value.code or 0), out.getvalue(), err.getvalue()


def calling(address: str, key: str | None) -> httpx.Client:
    return httpx.Client(
        base_url=f"{address}/api/v1/desks/support/", headers={"Authorization": f"Bearer {key}"}, timeout=60
    )


def pasted(said: str, folder: Path) -> list[dict[str, Any]]:
    """What the lines to paste answer, run as they stand."""
    lines = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)], cwd=folder, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def test_from_nothing_to_an_answer_and_on_after_a_stop(start: Callable[..., Served], tmp_path: Path) -> None:
    first = start("--sample")
    asked, answered, guessed = pasted(first.said, tmp_path)
    assert (asked["status"], asked["ticket"]) == ("asked", 1)
    assert answered["outcome"]["answer"] == "We deliver to all of Europe within five days."
    assert (guessed["status"], guessed["label"]) == ("guessed", "delivery abroad")
    assert guessed["answer"] == answered["outcome"]["answer"]
    key = first.key
    assert f"Open the inbox: {first.address}/login#{key}\n" in first.said
    assert first.stop(signal.SIGINT) == 0
    assert first.said.endswith("askless: stopped; nothing was lost.\n")
    assert first.log.read_text(encoding="utf-8").count("askless: stopping ...\n") == 1
    assert "--json" not in first.said  # which an older curl does not know

    second = start("--sample")
    assert second.key is None
    assert "askless keys create NAME --role expert`" in second.said
    assert f"The inbox is at {second.address}/\n" in second.said
    assert "--sample changes nothing" in second.log.read_text(encoding="utf-8")
    assert "--database sample.db" in second.log.read_text(encoding="utf-8")
    with calling(second.address, key) as client:
        again = client.get(f"queries/{asked['id']}").json()
        assert (again["status"], again["label"]) == ("answered", "delivery abroad")
        assert client.post("queries", json={"text": "i forgot my password"}).json()["status"] == "guessed"
        assert client.post("queries", json={"id": "odd", "text": "zebra crossing"}).json()["status"] == "asked"
    waiting = threading.Thread(target=wait_for, args=(second.address, key, "odd"))
    waiting.start()
    time.sleep(0.5)  # until it waits; where it does not yet, the stop is only easier
    assert second.stop(signal.SIGTERM) == 0
    waiting.join(timeout=_PATIENCE)
    assert second.said.endswith("askless: stopped; nothing was lost.\n")
    assert "Traceback" not in second.log.read_text(encoding="utf-8")


def test_the_sample_goes_into_a_desk_that_is_empty_still(tmp_path: Path, start: Callable[..., Served]) -> None:
    with Database(tmp_path / "work" / "shop.db") as database:
        database.prepare()
        with Desks(database, listen=False) as desks:
            desks.create("support", LiveSettings(), "me")
        secret = create_key(database, "me", Role.ADMIN).secret
    served = start("--sample", "--database", "shop.db")
    assert "askless keys create NAME --role expert --database shop.db" in served.said
    asked, _, guessed = pasted(served.said.replace("KEY=...", f"KEY={secret}"), tmp_path)
    assert (asked["status"], guessed["status"]) == ("asked", "guessed")
    assert "--sample changes nothing" not in served.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("where", ["no-such-folder/askless.db", "postgresql://nobody@127.0.0.1:1/nothing"])
def test_a_database_that_cannot_be_used_at_the_start_is_not_to_be_tried_again(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = failed(tmp_path, "serve", "--port", "0", "--database", where)
    monkeypatch.chdir(tmp_path)
    code, _, made = askless("keys", "create", "anna", "--database", where)
    assert code == 2
    for said in (served, made):
        assert "not acknowledged" not in said
        assert "--database" in said
        assert "Traceback" not in said


def wait_for(address: str, key: str | None, id: str) -> None:
    with calling(address, key) as client, contextlib.suppress(httpx.HTTPError):
        client.get(f"queries/{id}", params={"wait": 60})


def test_an_empty_desk_a_key_and_no_texts_in_the_logs(plain: Served, tmp_path: Path) -> None:
    (outcome,) = pasted(plain.said, tmp_path)
    assert outcome["status"] == "asked"
    with calling(plain.address, None) as client:
        assert client.get("queries").status_code == 401
    plain.until(lambda: '"status": 401' in plain.log.read_text(encoding="utf-8"))
    log = plain.log.read_text(encoding="utf-8")
    assert "parcel" not in log
    requests = [json.loads(line) for line in log.splitlines() if '"request"' in line]
    assert requests
    assert all(line["request_id"] for line in requests)


def test_commands_work_on_a_running_servers_database(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def done(*arguments: str) -> str:
        code, out, err = askless(*arguments)
        assert code == 0, err
        return out.strip()

    monkeypatch.chdir(plain.folder)
    with calling(plain.address, plain.key) as client:
        done("desk", "pause", "support")
        assert client.post("queries", json={"text": "hello"}).status_code == 409
        done("desk", "resume", "support")
        assert client.post("queries", json={"text": "hello"}).status_code == 202
        with calling(plain.address, done("keys", "create", "anna", "--role", "expert")) as anna:
            assert anna.post("tickets/next").status_code == 200
            done("keys", "revoke", "anna")
            plain.until(lambda: anna.post("tickets/next").status_code == 401)


def test_several_processes_on_postgresql(postgres: Cluster, start: Callable[..., Served]) -> None:
    url = postgres.new()
    served = start("--workers", "2", "--database", url)
    assert f"`askless serve --port 8401 --database {url}` starts one beside this" in served.said
    assert (
        httpx.get(f"{served.address}/", timeout=60).status_code == 401
    )  # the API's answer: there are no pages to log in to
    with calling(served.address, served.key) as client:
        asked = [client.post("queries", json={"id": f"q{k}", "text": f"question {k}"}).json() for k in range(8)]
        assert [outcome["status"] for outcome in asked] == ["asked"] * 8
        children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
        assert len(children) >= 2  # the workers, and what Python needs to track them
        answered = client.post(f"tickets/{asked[0]['ticket']}/answer", json={"label": "a"}).json()
        for _ in range(8):  # whichever process takes it
            with calling(served.address, served.key) as other:
                assert other.get("queries/q0").json()["status"] == answered["outcome"]["status"] == "answered"
    assert served.stop(signal.SIGTERM) == 0
    assert served.said.endswith("askless: stopped; nothing was lost.\n")
    assert served.log.read_text(encoding="utf-8").count("askless: stopping ...\n") == 1  # not by each worker


def test_a_port_in_use_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = refused(tmp_path, "serve", "--port", port)
    assert f"Port {port} of 127.0.0.1 is in use" in said
    assert "--port" in said
    assert not list(tmp_path.iterdir())


def test_elsewhere_than_here_only_with_keys(tmp_path: Path, start: Callable[..., Served]) -> None:
    folder, elsewhere = tmp_path / "work", ("--host", "0.0.0.0", "--port", "0")
    assert "askless keys create NAME --role admin\n" in refused(folder, "serve", *elsewhere)
    named = refused(folder, "serve", "--database", "shop.db", *elsewhere)
    assert named.endswith("askless keys create NAME --role admin --database shop.db\n")
    assert not list(folder.iterdir())
    with Database(folder / "askless.db") as database:
        database.prepare()
        create_key(database, "old", Role.ADMIN)
        revoke_key(database, "old")
        assert "no keys" in refused(folder, "serve", *elsewhere)  # a revoked one lets nobody in
        secret = create_key(database, "me", Role.ADMIN).secret
    served = start(*elsewhere[:2])
    assert served.key is None
    with calling(served.address, secret) as client:
        assert client.get("queries").status_code == 200


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workers", "2"), "2 workers need PostgreSQL"),
        (("--host", "no.such.host.invalid"), "--host|keys"),
        (("--database", "mysql://x/y"), "mysql"),
    ],
)
def test_what_cannot_be_served_is_said_and_nothing_is_made(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert re.search(said, refused(tmp_path, "serve", "--port", "0", *arguments))
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from askless.cli.main import main; main(['serve'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'askless[serve]'" in done.stderr
    assert not list(tmp_path.iterdir())
