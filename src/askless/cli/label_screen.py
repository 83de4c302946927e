"""What `askless label` shows: the question, how far it is, and help."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from askless.cli.label_text import visible
from askless.desk.cases import Status, Why
from askless.desk.forecast import questions_to_come

if TYPE_CHECKING:
    from rich.console import Console

    from askless.cli.progress import Show
    from askless.desk.desk import Desk
    from askless.desk.questions import Question

_LONGEST_TEXT = 2000
_LONGEST_EXAMPLE = 70
_PATIENCE = 0.5  # seconds before a bar is worth showing
_HELP = (
    ("1, 2, ...", "the label of that suggestion"),
    ("any text", "that label; a new one is made. Tab completes, fuzzily: crdarr finds card not arrived"),
    ("=text", "that label, whatever it looks like (=2, =:s, =?) and however close to another"),
    (":s", "skip: the text is asked once more at the end, and stays without a label if you skip it again"),
    (":u", "undo your last answer or skip, and the one before, and so on, those of earlier runs too"),
    (":q", "quit; also Ctrl-D or Ctrl-C. The same command goes on from there"),
    ("?", "this help; also an empty line"),
)


def show_question(screen: Console, desk: Desk, question: Question) -> None:
    """The text, why it is asked, and the labels to choose from."""
    screen.print()
    screen.print(Text(progress_line(desk), style="dim"))
    text = "\n".join(visible(line) for line in question.text.split("\n"))
    screen.print(Text(text[:_LONGEST_TEXT], style="bold"))
    if len(text) > _LONGEST_TEXT:
        screen.print(Text(f"... and {len(text) - _LONGEST_TEXT:,} more characters", style="dim"))
    for note in _notes(desk, question):
        screen.print(Text(note, style="dim"))
    if question.choices:
        screen.print(_choices(question))


def _notes(desk: Desk, question: Question) -> list[str]:
    notes = []
    if question.why is Why.AGAIN:
        notes.append("You skipped this one before.")
    guess = desk.case(question.query).guess
    if question.why is Why.REVIEW and guess is not None:
        notes.append(f"Second pass: guessed {visible(guess)!r} at first, less sure now.")
    if question.reason is not None:
        notes.append(visible(question.reason))
    return notes


def _choices(question: Question) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for number, choice in enumerate(question.choices, 1):
        likely = "" if choice.probability is None else f"{choice.probability:.0%}"
        example = "" if choice.example is None else f"“{visible(choice.example, _LONGEST_EXAMPLE)}”"
        table.add_row(f"  {number}", Text(visible(choice.label)), likely, Text(example))
    return table


def progress_line(desk: Desk) -> str:
    """Questions and guesses so far, texts to go, and about how many questions are to come."""
    statuses = [case.status for case in desk.cases()]
    guessed = statuses.count(Status.GUESSED)
    # A question is put only while more may be asked, and then forced guesses of a run before are taken up again.
    left = sum(status in (Status.WAITING, Status.ASKED, Status.FORCED) for status in statuses)
    parts = [f"{desk.questions:,} asked", f"{guessed:,} guessed", f"{left:,} to go"]
    to_come = questions_to_come(desk.book.state.history, left)
    if to_come is not None and left:
        if desk.max_questions is not None:
            to_come = min(to_come, desk.max_questions - desk.questions)
        parts.append(f"about {counted(_rounded(to_come), 'more question')}")
    return " · ".join(parts)


def _rounded(count: int) -> int:
    """To two digits: an estimate has no more."""
    size = max(0, len(str(count)) - 2)
    return round(count, -size)


def counted(count: int, what: str, several: str | None = None) -> str:
    """1 row, 1,200 rows; or another word where there are several."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def show_help(screen: Console) -> None:
    """What can be typed."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for typed, meaning in _HELP:
        table.add_row(Text(f"  {typed}", style="cyan"), Text(meaning))
    screen.print(table)


@contextmanager
def patient_bar(description: Callable[[], str]) -> Iterator[Show]:
    """A progress bar that appears only when the work takes a while, so that quick steps do not flicker."""
    from askless.cli.progress import bar

    start = time.monotonic()
    with ExitStack() as stack:
        shown: list[Show] = []

        def show(done: float, total: float | None = None, /) -> None:
            if shown:
                shown[0](done, total)
            elif time.monotonic() - start > _PATIENCE:
                shown.append(stack.enter_context(bar(description(), total)))

        yield show
