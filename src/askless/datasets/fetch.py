"""Files fetched from where their makers publish them: whole or not at all, with a checksum."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from askless.datasets.whole import whole_file
from askless.errors import AsklessError, UnreadableFile, UnwritableFile

Progress: TypeAlias = Callable[[int, int | None], None]  # bytes so far, and in all where that is known
_BLOCK = 1 << 16
_SECONDS = 30.0  # of silence before a server counts as gone


class NotFetched(AsklessError):
    """A download that failed; the message says which file to put where."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a data set: its place under the data folder, its public home, and its SHA-256 where that is known."""

    path: str
    url: str
    sha256: str | None = None


def digest_file(path: Path) -> Path:
    """Where the SHA-256 of a fetched file is kept, in the form that `sha256sum --check` reads."""
    return path.with_name(f"{path.name}.sha256")


def recorded_digest(path: Path) -> str | None:
    """The SHA-256 a file had when it was fetched; None for one that was put there by hand."""
    try:
        words = digest_file(path).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return None
    return words[0] if words else None


def verify(path: Path) -> None:
    """Refuse a file that is no longer what was fetched."""
    recorded = recorded_digest(path)
    if recorded is None:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != recorded:
        raise UnreadableFile(
            f"{path} has changed since it was fetched (its SHA-256 was {recorded[:12]}..., and is {found[:12]}...): "
            f"fetch it again with --force, or delete {digest_file(path).name} beside it if you changed it yourself."
        )


def fetch(file: RemoteFile, folder: Path, progress: Progress | None = None) -> Path:
    """Download a file to its place under `folder`, or raise NotFetched and leave everything as it was.

    What arrives must have the known SHA-256. Where none is known the first fetch is trusted, and its SHA-256, written
    beside the file, is what every later one must have.
    """
    target = folder / file.path
    expected = file.sha256 or recorded_digest(target)
    with _new_folder(target.parent), whole_file(target) as temporary:
        try:
            found = _download(file, temporary, progress)
        except (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, TimeoutError, ConnectionError) as error:
            raise NotFetched(_failure(file, target, _reason(error))) from error
        if expected is not None and found != expected:
            raise NotFetched(
                _failure(file, target, f"its SHA-256 is {found}, where {expected} was expected; it is not that file")
            )
    with whole_file(digest_file(target)) as temporary:
        temporary.write_text(f"{found}  {target.name}\n", encoding="ascii")
    return target


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """The folder, made where it is missing; after an error what was made is gone again."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnwritableFile(
                f"Cannot make the folder {folder}: {error.strerror or error}. Choose another with --data-dir."
            ) from error
        yield
    except BaseException:
        with suppress(OSError):  # never made, or no longer empty
            for one in missing:
                one.rmdir()
        raise


def _download(file: RemoteFile, target: Path, progress: Progress | None) -> str:
    """Write what the server sends, and return its SHA-256."""
    request = urllib.request.Request(file.url, headers={"User-Agent": "askless"})
    digest = hashlib.sha256()
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer, target.open("wb") as out:
        length = answer.headers.get("Content-Length")
        total = int(length) if length is not None and length.isdigit() else None
        done = 0
        while block := answer.read(_BLOCK):
            out.write(block)
            digest.update(block)
            done += len(block)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise http.client.IncompleteRead(b"", total - done)
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it holds the connection
        return f"the server answered {error.code} ({error.reason})"
    if isinstance(error, http.client.IncompleteRead):
        return f"the connection broke {error.expected:,} bytes before the end"
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return f"the server said nothing for {_SECONDS:g} seconds"
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner or type(error).__name__)


def _failure(file: RemoteFile, target: Path, reason: str) -> str:
    return (
        f"Cannot fetch {file.url}: {reason}. Get that file in another way and put it at {target.absolute()}, or name "
        "the folder that holds it with --data-dir; then run the same command again."
    )
