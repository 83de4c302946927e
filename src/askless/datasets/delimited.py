"""CSV and TSV, row by row: nothing converted, and a row that does not fit named by its line."""

from __future__ import annotations

import csv
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

from askless.errors import UnreadableFile

SEPARATORS = (",", ";", "\t", "|")  # where two are as frequent in the header, the first
LEFT_OUT = "leave the row out, as askless label does with --skip-bad-rows"
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


class Broken(NamedTuple):
    """A row that was set aside: the line it starts on, from 1, and its text as found."""

    line: int
    raw: str


class Rows(NamedTuple):
    """The columns' names, the rows under them, what was set aside, and what separates the fields."""

    columns: list[str]
    rows: list[list[str]]
    broken: list[Broken]
    separator: str


class _Lines:
    """The lines of a text, counted; those of the row being read are kept, and can be given back."""

    def __init__(self, text: TextIO, name: str) -> None:
        self._text, self._name = text, name
        self._again: deque[str] = deque()
        self.row: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._text)
        self.row.append(line)
        self.number += 1
        if "\0" in line:
            raise UnreadableFile(
                f"Line {self.number} of {self._name} holds a NUL byte, which no text has: the file is damaged, or in "
                "another encoding (if it is UTF-16, say --encoding utf-16)."
            )
        return line

    def give_back(self, after: int = 0) -> None:
        """Let all lines of the row but the first few be read anew."""
        again = self.row[after:]
        self._again.extendleft(reversed(again))
        self.number -= len(again)
        del self.row[after:]


def read_rows(text: TextIO, name: str, separator: str | None, skip_broken: bool) -> Rows:
    """All rows of a text whose first row has the columns' names; blank lines are left out.

    A row has as many fields as the header; more are fine where the surplus is empty. With `skip_broken` a row that
    does not fit is set aside, else the first one is an error. A quote that is never closed breaks the line it is on.
    """
    lines = _Lines(text, name)
    header = _first_line(lines)
    if header is None:
        raise UnreadableFile(f"{name} is empty: expected a first line with the columns' names and a text a row below.")
    separator, said_so = _separator(header, separator)
    lines.row = [] if said_so else [header]
    lines.give_back()
    with _long_fields():
        columns, rows, broken = _read(lines, name, separator, skip_broken)
    return Rows(columns, rows, broken, separator)


def _first_line(lines: _Lines) -> str | None:
    return next((line for line in lines if line.strip()), None)


def _separator(header: str, wanted: str | None) -> tuple[str, bool]:
    """What separates the fields, and whether the line only says so, as Excel's `sep=;` does."""
    said = re.fullmatch(r"sep=(.)\s*", header)
    if said:
        return wanted or said[1], True
    outside = re.sub(r'"[^"]*"', "", header)
    return wanted or max(SEPARATORS, key=outside.count), False


@contextmanager
def _long_fields() -> Iterator[None]:
    """Fields of any length: the csv module stops at 131,072 characters unless told otherwise."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read(
    lines: _Lines, name: str, separator: str, skip_broken: bool
) -> tuple[list[str], list[list[str]], list[Broken]]:
    columns: list[str] = []
    rows: list[list[str]] = []
    broken: list[Broken] = []
    for line, fields, raw, problem in _records(lines, separator):
        problem = problem or (_misfit(fields, columns, separator) if columns else None)
        if problem is not None:
            if not columns or not skip_broken:
                raise UnreadableFile(f"Line {line} of {name} {problem}{', or ' + LEFT_OUT if columns else ''}.")
            broken.append(Broken(line, raw))
        elif columns:
            rows.append(fields[: len(columns)])
        else:
            columns = fields
    return columns, rows, broken


def _records(lines: _Lines, separator: str) -> Iterator[tuple[int, list[str], str, str | None]]:
    """Each row that is not blank: its first line's number, its fields, its text, and what is wrong with its quotes."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        lines.row = []
        line = lines.number + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.give_back(after=1)
            yield line, [], lines.row[0], _quoting(str(error))
            reader = csv.reader(lines, delimiter=separator, strict=True)  # the old one is in the middle of a field
            continue
        raw = "".join(lines.row)
        if raw.strip(" \r\n"):  # a blank line is no row; a line of separators is one, of blank fields
            yield line, fields, raw, None


def _misfit(fields: list[str], columns: list[str], separator: str) -> str | None:
    expected, found = len(columns), len(fields)
    if found == expected or (found > expected and not any(fields[expected:])):
        return None
    between = _NAMES.get(separator, repr(separator))
    return (
        f"has {found} field{'' if found == 1 else 's'} where the header has {expected} ({between} separate them): put "
        "quotes around a text that holds one"
    )


def _quoting(problem: str) -> str:
    if "unexpected end" in problem:
        return "opens a quote that is never closed: close it, or double it where it is part of the text"
    return 'has a quote inside a quoted field: write it twice ("")'
