"""What `askless label` says before its first question: what was read, what is known, and what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askless.cli.label_screen import counted
from askless.cli.label_text import visible
from askless.datasets.columns import looks_like_a_text
from askless.datasets.written import left_out
from askless.desk.cases import Status

if TYPE_CHECKING:
    from askless.cli.label_rows import Rows
    from askless.desk.cases import Taken, Withdrawn
    from askless.desk.desk import Desk


def notes_on(rows: Rows, desk: Desk, resumed: bool, fresh: int, seeds: Taken, known: Taken) -> list[str]:
    """What was found in the files, and what of it is new."""
    table = rows.table
    distinct = len(rows.distinct)
    size = f"{counted(len(rows.texts), 'row')}, {counted(distinct, 'distinct text')}"
    notes = [f"{table.path.name}: {size} in the column {table.text_column!r}.", *table.remarks]
    if rows.assumed and looks_like_a_text(table.text_column):
        notes.append(
            "The first row is taken for the columns' names, though it looks like a text. If it is one, stop with :q, "
            "and add --no-header."
        )
    blank = rows.texts.count("")
    if blank:
        notes.append(f"Left alone: {counted(blank, 'row')} without a text.")
    if table.broken:
        lines = ", ".join(str(row.line) for row in table.broken[:5]) + (", ..." if len(table.broken) > 5 else "")
        notes.append(
            f"Left out of everything, the output too: {counted(len(table.broken), 'broken row')} (line {lines})."
        )
    if seeds.new:
        notes.append(f"Taken from the seed file: {counted(seeds.new, 'example')}.")
    if known.new:
        notes.append(f"Labelled in the file already, and taken as examples: {counted(known.new, 'text')}.")
    notes += _disputed(rows)
    for taken, where in ((seeds, "the seed file"), (known, "the file")):
        if taken.changed:
            notes.append(f"Another label than before in {where}, which is taken: {counted(taken.changed, 'text')}.")
    if rows.doubted:
        notes.append(left_out("this file", rows.doubted))
    if resumed:
        guessed = sum(case.status is Status.GUESSED for case in desk.cases())
        notes.append(f"Going on: {counted(desk.questions, 'question')} and {guessed:,} guessed so far.")
        notes += _changes(desk, fresh)
    return notes


def _disputed(rows: Rows) -> list[str]:
    """Equal texts to which the file gives different labels."""
    found = rows.disputed
    if not found:
        return []
    text, labels = next(iter(found.items()))
    return [
        f"Different labels for one text in the file: {counted(len(found), 'text')}, such as {visible(text, 40)!r} "
        f"({', '.join(map(repr, labels))}). The most frequent one is learned, the first where several are; each row "
        "keeps its own."
    ]


def withdrawn_notes(withdrawn: Withdrawn) -> list[str]:
    """Which labels the file gave once and gives no more."""
    labels, guesses = withdrawn
    if not labels:
        return []
    again = f"; {counted(guesses, 'guess', 'guesses')} of such a label will be made again" if guesses else ""
    return [f"No label in the file any more, so that the one it gave is forgotten: {counted(labels, 'text')}{again}."]


def overruled_notes(desk: Desk, known: dict[int, str]) -> list[str]:
    """Where the file and an answer of the expert differ."""
    cases = [(desk.case(id), label) for id, label in known.items()]
    differ = sum(case.status is Status.ANSWERED and case.label != label for case, label in cases)
    if not differ:
        return []
    return [
        f"Another label in the file than you answered, which stands until :u takes it back: {counted(differ, 'text')}."
    ]


def _changes(desk: Desk, fresh: int) -> list[str]:
    """What is not as it was in the run before."""
    notes = [f"Changed: {'; '.join(desk.book.changes)}. What was decided before stays."] if desk.book.changes else []
    active = {case.query.id for case in desk.cases()}
    cases = desk.book.state.cases
    gone = sum(id not in active and case.status is not Status.GIVEN for id, case in cases.items())
    if fresh or gone:
        notes.append(
            f"The file has changed: {counted(fresh, 'new text')}; {gone:,} gone from it, which the ledger keeps and "
            "the output leaves out."
        )
    return notes
