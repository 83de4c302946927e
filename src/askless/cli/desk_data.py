"""What goes into a desk and comes out of it: examples, exports, figures; and what is to go for good."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption
from askless.cli.tables import DelimiterOption, EncodingOption, SheetOption
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from askless.desk.live.exchange import ReadExamples
    from askless.desk.live.give import Given
    from askless.desk.live.statistics import Prices

DeskArgument = Annotated[str, typer.Argument(metavar="DESK", help="The desk; `askless desk list` names them.")]


def import_examples(
    desk: DeskArgument,
    file: Annotated[Path, typer.Argument(help="A .csv, .tsv, .jsonl, .parquet or .xlsx file of labelled texts.")],
    text: Annotated[
        str | None, typer.Option(help="The column of the texts.", show_default="the only one, or one named text")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of the labels.", show_default="the one called label")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="The column of your own ids.", show_default="id, where there is one")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(help="The column of the labels' answer texts.", show_default="answer, where there is one"),
    ] = None,
    skip_blank: Annotated[
        bool, typer.Option("--skip-blank", help="Leave out rows with a blank text or label, which are refused else.")
    ] = False,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    sheet: SheetOption = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Give a desk examples known before.

    Interrupt it, and the same command goes on where it was: an example that is there already changes nothing. A label
    that has no answer text yet gets the one in the file.
    """
    from askless.cli.database import opened_desks
    from askless.cli.label_open import user
    from askless.cli.progress import bar, working
    from askless.datasets.delimited import separator_named
    from askless.desk.live.blanks import without_blanks
    from askless.desk.live.exchange import read_examples
    from askless.desk.live.give import give

    separator = separator_named(delimiter)
    with opened_desks(database) as desks:
        desks.row(desk)
        with working(f"reading {file}"):
            found = read_examples(
                file, text=text, label=label, id=id, answer=answer, encoding=encoding, separator=separator, sheet=sheet
            )
        examples = without_blanks(found.examples)
        if not skip_blank and len(examples) < len(found.examples):
            raise _blank_rows(file, found, len(found.examples) - len(examples))
        with bar("learning", len(examples)) as show:
            given = give(desks, desk, examples, user(), progress=show)
    for said in _imported(desk, found, len(examples), given):
        typer.echo(said)


def _blank_rows(file: Path, found: ReadExamples, count: int) -> InvalidInput:
    """The refusal of rows with a blank text or label, which names the first by its line."""
    from askless.cli.label_screen import counted
    from askless.desk.live.blanks import without_blanks

    first, line = next(
        (example, line)
        for example, line in zip(found.examples, found.lines, strict=True)
        if not without_blanks([example])
    )
    what = "label" if first.text.strip() else "text"
    return InvalidInput(
        f"Line {line} of {file} has a blank {what}. Fill it in, or leave such rows out with --skip-blank: "
        f"{counted(count, 'row')} of this file. Nothing was taken in."
    )


def _imported(desk: str, found: ReadExamples, examples: int, given: Given) -> list[str]:
    """What came in, and what did not."""
    from askless.cli.label_screen import counted

    before = f"; it had {given.same:,} already" if given.same else ""
    said = [*found.remarks, f"Gave {counted(given.added, 'example')} to the desk {desk}{before}."]
    if again := examples - given.added - given.same:
        said.append(f"Left out {counted(again, 'row')} that {'repeats' if again == 1 else 'repeat'} another one.")
    if found.left_out:
        rows = counted(found.left_out, "row")
        said.append(f"Left out {rows} without an example: guesses, open questions, what was forgotten or erased.")
    if blank := len(found.examples) - examples:
        said.append(f"Left out {counted(blank, 'row')} with a blank text or label.")
    if given.answers:
        said.append(f"{counted(given.answers, 'label')} got an answer text from the file.")
    if given.answers_kept:
        said.append(f"{counted(given.answers_kept, 'label')} had another answer text at the desk, which stays.")
    return said


