"""A file of text, opened in its encoding: plain or gzip-compressed, with a byte order mark or without."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from askless.errors import InvalidInput, UnreadableFile

STDIN = Path("-")
_MARKS = (  # the longer first: a UTF-32 mark begins with a UTF-16 one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN = (
    (b"PK\x03\x04", "an Excel file or another zip archive", "give it the ending .xlsx, or save it as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old or protected Excel file", "open it in Excel and save it as .xlsx or CSV"),
    (b"PAR1", "a Parquet file", "give it the ending .parquet"),
    (b"%PDF", "a PDF", "save its table as CSV"),
    (b"\x1f\x8b", "a gzip archive inside another", "unpack it once"),
)
_LIKELY = ["cp1250", "cp1251", "cp1253", "cp1256", "shift_jis", "gb18030", "big5", "euc_kr", "koi8_r"]
_SAMPLE = 1 << 16
_DOUBT = 0.45  # of charset-normalizer's measure of mess, which is high for one line with many accents


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from, as often as they are wanted; `name` is what messages call it."""

    path: Path
    name: str
    contents: bytes | None = None  # of the standard input, which can be read once only

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes from the beginning, unpacked where they are gzip-compressed."""
        try:
            with io.BytesIO(self.contents) if self.contents is not None else self.path.open("rb") as file:
                packed = file.read(2) == b"\x1f\x8b"
                file.seek(0)
                # GzipFile does all that a BinaryIO does here, without saying so.
                yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UnreadableFile(
                f"Cannot unpack {self.name}: it is truncated or damaged ({error}). Fetch or pack it again."
            ) from error
        except IsADirectoryError:
            raise UnreadableFile(f"Cannot read {self.name}: it is a folder; name a file in it.") from None
        except FileNotFoundError:
            raise UnreadableFile(f"Cannot read {self.name}: No such file; check its name and folder.") from None
        except PermissionError:
            raise UnreadableFile(f"Cannot read {self.name}: you have no permission to read it.") from None


def origin_of(path: Path) -> Origin:
    """The file, or the standard input for `-`."""
    if path == STDIN:
        return Origin(path, "the standard input", sys.stdin.buffer.read())
    return Origin(path, str(path))


@contextmanager
def open_text(origin: Origin, encoding: str | None = None) -> Iterator[tuple[TextIO, str]]:
    """The text of a file, its line ends as they are, and the name of its encoding.

    A byte order mark says the encoding; without one it is UTF-8 unless `encoding` names another.
    """
    with origin.open() as raw:
        start = raw.read(4)
        raw.seek(0)
        _refuse_foreign(start, origin.name)
        known = _encoding(start, encoding)
        try:
            text = io.TextIOWrapper(raw, encoding=known, newline="")
        except LookupError:
            raise InvalidInput(f"There is no encoding {encoding!r}; try utf-8, cp1252 or utf-16.") from None
        with text:
            try:
                yield text, known
            except UnicodeDecodeError as error:
                raise UnreadableFile(_not_in(origin, known, error)) from None


def _refuse_foreign(start: bytes, name: str) -> None:
    for mark, what, remedy in _FOREIGN:
        if start.startswith(mark):
            raise UnreadableFile(f"{name} is not text but {what}: {remedy}.")


def _encoding(start: bytes, wanted: str | None) -> str:
    found = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    plain = (wanted or "utf-8").lower().replace("_", "-")
    if found is not None and plain.split("-")[0] in ("utf", "utf8", "utf16", "utf32"):
        return found
    return wanted or "utf-8"


def _not_in(origin: Origin, encoding: str, error: UnicodeDecodeError) -> str:
    line, sample = _first_undecodable(origin, encoding)
    where = f"line {line} of {origin.name}" if line else origin.name
    byte = error.object[error.start]
    likely = _likely_encoding(sample, encoding)
    remedy = f"if it is {likely}, say --encoding {likely}" if likely else "name its encoding with --encoding"
    return f"Cannot read {where}: the byte 0x{byte:02x} there is not {encoding}; {remedy}, or save it as UTF-8."


def _first_undecodable(origin: Origin, encoding: str) -> tuple[int, bytes]:
    """The first line that is not in the encoding, from 1, or 0 where it cannot be told; and lines like it."""
    first, sample = 0, bytearray()
    if encoding.lower().startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return first, b""
    with origin.open() as raw:
        for number, line in enumerate(raw, start=1):
            if line.isascii():
                continue
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                first = first or number
                sample += line
            if len(sample) >= _SAMPLE:
                break
    return first, bytes(sample[:_SAMPLE])


def _likely_encoding(sample: bytes, known: str) -> str | None:
    """The encoding in which the sample reads like a language, where one can be told; first of all Windows' own.

    In few lines of a western language cp1250 and cp1252 score alike, and the second is far more frequent.
    """
    from charset_normalizer import from_bytes

    if b"\0" in sample:
        return "utf-16"
    for candidates in (["cp1252"], _LIKELY):
        best = from_bytes(sample, cp_isolation=candidates, threshold=_DOUBT).best() if sample else None
        if best is not None and best.encoding != known:
            return best.encoding
    return None
