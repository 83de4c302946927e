"""CSV and TSV, row by row: nothing converted, and a row that does not fit named by its line."""

from __future__ import annotations

import csv
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, TextIO

from askless.errors import InvalidInput, UnreadableFile

SEPARATORS = (",", ";", "\t", "|")  # where two fit the rows alike and are as frequent in the header, the first
LEFT_OUT = "leave the row out, as askless label does with --skip-bad-rows"
NAMED = "name another separator with --delimiter"
NAMED_OR_ALONE = "name what separates the columns with --delimiter, say --delimiter tab if the file has but one column"
_SAMPLE = 50  # lines by which the separator is judged
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


class Broken(NamedTuple):
    """A row that was set aside: the line it starts on, from 1, and its text as found."""

    line: int
    raw: str


class Rows(NamedTuple):
    """The columns' names, the rows under them, the line each begins on, what was set aside, and the separator."""

    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
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


def read_rows(text: TextIO, name: str, separator: str | None, skip_broken: bool, header: bool = True) -> Rows:
    """All rows of a text whose first row has the columns' names; blank lines are left out.

    Without a `header` the first row is one like the others, and the columns are named by `numbered`. A row has as many
    fields as the first; more are fine where the surplus is empty. With `skip_broken` a row that does not fit is set
    aside, else the first one is an error. A quote that is never closed breaks the line it is on.
    """
    lines = _Lines(text, name)
    first = _first_line(lines)
    if first is None:
        raise UnreadableFile(f"{name} is empty: expected a first line with the columns' names and a text a row below.")
    said = re.fullmatch(r"sep=(.)\s*", first)  # which Excel writes
    lines.row = [] if said else [first]
    if separator is None:
        separator = said[1] if said else _separator([first, *islice(lines, _SAMPLE)])
    lines.give_back()
    with _long_fields():
        return _read(lines, name, separator, skip_broken, header)


def numbered(count: int) -> list[str]:
    """The names of columns that have none: `text` for the only one, else `column 1` and so on."""
    return ["text"] if count == 1 else [f"column {k}" for k in range(1, count + 1)]


def separator_named(given: str | None) -> str | None:
    """The separator that a person means: one character, or `tab`; None where nothing is said."""
    if given is None:
        return None
    found = "\t" if given.lower() in ("tab", "\\t") else given
    if len(found) != 1 or found in '"\r\n':
        raise InvalidInput(f"--delimiter is one character, such as ; or |, or the word tab; found {given!r}.")
    return found


def _first_line(lines: _Lines) -> str | None:
    return next((line for line in lines if line.strip()), None)


def _separator(sample: list[str]) -> str:
    """What separates the fields: what splits most rows into as many as the header, two at least."""
    outside = re.sub(r'"[^"]*"', "", sample[0])
    with _long_fields():
        return max(SEPARATORS, key=lambda separator: (_fitting(sample, separator), outside.count(separator)))


def _fitting(sample: list[str], separator: str) -> int:
    """How many rows have as many fields as the first, where those are two at least."""
    header, *rows = csv.reader(sample, delimiter=separator)
    return sum(_fits(row, len(header)) for row in rows) if len(header) > 1 else 0


def _fits(fields: list[str], expected: int) -> bool:
    return len(fields) == expected or (len(fields) > expected and not any(fields[expected:]))


@contextmanager
def _long_fields() -> Iterator[None]:
    """Fields of any length: the csv module stops at 131,072 characters unless told otherwise."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read(lines: _Lines, name: str, separator: str, skip_broken: bool, header: bool) -> Rows:
    found = Rows([], [], [], [], separator)
    for line, fields, raw, problem in _records(lines, separator):
        begun = bool(found.columns)
        problem = problem or (_misfit(fields, len(found.columns), separator, header) if begun else None)
        if problem is not None:
            if not begun or not skip_broken:
                raise UnreadableFile(f"Line {line} of {name} {problem}{', or ' + LEFT_OUT if begun else ''}.")
            found.broken.append(Broken(line, raw))
            continue
        if not begun:
            found.columns.extend(fields if header else numbered(len(fields)))
        if begun or not header:
            found.rows.append(fields[: len(found.columns)])
            found.lines.append(line)
    return found


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


def _misfit(fields: list[str], expected: int, separator: str, header: bool) -> str | None:
    if _fits(fields, expected):
        return None
    found, between = len(fields), _NAMES.get(separator, repr(separator))
    # One field in the first row: a separator that is not among ours, or one column, for which any sign will do that no
    # text holds.
    remedy = NAMED_OR_ALONE if expected == 1 and separator != "\t" else NAMED
    return (
        f"has {found} field{'' if found == 1 else 's'} where the {'header' if header else 'first row'} has {expected} "
        f"({between} separate them): put quotes around a text that holds one, {remedy}"
    )


def _quoting(problem: str) -> str:
    if "unexpected end" in problem:
        return "opens a quote that is never closed: close it, or double it where it is part of the text"
    return 'has a quote inside a quoted field: write it twice ("")'