def export_desk(
    desk: DeskArgument,
    file: Annotated[Path, typer.Argument(help="A .csv, .jsonl or .parquet file.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file where there is one.")] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Write all queries of a desk with their labels and answers to a file; one view, whatever happens meanwhile."""
    from askless.cli.database import opened_desks
    from askless.cli.progress import bar
    from askless.datasets.whole import whole_file
    from askless.desk.live.exchange import FORMATS, export

    format = file.suffix.lower().removeprefix(".")
    if format not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise InvalidInput(f"A desk is exported to a file that ends in one of {endings}; found {str(file)!r}.")
    if file.exists() and not force:
        raise InvalidInput(f"There is a file {str(file)!r} already. Name another, or replace it with --force.")
    with opened_desks(database) as desks:
        row = desks.row(desk)
        with whole_file(file) as temporary, temporary.open("wb") as out, bar("writing") as show:
            count = export(desks.database, row.id, format, out, progress=show)
    typer.echo(f"Wrote {count:,} queries of the desk {desk} to {file}.")


def statistics(
    desk: DeskArgument,
    call_price: Annotated[float | None, typer.Option(help="What an expert's answer costs you.")] = None,
    mistake_price: Annotated[float | None, typer.Option(help="What a wrong guess costs you.")] = None,
    since: Annotated[str | None, typer.Option(help="Count queries received from here on, such as 2026-11-01.")] = None,
    until: Annotated[str | None, typer.Option(help="Count queries received before this time.")] = None,
    by: Annotated[str, typer.Option(help="The spans to count in: hour, day, week or month.")] = "day",
    plot: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file for a plot of the share automated over time.")
    ] = None,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Show what a desk did: guesses, calls, the measured error rate, regret, and the money saved."""
    from askless.cli.common import console
    from askless.cli.database import opened_desks
    from askless.cli.desk_plot import checked_plot, save_plot
    from askless.cli.desk_read import figures_of, settings_of
    from askless.cli.desk_screen import print_statistics

    prices, span = _prices(call_price, mistake_price), (_time(since, "--since"), _time(until, "--until"))
    checked_plot(plot)
    with opened_desks(database) as desks:
        settings = settings_of(desks, desk)
        figures = figures_of(desks, desk, settings, prices, *span, by)
    print_statistics(console(), desk, figures, priced=prices is not None)
    if plot is not None:
        save_plot(plot, desk, figures, by)
        typer.echo(f"\nSaved {plot}")


def _prices(call: float | None, mistake: float | None) -> Prices | None:
    from askless.desk.live.statistics import Prices

    if call is None and mistake is None:
        return None
    if call is None or mistake is None:
        raise InvalidInput("The money saved needs both prices: --call-price and --mistake-price.")
    return Prices(call, mistake)


def _time(given: str | None, option: str) -> datetime | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise InvalidInput(f"{option} is a time such as 2026-11-01 or 2026-11-01T08:00Z; found {given!r}.") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def erase(
    desk: DeskArgument,
    id: Annotated[list[str], typer.Argument(metavar="ID...", help="The callers' ids of the queries.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether you are sure.")] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Erase personal data: the text and the vector of queries, everywhere; the counts stay.

    The desk then decides as if it had never learned from them. Backups that you made keep what they hold. What was
    decided while an erased query was an example can no longer be checked by `askless ledger verify`.
    """
    from askless.cli.database import opened_desks
    from askless.cli.label_open import user
    from askless.cli.label_screen import counted
    from askless.cli.progress import bar
    from askless.desk.live.erase import erase as erase_everywhere

    with opened_desks(database) as desks:
        desks.row(desk)
        if not yes:
            typer.echo(
                "`askless ledger verify` can then not make again what was decided while one of them was an example."
            )
            typer.confirm(f"Erase {counted(len(set(id)), 'query', 'queries')} of the desk {desk} for good?", abort=True)
        with bar("erasing", len(id)) as show:
            done = erase_everywhere(desks, desk, id, user(), progress=show)
    before = f"; {done.already:,} had been erased before" if done.already else ""
    typer.echo(f"Erased {counted(done.erased, 'query', 'queries')} of the desk {desk}{before}.")
