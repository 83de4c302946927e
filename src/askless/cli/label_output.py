"""Where the labelled file goes, and that nothing of the user's is lost there."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.errors import AsklessError, InvalidInput

if TYPE_CHECKING:
    from askless.cli.label_rows import Rows
    from askless.desk.desk import Desk


def default_output(file: Path) -> Path:
    """tickets.csv -> tickets.labelled.csv, in the same folder."""
    ends = [file.suffix] if file.suffix.lower() != ".gz" else file.suffixes[-2:]
    end = "".join(ends)
    return file.with_name(f"{file.name.removesuffix(end)}.labelled{end}")


def check_place(path: Path, option: str, beside: str = "") -> None:
    """Refuse, now and not after the work, a place where no file can be made, or none with `beside` after its name."""
    try:
        os.stat(f"{path}{beside}")  # Path.exists says nothing of long names from Python 3.14 on
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InvalidInput(
                f"The name {path.name[:40]}... is too long for this file system; choose a shorter one with {option}."
            ) from None
    folder = path.parent
    if not _is_folder(folder):
        raise InvalidInput(f"There is no folder {str(folder)!r} for {path.name}; make it, or change {option}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"Cannot write to the folder {str(folder)!r}. Choose another place with {option}.")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder, and this is to be a file. Choose another name with {option}.")


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, as far as can be told: one that lies in a folder that may not be entered is."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


class Output:
    """A file to write the labels to, checked before the first question is put.

    One that this ledger, or the one that it replaces, wrote and nobody has changed since is replaced; any other that
    is there is left alone, unless `force` says otherwise.
    """

    def __init__(self, path: Path, source: Path, force: bool) -> None:
        from askless.datasets.tables import format_of

        check_place(path, "--out")
        format_of(path)
        if path.exists() and path.samefile(source):
            raise InvalidInput(
                f"--out {path} is the file that is read; choose another name, so that it stays as it is."
            )
        self.path, self._force = path, force
        self._inherited: list[dict[str, Any]] = []

    def inherit(self, exports: Iterable[dict[str, Any]]) -> None:
        """Take what the ledger that is replaced wrote for this one's own."""
        self._inherited = list(exports)

    def check(self, desk: Desk) -> None:
        """Refuse to replace what this ledger did not write."""
        if self._force or not self.path.exists():
            return
        digests = {e["sha256"] for e in [*self._inherited, *desk.book.exports()] if e["path"] == self._name}
        if not digests:
            raise InvalidInput(
                f"{self.path} exists, and this ledger did not write it. Choose another name with --out, or replace it "
                "with --force."
            )
        if _digest(self.path) not in digests:
            raise InvalidInput(
                f"{self.path} was changed since askless wrote it. Move it away or choose another name with --out, or "
                "replace it with --force."
            )

    def failure(self, rows: Rows, desk: Desk, label_column: str) -> AsklessError | None:
        """Write the labelled file; the error that stood against it, which waits until the person knows the rest."""
        try:
            self.write(rows, desk, label_column)
        except AsklessError as error:
            return error
        return None

    def write(self, rows: Rows, desk: Desk, label_column: str) -> None:
        """Write the labelled file whole, and record that this ledger did."""
        from askless.cli.label_rows import labelled
        from askless.datasets.tables import write_contents
        from askless.datasets.whole import whole_file

        with whole_file(self.path) as temporary:
            self.check(desk)
            write_contents(labelled(rows, desk, label_column), temporary, self.path, rows.table)
            desk.exported(self._name, _digest(temporary))  # before the file is there, so that it is known as ours

    @property
    def _name(self) -> str:
        return str(self.path.resolve())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
