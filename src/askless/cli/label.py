"""`askless label`: a person labels a file of texts by answering about a fraction of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.common import DEFAULT_POLICY
from askless.cli.tables import DelimiterOption, EncodingOption, SheetOption

if TYPE_CHECKING:
    from rich.console import Console

    from askless.cli.label_open import Wishes
    from askless.cli.label_output import Output
    from askless.cli.label_prompt import Expert
    from askless.cli.label_rows import Rows
    from askless.cli.label_session import Ending
    from askless.desk.desk import Desk
    from askless.ledger.ledger import Ledger


def label(
    file: Annotated[Path, typer.Argument(help="A .csv, .tsv, .jsonl, .parquet or .xlsx file with the texts.")],
    text: Annotated[
        str | None, typer.Option(help="The column of the texts.", show_default="the only one, or one named text")
    ] = None,
    label_column: Annotated[
        str, typer.Option(help="The column for the labels; where the file has it, filled cells are known examples.")
    ] = "label",
    ignore_labels: Annotated[
        bool, typer.Option("--ignore-labels", help="Do not take labels that the file has as known.")
    ] = False,
    embedder: Annotated[
        str | None, typer.Option(help="What turns texts into vectors.", show_default="wordllama")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="The policy, such as ghc:0.9 or module:Class.", show_default=DEFAULT_POLICY)
    ] = None,
    costs: Annotated[
        str | None, typer.Option(help="Rewards of a call, a right and a wrong guess.", show_default="-1,1,-10")
    ] = None,
    seed_file: Annotated[Path | None, typer.Option(help="A file of examples known before.")] = None,
    seed_text: Annotated[
        str | None, typer.Option(help="Its column of texts.", show_default="the only one, or one named text")
    ] = None,
    seed_label: Annotated[
        str | None, typer.Option(help="Its column of labels.", show_default="that of --label-column")
    ] = None,
    seed_encoding: Annotated[
        str | None, typer.Option(help="Its encoding, such as cp1252.", show_default="UTF-8, else that of --encoding")
    ] = None,
    audit_rate: Annotated[
        float | None,
        typer.Option(help="The share of guesses asked as well, blind, to measure errors.", show_default="0"),
    ] = None,
    max_questions: Annotated[
        int | None, typer.Option(help="Ask no more than this in all runs together; then guess the rest, marked.")
    ] = None,
    shuffle: Annotated[int | None, typer.Option(help="Take the texts in an order drawn by this seed.")] = None,
    no_second_pass: Annotated[
        bool, typer.Option("--no-second-pass", help="Do not decide the guesses again at the end.")
    ] = False,
    oracle: Annotated[
        str | None, typer.Option(help="A dry run: take the answers from this column, keep no ledger.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The labelled file.", show_default="FILE with .labelled in its name")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the labelled file, whoever wrote it.")] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Where everything is kept as you go.", show_default="FILE.askless")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; the old ledger is kept under another name.")
    ] = False,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    sheet: SheetOption = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first row of the file is a text, and not the columns' names.")
    ] = False,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows with too many or too few fields.")
    ] = False,
) -> None:
    """Label the texts of a file: what can be guessed is guessed, the rest is asked.

    Answer with a number, a label or a new label; ? lists what else there is. Stop at any time: every answer is kept
    beside the file at once, and the same command goes on where it was.
    """
    from askless.cli.label_open import Wishes
    from askless.cli.label_output import check_place
    from askless.cli.label_rows import Layout, read_rows
    from askless.datasets.delimited import separator_named
    from askless.errors import InvalidInput

    if max_questions is not None and max_questions < 0:
        raise InvalidInput(f"--max-questions is 0 or more; found {max_questions}.")
    layout = Layout(text, encoding, separator_named(delimiter), sheet, not no_header, skip_bad_rows)
    rows = read_rows(file, layout, label=label_column, ignored=ignore_labels, oracle=oracle)
    wishes = Wishes(
        policy,
        embedder,
        costs,
        audit_rate,
        max_questions,
        shuffle,
        not no_second_pass,
        seed_file,
        seed_text,
        seed_label,
        seed_encoding,
        encoding,
    )
    kept = ledger or (None if oracle is not None else file.with_name(f"{file.name}.askless"))
    if kept is not None:
        check_place(kept, "--ledger", "-journal")  # which SQLite keeps beside it
    _label(file, rows, wishes, label_column, kept, _output(file, out, force, oracle), fresh, oracle)


def _output(file: Path, out: Path | None, force: bool, oracle: str | None) -> Output | None:
    """Where the labels go; a dry run writes them only where it is told to."""
    from askless.cli.label_output import Output, default_output

    if out is None and oracle is not None:
        return None
    return Output(default_output(file) if out is None else out, file, force)


def _label(
    file: Path,
    rows: Rows,
    wishes: Wishes,
    label_column: str,
    kept: Path | None,
    output: Output | None,
    fresh: bool,
    oracle: str | None,
) -> None:
    from askless.cli.common import console
    from askless.cli.label_open import move_aside, open_desk, user
    from askless.cli.label_session import Ending, Session
    from askless.ledger.ledger import Ledger

    screen = console()
    aside = move_aside(kept) if fresh and kept is not None else None
    with ExitStack() as stack:
        if aside is not None and kept is not None:
            stack.callback(aside.back, kept)  # leave everything as it was where nothing was begun
        is_new = kept is not None and not kept.exists()
        ledger = Ledger(kept)
        stack.callback(ledger.remove if is_new else ledger.abandon)
        desk, notes = open_desk(ledger, rows, wishes, user() if oracle is None else f"column {oracle}", label_column)
        if output is not None:
            output.inherit(() if aside is None else aside.exports)
            output.check(desk)
        stack.pop_all()
    with ledger:
        session = Session(desk, _expert(screen, rows, desk, oracle), screen)
        finish = partial(_finish, screen, ledger, rows, desk, label_column, output, fresh)
        try:
            for note in notes if aside is None else [f"The old ledger is now {aside.path}.", *notes]:
                _say(screen, note)
            ending = session.run()
        except (Exception, SystemExit):  # by which Rich leaves when nobody reads the standard output any more
            _rescue(partial(finish, Ending.FAILED, session.seconds_an_answer))
            raise
        finish(ending, session.seconds_an_answer)


def _rescue(finish: Callable[[], None]) -> None:
    """After an error, end as after a stop, as far as that goes: the error itself is to be seen."""
    from askless.errors import AsklessError

    try:
        finish()
    except AsklessError as error:
        # Not on the standard output, which may be what nobody reads any more.
        typer.echo(f"askless: the labelled file was not written: {' '.join(str(error).split())}", err=True)


def _expert(screen: Console, rows: Rows, desk: Desk, oracle: str | None) -> Expert:
    from askless.cli.label_prompt import Lines, Oracle, Person, at_terminal
    from askless.cli.label_rows import by_query

    if oracle is not None:
        return Oracle(dict(by_query(desk, rows.texts, rows.truth)))
    say = lambda message: _say(screen, message)  # noqa: E731
    return Person(say) if at_terminal() else Lines(say)


def _finish(
    screen: Console,
    ledger: Ledger,
    rows: Rows,
    desk: Desk,
    label_column: str,
    output: Output | None,
    fresh: bool,
    ending: Ending,
    pace: float | None,
) -> None:
    """Write the labelled file, and say what was done, where it is and how to go on."""
    from askless.cli.label_session import Ending
    from askless.cli.label_summary import print_dry_run, print_files, print_summary

    if ending in (Ending.INTERRUPTED, Ending.FAILED):
        ledger.rollback()  # half of an entry, if it came at such a moment; the whole ones are on the disk
    failure = None if output is None else output.failure(rows, desk, label_column)
    try:
        print_summary(screen, rows, desk, pace)
        if rows.truth:
            print_dry_run(screen, rows, desk, desk.book.settings.costs)
        print_files(screen, None if output is None or failure is not None else output.path, ledger.path)
        if (failure is not None or ending is not Ending.DONE) and ledger.path is not None:
            again = "the same command without --fresh" if fresh else "the same command"
            _say(screen, f"{_how_it_ended(ending)}. Every answer is kept; {again} goes on from here.")
    except SystemExit as left:  # nobody reads the standard output any more: the failure has another way to be seen
        raise failure or left from None
    if failure is not None:
        raise failure
    if ending is Ending.INTERRUPTED:
        raise typer.Exit(130)


def _how_it_ended(ending: Ending) -> str:
    from askless.cli.label_session import Ending

    if ending is Ending.DONE:
        return "The labelled file was not written"
    return "Stopped by an error" if ending is Ending.FAILED else "Stopped"


def _say(screen: Console, message: str) -> None:
    from rich.text import Text

    from askless.cli.label_text import visible

    screen.print(Text(visible(message), style="dim"), soft_wrap=True)
