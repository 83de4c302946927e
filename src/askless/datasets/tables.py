"""Any table of the user's, read with nothing converted and written whole: CSV, TSV, JSON lines, Parquet, Excel."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from askless.datasets import workbooks
from askless.datasets.columns import found_label, listed, place_of, text_place
from askless.datasets.delimited import LEFT_OUT, Broken, read_rows
from askless.datasets.jsonl import Objects, read_objects
from askless.datasets.open_text import STDIN, Origin, open_text, origin_of
from askless.datasets.values import as_text, is_blank, is_missing
from askless.datasets.whole import whole_file
from askless.errors import InvalidInput, UnreadableFile
from askless.inputs import as_flag

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
SUFFIXES = "a .csv, .tsv, .jsonl, .parquet or .xlsx file"
_ELSEWHERE = {
    ".txt": "give its first line the name of its column, and the file the ending .csv",
    ".xls": "open it in Excel and save it as .xlsx or CSV",
    ".ods": "save it as .xlsx or CSV",
    ".json": "write one object a line and name it .jsonl",
}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A file's rows: all its columns as found, and the texts and labels among them.

    A text that is missing is "", a label that is missing or blank is None. `lines` says which line of the file each
    row begins on, from 1; for a sheet and for Parquet it is the row. `broken` has the rows that were set aside, each
    with its line and its raw text. `encoding` and `separator` are those of a CSV or TSV file, `sheet` and
    `other_sheets` the names in an Excel workbook.
    """

    frame: pd.DataFrame
    texts: list[str]
    labels: list[str | None] | None
    text_column: str
    label_column: str | None
    path: Path
    format: str
    lines: list[int] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    encoding: str = "utf-8"
    separator: str = ","
    sheet: str | None = None
    other_sheets: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def remarks(self) -> list[str]:
        """What a person should know of how it was read."""
        if not self.other_sheets:
            return []
        others = ", ".join(map(repr, self.other_sheets))
        return [f"Of {self.path.name} the sheet {self.sheet!r} is read, and not {others}; --sheet names another."]


class _Contents(NamedTuple):
    columns: list[tuple[str, list[Any]]]
    lines: list[int]
    broken: list[Broken]
    encoding: str = "utf-8"
    separator: str = ","
    objects: Objects | None = None  # of a .jsonl file
    sheets: tuple[str, ...] = ()  # of a workbook, the one that was read first


def read_table(
    path: str | os.PathLike[str],
    *,
    text: str | None = None,
    label: str | None = None,
    find_label: bool = False,
    label_needed: bool = True,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    header: bool = True,
    on_bad_rows: Literal["error", "skip"] = "error",
) -> Table:
    """Read a table; the ending of its name says the format, with .gz after it where it is compressed; `-` is CSV.

    `text` and `label` name the columns. Without `text` it is the only column (beside the label's), or the one called
    text, query, question, utterance, sentence or message; without `label` there are no labels, or with
    `find_label` those of the one column called label, which must be there unless `label_needed` is False. A CSV file is
    UTF-8 unless it has a byte order mark or `encoding` says otherwise, and has commas, semicolons, tabs or bars between
    its fields, whichever fits the first rows best, unless `separator` names what it has. Of a workbook the first sheet
    is read, or the one called `sheet`. Without a `header` the first row is a row like the others; the only column is
    then `text`, several are `column 1` and so on. A row with too many or too few fields is an error, or with
    `on_bad_rows="skip"` set aside in `broken`.
    """
    if on_bad_rows not in ("error", "skip"):
        raise InvalidInput(f"on_bad_rows is 'error' or 'skip'; found {on_bad_rows!r}.")
    as_flag(find_label, "find_label")
    as_flag(label_needed, "label_needed")
    as_flag(header, "header")
    for name, column, such in (("text", text, "question"), ("label", label, "topic")):
        if column is not None and not isinstance(column, str):
            raise InvalidInput(f"{name} is the name of a column, as in {name}={such!r}; found {column!r}.")
    origin = origin_of(Path(path))
    format = format_of(origin.path)
    try:
        found = _read(origin, format, encoding, separator, sheet, header, on_bad_rows == "skip")
    except OSError as error:
        raise UnreadableFile(f"Cannot read {origin.name}: {error.strerror or error}.") from error
    names = [name for name, _ in found.columns]
    if label is None and find_label:
        label = found_label(origin.name, names, text, label_needed)
    label_place = None if label is None else place_of(origin.name, names, label)
    place = text_place(origin.name, names, text, label_place)
    if place == label_place:
        raise InvalidInput(f"The column {text!r} cannot hold both the texts and the labels; name two columns.")
    if found.objects is not None:
        found = _with_text(found, found.objects, names[place], origin.name, on_bad_rows == "skip")
    if not found.columns[place][1]:
        broken = f" that fit ({len(found.broken)} do not)" if found.broken else " below it"
        raise UnreadableFile(f"{origin.name} has a header but no rows{broken}: expected one text a row.")
    return Table(
        _frame(found.columns),
        [_clean(as_text(value)) for value in found.columns[place][1]],
        None if label_place is None else [_label(value) for value in found.columns[label_place][1]],
        names[place],
        label,
        origin.path,
        format,
        found.lines,
        found.broken,
        found.encoding,
        found.separator,
        found.sheets[0] if found.sheets else None,
        found.sheets[1:],
    )


def format_of(path: Path) -> str:
    """The format that a file's name stands for."""
    if path == STDIN:
        return "csv"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in FORMATS:
        return FORMATS[suffix]
    if path.is_dir():
        raise UnreadableFile(f"Cannot read {path}: it is a folder; name a file in it.")
    remedy = _ELSEWHERE.get(suffix, "give it the ending of what it holds, or save it as CSV")
    raise InvalidInput(f"Expected {SUFFIXES} (.gz may follow); found {path}: {remedy}.")


