"""A desk's queries out to a file and examples in from one: CSV, JSON lines, Parquet.

A cell of a CSV file that begins with =, +, -, @, their full-width forms, a tab or a line end may be run as a formula
by a spreadsheet. Such a cell is written with an apostrophe before it, which spreadsheets take as the mark of a text,
and which is taken off again when the file is read here. JSON lines and Parquet are written as the texts are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Connection, and_, func, select

from askless.errors import InvalidInput, MissingExtra
from askless.ledger import schema
from askless.ledger.database import Database

if TYPE_CHECKING:
    from askless.datasets.tables import Table

FORMATS = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
COLUMNS = ("id", "text", "label", "answer", "status", "probability", "example", "asker", "received_at")
_ROWS_AT_ONCE = 2_000
_STARTS = "[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"  # of a formula, also in full width
_FORMULA = re.compile(f"'*{_STARTS}")
_QUOTED_FORMULA = re.compile(f"'+{_STARTS}")

Progress: TypeAlias = Callable[[int, int], None]  # done, in all
Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class GivenExample:
    """An example known before: its text and label, and the caller's own id where there is one.

    `row` is its place in the file or list it came in, from 1, for messages. `answer` is the label's answer text: what
    the first example of a label that has one says, all others of it must say as well, or nothing.
    """

    text: str
    label: str
    key: str | None = None
    row: int | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class ReadExamples:
    """The examples of a file, and how many of its rows are none: guesses, open questions, what was forgotten.

    `lines` has the line of the file that each example is on; `remarks` say what a person should know of how it was
    read.
    """

    examples: list[GivenExample]
    left_out: int
    lines: list[int] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def export(database: Database, desk: int, format: str, file: IO[bytes], *, progress: Progress | None = None) -> int:
    """Write all queries of a desk in the order they came, each with its label's answer text; the number of rows.

    One view of the ledger, whatever happens meanwhile, and never more than a few thousand rows in memory. What was
    erased has neither text nor vector; vectors are not exported, since any text can be embedded again.
    """
    if format not in FORMATS:
        raise InvalidInput(f"A desk is exported as {', '.join(FORMATS)}; found {format!r}.")
    write = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[format]
    with database.read() as connection:
        total = connection.execute(
            select(func.count()).select_from(schema.queries).where(schema.queries.c.desk == desk)
        ).scalar_one()
        done = 0

        def counted() -> Iterator[list[Row]]:
            nonlocal done
            for rows in _blocks(connection, desk):
                yield rows
                done += len(rows)
                if progress is not None:
                    progress(done, total)

        write(file, counted())
    return done


def _blocks(connection: Connection, desk: int) -> Iterator[list[Row]]:
    q, of_label = schema.queries.c, schema.labels.c
    columns = (q.key, q.text, q.label, of_label.answer, q.status, q.probability, q.example, q.asker, q.received_at)
    labelled = schema.queries.outerjoin(schema.labels, and_(of_label.desk == q.desk, of_label.name == q.label))
    query = select(*columns).select_from(labelled).where(q.desk == desk).order_by(q.id)
    result = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
    for block in result.partitions(_ROWS_AT_ONCE):
        yield [tuple(row) for row in block]


def _write_csv(file: IO[bytes], blocks: Iterator[list[Row]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for rows in blocks:
            writer.writerows([cell(value) for value in row] for row in rows)
    finally:
        text.detach()


def cell(value: Any) -> str:
    """A value as a CSV file has it; a text that a spreadsheet would run as a formula has a quote before it."""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else repr(value)


def _write_jsonl(file: IO[bytes], blocks: Iterator[list[Row]]) -> None:
    for rows in blocks:
        lines = (
            json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False, default=datetime.isoformat) + "\n"
            for row in rows
        )
        file.write("".join(lines).encode())


def _write_parquet(file: IO[bytes], blocks: Iterator[list[Row]]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra(
            "Parquet files need pyarrow, which is not installed: pip install 'askless[files]'."
        ) from None
    kinds = {"probability": pa.float64(), "example": pa.bool_(), "received_at": pa.timestamp("us", tz="UTC")}
    columns = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    with pq.ParquetWriter(file, columns) as writer:
        for rows in blocks:
            values = zip(*rows, strict=True)
            arrays = [pa.array(list(cells), kind) for cells, kind in zip(values, columns.types, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=columns))


def read_examples(
    path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    id: str | None = None,
    answer: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
) -> ReadExamples:
    """The examples of a table (CSV, TSV, JSON lines, Parquet, Excel): a column of texts, one of labels, perhaps others.

    Columns are found by their usual names where they are not named here. The labels' answer texts are in a column that
    need not be there. In a file that a desk exported the column `example` says which rows an expert stands for, in one
    that `askless label` wrote the column `source`: the others are left out, and counted.
    """
    from askless.datasets.tables import read_table
    from askless.datasets.values import as_text

    table = read_table(
        path, text=text, label=label, find_label=label is None, encoding=encoding, separator=separator, sheet=sheet
    )
    names = [str(name) for name in table.frame.columns]
    taken = (table.text_column, table.label_column)
    ids = _optional(table.frame, names, id, "id", taken)
    answers = _optional(table.frame, names, answer, "answer", taken)
    rows, remarks = _examples_of(table, _optional(table.frame, names, None, "example", taken))
    quoted = table.format in ("csv", "tsv")
    labels = table.labels or []
    found = []
    for k in rows:
        key = as_text(ids[k]).strip() if ids is not None else ""
        said = as_text(answers[k]) if answers is not None else ""
        cells = [_unquoted(cell) if quoted else cell for cell in (table.texts[k], labels[k] or "", key, said)]
        found.append(GivenExample(cells[0], cells[1], cells[2] or None, k + 1, cells[3] or None))
    return ReadExamples(found, len(labels) - len(found), [table.lines[k] for k in rows], remarks)


def _examples_of(table: Table, stands: list[Any] | None) -> tuple[list[int], list[str]]:
    """The rows that an expert stands for, as the file says, and what to say of that; a file without one is refused."""
    from askless.datasets.values import as_text
    from askless.datasets.written import left_out, unsupported_rows

    no_words = [] if stands is None else [as_text(value).strip().lower() in ("false", "0", "") for value in stands]
    exported = {k for k, is_none in enumerate(no_words) if is_none}
    doubted = unsupported_rows(table, str(table.label_column))
    rows = [k for k in range(len(table)) if k not in exported and k not in doubted]
    if not rows:
        why = (
            "its column 'source' has neither expert nor given in any row"
            if doubted
            else "its column 'example' is false in every row"
        )
        raise InvalidInput(f"{table.path} holds no example: {why}.")
    guesses = sum((table.labels or ())[k] is not None for k in doubted)
    return rows, [*table.remarks, *([left_out("this file", guesses)] if guesses else [])]


def _optional(
    frame: Any, names: list[str], wanted: str | None, usual: str, taken: tuple[str | None, ...]
) -> list[Any] | None:
    """The values of a column that need not be there, unless it was named; not of one that is the texts' or labels'."""
    if wanted is not None and names.count(wanted) != 1:
        raise InvalidInput(f"There is no one column {wanted!r}; the columns are {', '.join(islice(names, 30))}.")
    name = wanted if wanted is not None else usual
    if wanted is None and name in taken:
        return None
    return frame.iloc[:, names.index(name)].tolist() if names.count(name) == 1 else None


def _unquoted(cell: str) -> str:
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell
