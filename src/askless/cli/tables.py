"""The options of every command that reads a table of the user's."""

from __future__ import annotations

from typing import Annotated

import typer

DelimiterOption = Annotated[
    str | None,
    typer.Option(help="What separates the fields of a CSV file: a character, or tab.", show_default="found out"),
]
EncodingOption = Annotated[str | None, typer.Option(help="The file's encoding, such as cp1252.", show_default="UTF-8")]
SheetOption = Annotated[str | None, typer.Option(help="The sheet of an Excel workbook.", show_default="the first")]
