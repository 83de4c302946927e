"""Parquet and Excel files, whose libraries come with the extra `files`."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from askless.datasets.delimited import numbered
from askless.datasets.open_text import Origin
from askless.datasets.values import as_text, is_missing
from askless.errors import InvalidInput, MissingExtra, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd

NAMED = "name the sheet with the texts with --sheet"

_LONGEST_CELL = 32_767  # characters, and
_MOST_ROWS = 1_048_576  # of a sheet, its header included: what Excel can hold
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"  # also the coat of a .xlsx file with a password

Columns = list[tuple[str, list[Any]]]


class Sheet(NamedTuple):
    """The columns of a sheet, the row of the sheet that each value stands in, and all sheets' names, this one first."""

    columns: Columns
    lines: list[int]
    sheets: tuple[str, ...]


def _missing(what: str, library: str) -> MissingExtra:
    return MissingExtra(f"{what} files need {library}, which is not installed: pip install 'askless[files]'.")


def read_parquet(origin: Origin) -> Columns:
    """The columns of a Parquet file, each value as Python has it: an integer stays one beside a missing value."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise _missing("Parquet", "pyarrow") from None
    with origin.open() as file:
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError) as error:
            if not file.seek(0, 2):
                raise UnreadableFile(
                    f"{origin.name} is empty: expected a Parquet file with a column of texts."
                ) from None
            raise UnreadableFile(
                f"Cannot read {origin.name}: it is no Parquet file, or truncated ({_first_sentence(error)}). Make or "
                "copy it again."
            ) from error
    return [(str(name), column.to_pylist()) for name, column in zip(table.column_names, table.columns, strict=True)]


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a Parquet file; a column of mixed kinds, which it cannot hold, as text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise _missing("Parquet", "pyarrow") from None
    arrays = {}
    for name in frame.columns:
        values = [None if is_missing(value) else value for value in frame[name].tolist()]
        try:
            arrays[str(name)] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            arrays[str(name)] = pa.array([None if value is None else as_text(value) for value in values])
    pq.write_table(pa.table(arrays), path)


def read_excel(origin: Origin, name: str | None = None, header: bool = True) -> Sheet:
    """A workbook's first sheet, or the one of that name; its first row that is not blank has the columns' names."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise _missing("Excel", "openpyxl") from None
    with origin.open() as file:
        _refuse_unreadable(file.read(4), origin.name)
        file.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of styles and menus that are no concern of ours
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                sheets = {sheet.title: sheet for sheet in book.worksheets}
                chosen = _chosen(origin.name, list(sheets), name)
                rows = [list(row) for row in sheets[chosen].iter_rows(values_only=True)]
        except InvalidInput:
            raise
        except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, IndexError, SyntaxError) as error:
            raise UnreadableFile(
                f"Cannot read {origin.name}: it is no Excel workbook, or damaged ({_first_sentence(error)}). Open it "
                "in Excel and save it again, or save it as CSV."
            ) from error
    kept = {number: row for number, row in enumerate(rows, 1) if any(cell is not None for cell in row)}
    if not kept:
        which = "its first sheet" if name is None else "its sheet"
        raise UnreadableFile(f"{origin.name} is empty: {which}, {chosen!r}, has no cells; {NAMED}.")
    columns = _columns(list(kept.values()), header)
    return Sheet(columns, list(kept)[1 if header else 0 :], (chosen, *(title for title in sheets if title != chosen)))


def _chosen(file: str, sheets: list[str], name: str | None) -> str:
    if name is None:
        return sheets[0]
    if name not in sheets:
        raise InvalidInput(f"{file} has no sheet {name!r}; its sheets are {', '.join(map(repr, sheets))}.")
    return name


def _refuse_unreadable(start: bytes, name: str) -> None:
    if not start:
        raise UnreadableFile(f"{name} is empty: expected an Excel workbook with a column of texts.")
    if start.startswith(_OLD_EXCEL):
        raise UnreadableFile(
            f"Cannot read {name}: it is an old Excel file (.xls), or has a password; open it in Excel and save it as "
            ".xlsx without a password, or as CSV."
        )


def _columns(rows: list[list[Any]], headed: bool) -> Columns:
    """Rows, the names first, turned by ninety degrees; a column without a name and without a value is left out."""
    width = max(map(len, rows))
    header, *body = (row + [None] * (width - len(row)) for row in (rows if headed else [[], *rows]))
    columns = [(as_text(name), [row[k] for row in body]) for k, name in enumerate(header)]
    columns = [(name, cells) for name, cells in columns if name or any(cell is not None for cell in cells)]
    names = [name for name, _ in columns] if headed else numbered(len(columns))
    return [(name, cells) for name, (_, cells) in zip(names, columns, strict=True)]


def write_excel(frame: pd.DataFrame, path: Path, title: str | None = None) -> None:
    """Write a workbook of one sheet, in which a text is a text, also where it begins with an equals sign."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
        from openpyxl.workbook.child import INVALID_TITLE_REGEX
    except ImportError:
        raise _missing("Excel", "openpyxl") from None
    _refuse_too_much(frame)
    book = Workbook(write_only=True)
    sheet = book.create_sheet(None if title is None or INVALID_TITLE_REGEX.search(title) else title)

    def cell(value: object) -> Any:
        if is_missing(value):
            return None
        if isinstance(value, (int, float)) or _is_plain_date(value):
            return value
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", as_text(value)))
        made.data_type = "s"
        return made

    rows: list[Sequence[object]] = [list(frame.columns), *frame.itertuples(index=False, name=None)]
    for row in rows:
        sheet.append([cell(value) for value in row])
    book.save(path)


def _refuse_too_much(frame: pd.DataFrame) -> None:
    if len(frame) >= _MOST_ROWS:
        raise InvalidInput(f"A table of {len(frame):,} rows is more than Excel can hold; write a .csv file.")
    for column in range(frame.shape[1]):
        for text in map(as_text, frame.iloc[:, column]):
            if len(text) > _LONGEST_CELL:
                raise InvalidInput(
                    f"A text of {len(text):,} characters ({text[:30]!r}...) is longer than a cell of an Excel file can "
                    f"be ({_LONGEST_CELL:,}); write a .csv or .jsonl file."
                )


def _is_plain_date(value: object) -> bool:
    """Whether it is a date that a sheet can hold: Excel knows no time zones."""
    return isinstance(value, (datetime.date, datetime.time)) and getattr(value, "tzinfo", None) is None


def _first_sentence(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")
