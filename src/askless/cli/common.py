"""What several commands need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from askless.types import Policy

DEFAULT_POLICY = "self-tuning"  # where the user names none


def console() -> Console:
    """The standard output; wide enough for a table where it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def output_folder(path: Path) -> Path:
    """The folder, made where it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"Cannot use the folder {str(path)!r}: {error.strerror}. Choose another with --out."
        ) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InvalidInput(f"Cannot write to the folder {str(path)!r}. Choose another with --out.")
    return path


def refuse_foreign_files(folder: Path, names: Sequence[str], mark: str, begins: bytes, maker: str) -> None:
    """Refuse to write over files of these names, unless the one called `mark` shows that `maker` wrote them.

    That one is known by how it begins, the names of its columns: plots of different commands have one name, and nothing
    in a plot says whose it is.
    """
    path = folder / mark
    if path.is_file():
        try:
            with path.open("rb") as file:
                if file.read(len(begins)) == begins:
                    return
        except OSError:
            pass  # what cannot be read is not known to be ours
    there = [name for name in names if os.path.lexists(folder / name)]
    if there:
        listed = " and ".join(filter(None, (", ".join(there[:-1]), there[-1])))
        raise InvalidInput(
            f"The folder {str(folder)!r} has {listed}, which no {maker} wrote; choose another with --out."
        )


def named_policy(spec: str, **defaults: Any) -> Policy:
    """The policy of that name; `module:Class` may lie in the working folder."""
    allow_own_modules()
    from askless.policies.named import make_policy

    return make_policy(spec, **defaults)


def allow_own_modules() -> None:
    """Let `module:Class` name a policy of the user's own that lies in the working folder."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # at the end, so that no file there can hide an installed package
