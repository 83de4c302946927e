"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from askless.errors import UnwritableFile


def write_whole(path: Path, contents: bytes) -> Path:
    """Write a file whole or not at all; its path."""
    with whole_file(path) as temporary:
        temporary.write_bytes(contents)
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; at the end, and only if all went well, it takes the path's place.

    So no reader and no crash meets half a file, and after an error what was there before is as it was. Through a
    link, the file that it points to is replaced, and the link stays.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".askless-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except OSError as error:
        if isinstance(error, UnwritableFile):
            raise
        raise UnwritableFile(
            f"Cannot write {path}: {error.strerror or error}. A file that was there before is as it was; mend the "
            "cause, or choose another place."
        ) from error
    finally:
        with suppress(OSError):  # gone already, or never made
            temporary.unlink()
