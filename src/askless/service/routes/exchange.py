"""A desk's queries out as a file, and examples in from one."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Literal

from fastapi import APIRouter, File, Query, Response, UploadFile
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from askless.datasets.delimited import separator_named
from askless.desk.live import give
from askless.desk.live.blanks import without_blanks
from askless.desk.live.exchange import FORMATS, GivenExample, export, read_examples
from askless.errors import InvalidInput, UnreadableFile
from askless.service import patterns
from askless.service.errors import problems
from askless.service.guard import Admin, AtDesk, TheService
from askless.service.limits import LONGEST_TEXT
from askless.service.results import GivenOut
from askless.service.state import Service

router = APIRouter(prefix="/desks/{desk}", tags=["import and export"])

Format = Literal["csv", "jsonl", "parquet"]
Name = Annotated[str | None, Field(min_length=1, max_length=200, pattern=patterns.TEXT)]
_OPTION = re.compile(r"(?:(?<=say )--(encoding|delimiter) |--(text|label|encoding|delimiter)\b)")  # of the command line
_PIECE = 1 << 16
_MOST_ROWS = 500_000
_MOST_BYTES = 1 << 28
_ANY_FORMAT = {media: {"schema": {"type": "string", "format": "binary"}} for media in FORMATS.values()}


class Reading(BaseModel):
    """How a file of examples is read; its columns are found by their usual names where they are not named here."""

    format: Format = Field("csv", description="Of the file.")
    text: Name = Field(None, description="The column of the texts.")
    label: Name = Field(None, description="The column of the labels.")
    id: Name = Field(None, description="The column of your own ids.")
    answer: Name = Field(None, description="The column of the labels' answer texts.")
    encoding: Name = Field(None, description="Of a CSV or JSON lines file, where it is not UTF-8.")
    delimiter: Name = Field(None, description="Between the cells of a CSV file: one character, or `tab`.")
    skip_blank: bool = Field(False, description="Leave out rows with a blank text or label, which are refused else.")


class ImportedOut(GivenOut):
    """What became of the rows of a file. `left_out` are no examples: guesses, open questions, what was forgotten.

    `blank` ones have no text or no label, and were left out where `skip_blank` was set. `answers` labels got their
    answer text from the file; `answers_kept` had another one already, which stays.
    """

    answers: int
    answers_kept: int
    left_out: int
    blank: int


@router.get("/export", summary="Export all queries", response_class=Response, responses={200: {"content": _ANY_FORMAT}})
async def write(service: TheService, at: Admin, format: Annotated[Format, Query()] = "csv") -> Response:
    """All queries of the desk in one file, as they stand at one moment. It begins once the file is whole."""
    row = await service.work(service.desks.row, at.desk)
    file = await asyncio.to_thread(_exported, service, row.id, format)
    headers = {"Content-Disposition": f'attachment; filename="{at.desk}.{format}"'}
    return StreamingResponse(_pieces(file), media_type=FORMATS[format], headers=headers)


@router.post(
    "/import",
    summary="Import examples from a file",
    status_code=201,
    response_model=ImportedOut,
    responses=problems(409),
)
async def take(
    service: TheService,
    at: Admin,
    file: Annotated[UploadFile, File(description="A table with a column of texts and one of labels.")],
    reading: Annotated[Reading, Query()],
) -> Response:
    """Give the examples of a table: all its rows are checked before the first is taken.

    The name of the file is not used; in a file that a desk exported only the examples count. A column `answer` has the
    labels' answer texts; one that the desk has already stays.
    """
    return JSONResponse(await asyncio.to_thread(_imported, service, at, file.file, reading), 201)


def _exported(service: Service, desk: int, format: Format) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  (closed once it is sent)
    try:
        export(service.database, desk, format, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
    finally:
        file.close()


def _imported(service: Service, at: AtDesk, sent: IO[bytes], reading: Reading) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"examples.{reading.format}"
        with path.open("wb") as file:
            shutil.copyfileobj(sent, file)
        try:
            _check_size(path, reading.format)
            columns = reading.model_dump(include={"text", "label", "id", "answer", "encoding"})
            read = read_examples(path, separator=separator_named(reading.delimiter), **columns)
            examples = without_blanks(read.examples) if reading.skip_blank else read.examples
            _check_rows(examples)
        except (UnreadableFile, InvalidInput) as error:
            said = _OPTION.sub(lambda option: f"?{option[1] or option[2]}=", str(error)).replace(str(path), "the file")
            raise InvalidInput(said) from (error if isinstance(error, UnreadableFile) else None)
        given = give.give(service.desks, at.desk, examples, at.who)
        return asdict(given) | {"left_out": read.left_out, "blank": len(read.examples) - len(examples)}


def _check_size(path: Path, format: Format) -> None:
    """Refuse a file that would be far larger in memory than it is on the way."""
    if format == "parquet":
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import read_metadata

        try:
            found = read_metadata(path)
        except (ArrowInvalid, OSError):
            return  # the reader says what is wrong with it
        size = sum(found.row_group(k).total_byte_size for k in range(found.num_row_groups))
        rows = int(found.num_rows)
    else:
        with path.open("rb") as file:
            rows, size = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")), 0
    if rows > _MOST_ROWS or size > _MOST_BYTES:
        raise InvalidInput(
            f"The file has {rows:,} rows; a call takes at most {_MOST_ROWS:,}, and {_MOST_BYTES >> 20} MiB once it is "
            "unpacked. Send it in parts, or use `askless desk import`."
        )


def _check_rows(examples: Sequence[GivenExample]) -> None:
    """Refuse texts and ids that no other call would take, so that every query can be reached by its id."""
    for example in examples:
        if len(example.text) > LONGEST_TEXT:
            raise InvalidInput(
                f"Row {example.row}: the text has {len(example.text):,} characters, the most is {LONGEST_TEXT:,}. "
                "Nothing was taken in."
            )
        if example.key is not None and not (re.search(patterns.ID, example.key) and example.key != "batch"):
            raise InvalidInput(
                f"Row {example.row}: the id {example.key[:40]!r} cannot stand in an address: no slash, no control "
                "character, no dot or space at its start, and not `batch`. Nothing was taken in."
            )
