"""Downloads from a real server on this machine: whole, checked, or not at all."""

from __future__ import annotations

import hashlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from askless.datasets.catalogue import DATASETS, Dataset, fetch_dataset, load_dataset
from askless.datasets.fetch import NotFetched, RemoteFile, digest_file, fetch, verify
from askless.errors import UnreadableFile, UnwritableFile

BODY = b"text,category\r\n" + b"where is my card,arrival\r\n" * 10_000
SHA = hashlib.sha256(BODY).hexdigest()


class Server(BaseHTTPRequestHandler):
    """Answers by the last word of the path."""

    def do_GET(self) -> None:
        kind = self.path.rsplit("/", 1)[-1]
        if kind == "absent":
            self.send_error(404)
            return
        if kind == "silent":
            time.sleep(3)
            return
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", "/whole")
            self.end_headers()
            return
        self.send_response(200)
        if kind != "unmeasured":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if kind == "slow":
            for k in range(0, len(BODY), 1000):
                self.wfile.write(BODY[k : k + 1000])
                self.wfile.flush()
                time.sleep(0.05)
        elif kind == "changed":
            self.wfile.write(BODY[::-1])
        else:
            self.wfile.write(BODY[:1000] if kind == "truncated" else BODY)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.daemon_threads = True
        running.block_on_close = False
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["whole", "unmeasured", "moved"])
@pytest.mark.parametrize("sha256", [SHA, None])
def test_a_file_arrives_whole_with_its_digest_beside_it(
    tmp_path: Path, server: str, kind: str, sha256: str | None
) -> None:
    seen: list[tuple[int, int | None]] = []
    file = RemoteFile("set/train.csv", f"{server}/{kind}", sha256)
    path = fetch(file, tmp_path, lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "set" / "train.csv"
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), None if kind == "unmeasured" else len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert files_in(tmp_path) == ["set/train.csv", "set/train.csv.sha256"]
    check = subprocess.run(["sha256sum", "--check", "train.csv.sha256"], cwd=path.parent, capture_output=True)
    assert check.returncode == 0
    verify(path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("absent", "the server answered 404"),
        ("truncated", f"the connection broke {len(BODY) - 1000:,} bytes before the end"),
        ("changed", f"where {SHA} was expected"),
        ("silent", "said nothing for 0.5 seconds"),
    ],
)
def test_a_failed_download_says_what_to_put_where_and_leaves_nothing(
    tmp_path: Path, server: str, kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.datasets.fetch._SECONDS", 0.5)
    file = RemoteFile("set/train.csv", f"{server}/{kind}", SHA)
    with pytest.raises(NotFetched) as caught:
        fetch(file, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "set").mkdir()  # one that was there stays
    with pytest.raises(NotFetched) as caught:
        fetch(file, tmp_path)
    message = str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert words in message
    assert file.url in message
    assert f"put it at {tmp_path}/set/train.csv" in message
    assert "--data-dir" in message
    assert files_in(tmp_path) == []


def test_no_server_and_no_such_host(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(NotFetched, match=r"Connection refused\. Get that file in another way"):
        fetch(RemoteFile("train.csv", f"http://127.0.0.1:{port}/x"), tmp_path)
    with pytest.raises(NotFetched, match=r"Cannot fetch http://no-such-host\.invalid/x"):
        fetch(RemoteFile("train.csv", "http://no-such-host.invalid/x"), tmp_path)
    assert files_in(tmp_path) == []


def test_the_first_fetch_is_trusted_and_later_ones_must_equal_it(tmp_path: Path, server: str) -> None:
    fetch(RemoteFile("a.csv", f"{server}/whole"), tmp_path)
    with pytest.raises(NotFetched, match=f"where {SHA} was expected"):
        fetch(RemoteFile("a.csv", f"{server}/changed"), tmp_path)
    assert (tmp_path / "a.csv").read_bytes() == BODY  # the old one stays
    digest_file(tmp_path / "a.csv").unlink()
    fetch(RemoteFile("a.csv", f"{server}/changed"), tmp_path)
    assert (tmp_path / "a.csv").read_bytes() == BODY[::-1]


def test_a_file_that_has_changed_since_is_refused_and_one_put_there_by_hand_is_not(tmp_path: Path, server: str) -> None:
    path = fetch(RemoteFile("a.csv", f"{server}/whole", SHA), tmp_path)
    path.write_bytes(BODY[:-1])
    with pytest.raises(UnreadableFile, match=r"has changed since it was fetched.*--force"):
        verify(path)
    digest_file(path).unlink()
    verify(path)


def banking(server: str, kind: str = "whole", sha256: str | None = SHA) -> Dataset:
    files = [RemoteFile(f"banking77/{name}.csv", f"{server}/{kind}", sha256) for name in ("train", "test")]
    return replace(DATASETS["banking77"], files=tuple(files))


def test_a_data_set_is_fetched_once_and_then_read(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = banking(server)
    monkeypatch.setitem(DATASETS, "banking77", dataset)
    fetched = fetch_dataset(dataset, tmp_path)
    assert [path.name for path in fetched] == ["train.csv", "test.csv"]
    assert fetch_dataset(dataset, tmp_path) == []
    assert len(fetch_dataset(dataset, tmp_path, force=True)) == 2
    assert len(load_dataset("banking77", tmp_path)) == 20_000
    (tmp_path / "banking77" / "test.csv").unlink()
    assert [path.name for path in fetch_dataset(dataset, tmp_path)] == ["test.csv"]


def test_every_file_that_is_still_missing_is_named(tmp_path: Path, server: str) -> None:
    with pytest.raises(NotFetched) as caught:
        fetch_dataset(banking(server, "absent"), tmp_path)
    for name in ("train.csv", "test.csv"):
        assert str(tmp_path / "banking77" / name) in str(caught.value)


def test_a_file_in_the_way_of_the_folder(tmp_path: Path, server: str) -> None:
    (tmp_path / "set").write_text("not a folder")
    with pytest.raises(UnwritableFile, match="--data-dir"):
        fetch(RemoteFile("set/a.csv", f"{server}/whole"), tmp_path)


def test_an_interrupt_leaves_no_half_file(tmp_path: Path, server: str) -> None:
    code = (
        "import sys; from pathlib import Path; from askless.datasets.fetch import RemoteFile, fetch\n"
        f"fetch(RemoteFile('a.csv', '{server}/slow'), Path(sys.argv[1]), lambda *_: print('on', flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()  # some of it has come
        assert len(files_in(tmp_path)) == 1
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    assert files_in(tmp_path) == []