def _read(
    origin: Origin,
    format: str,
    encoding: str | None,
    separator: str | None,
    sheet: str | None,
    header: bool,
    skip: bool,
) -> _Contents:
    if sheet is not None and format != "excel":
        raise InvalidInput(f"A sheet is named for an Excel workbook, and {origin.name} is none; leave --sheet out.")
    if not header and format in ("parquet", "jsonl"):
        raise InvalidInput(f"{origin.name} names its columns itself, as such files do; leave --no-header out.")
    if format == "parquet":
        columns = workbooks.read_parquet(origin)
        return _Contents(columns, list(range(1, len(columns[0][1]) + 1)) if columns else [], [])
    if format == "excel":
        found = workbooks.read_excel(origin, sheet, header)
        return _Contents(found.columns, found.lines, [], sheets=found.sheets)
    with open_text(origin, encoding) as (stream, known):
        if format == "jsonl":
            objects = read_objects(stream, origin.name, skip)
            keys = dict.fromkeys(key for row in objects.objects for key in row)
            return _Contents([(key, []) for key in keys], [], objects.broken, known, objects=objects)
        rows = read_rows(stream, origin.name, separator or ("\t" if format == "tsv" else None), skip, header)
    cells = zip(*rows.rows, strict=True) if rows.rows else ((),) * len(rows.columns)
    named = [(name, list(values)) for name, values in zip(rows.columns, cells, strict=True)]
    return _Contents(named, rows.lines, rows.broken, known, rows.separator)


def _with_text(found: _Contents, objects: Objects, text: str, name: str, skip: bool) -> _Contents:
    """The columns filled from the objects: None where one has not the key. The text's key all must have."""
    kept, lines, broken = [], [], list(found.broken)
    for row, line in zip(objects.objects, objects.lines, strict=True):
        if text in row:
            kept.append(row)
            lines.append(line)
        elif skip:
            broken.append(Broken(line, json.dumps(row, ensure_ascii=False)))
        else:
            raise UnreadableFile(
                f"Line {line} of {name} has no {text!r}, which other lines have; its keys are {listed(row)}. Mend it, "
                f"or {LEFT_OUT}."
            )
    columns = [(key, [row.get(key) for row in kept]) for key, _ in found.columns]
    return found._replace(columns=columns, lines=lines, broken=sorted(broken))


def _clean(text: str) -> str:
    """The text without halves of characters, which JSON can spell and nothing else can hold."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode("utf-8")


def _label(value: object) -> str | None:
    text = _clean(as_text(value))
    return None if is_blank(text) else text


def _frame(columns: list[tuple[str, list[Any]]]) -> pd.DataFrame:
    """The columns as they are: of Python's own values, in order, two of one name included."""
    import pandas as pd

    frame = pd.DataFrame({k: pd.Series(values, dtype=object) for k, (_, values) in enumerate(columns)})
    frame.columns = pd.Index([name for name, _ in columns], dtype=object)
    return frame


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str], *, like: Table | None = None) -> None:
    """Write a table, whole or not at all, in the format that the ending says; a file that is there is replaced.

    With `like` a CSV file has the separator and the encoding of that table, and a workbook the name of its sheet: what
    the program that wrote one can read, it can read of the other. Where the encoding has not all the characters, the
    file is UTF-8 with a byte order mark, by which programs know it. Without `like` it has commas and is UTF-8.
    """
    with whole_file(Path(path)) as temporary:
        write_contents(frame, temporary, Path(path), like)


def write_contents(frame: pd.DataFrame, path: Path, target: Path, like: Table | None = None) -> None:
    """Write to `path` what `write_table` would to `target`, whose ending says the format and whose name errors have."""
    format = format_of(target)
    if format in ("jsonl", "parquet") and len(set(map(str, frame.columns))) < len(frame.columns):
        raise InvalidInput(f"{target.name} cannot have two columns of one name; write a .csv file, or rename them.")
    _write(frame, path, format, target.suffix.lower() == ".gz", like)


def _write(frame: pd.DataFrame, path: Path, format: str, packed: bool, like: Table | None) -> None:
    if format == "parquet":
        return workbooks.write_parquet(frame, path)
    if format == "excel":
        return workbooks.write_excel(frame, path, None if like is None else like.sheet)
    encoding = "utf-8" if like is None or format == "jsonl" else like.encoding
    if not codecs.lookup(encoding).name.startswith("utf"):
        try:
            return _write_text(frame, path, format, packed, like, encoding, "strict")
        except UnicodeEncodeError:
            encoding = "utf-8-sig"
    return _write_text(frame, path, format, packed, like, encoding, "replace")


def _write_text(
    frame: pd.DataFrame, path: Path, format: str, packed: bool, like: Table | None, encoding: str, errors: str
) -> None:
    opened = gzip.open if packed else open
    with opened(path, "wt", encoding=encoding, errors=errors, newline="") as file:
        rows = frame.itertuples(index=False, name=None)
        if format == "jsonl":
            names = [str(name) for name in frame.columns]
            file.writelines(_json_line(dict(zip(names, row, strict=True))) for row in rows)
            return
        usual = "\t" if format == "tsv" else ","
        separator = like.separator if like is not None and (format == "csv" or like.format == "tsv") else usual
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow([str(name) for name in frame.columns])
        writer.writerows([as_text(value) for value in row] for row in rows)


def _json_line(row: dict[str, Any]) -> str:
    kept = {key: None if is_missing(value) else value for key, value in row.items()}
    line = json.dumps(kept, ensure_ascii=False, default=as_text)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a character: only its escape can be written
        line = json.dumps(kept, default=as_text)
    return line + "\n"
