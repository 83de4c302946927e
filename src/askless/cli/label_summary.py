"""What `askless label` says when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from askless.cli.label_rows import NO_TEXT, Rows, mistakes, sources
from askless.cli.label_screen import counted
from askless.cli.label_text import visible
from askless.desk.cases import Case, Status, Why

if TYPE_CHECKING:
    from rich.console import Console

    from askless.desk.desk import Desk
    from askless.types import Costs


def print_summary(screen: Console, rows: Rows, desk: Desk, seconds_an_answer: float | None) -> None:
    """What was asked and guessed, what that saved, and how good the guesses are."""
    found, cases = sources(rows, desk), desk.cases()
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    for name, count, remark in _lines(found, cases, desk):
        table.add_row(name, f"{count:,}", Text(remark))
    screen.print()
    screen.print(Text(_headline(rows, found, cases), style="bold"))
    screen.print(table)
    for remark in _remarks(found, cases, desk, seconds_an_answer):
        screen.print(Text(remark))


def _headline(rows: Rows, found: dict[str, int], cases: list[Case]) -> str:
    done = sum(count for source, count in found.items() if source not in ("", "skipped", NO_TEXT))
    distinct = f" ({len(cases):,} distinct texts)" if len(cases) < len(rows.texts) else ""
    return f"{done:,} of {len(rows.texts):,} rows{distinct} have a label."


def _lines(found: dict[str, int], cases: list[Case], desk: Desk) -> list[tuple[str, int, str]]:
    total = sum(found.values())
    own = [case for case in cases if case.status is Status.ANSWERED]
    audits = sum(case.why is Why.AUDIT for case in own)
    asked = [f"{counted(desk.questions, 'question')} in all"]
    if audits:
        asked.append(f"{audits:,} of them audits")
    lines = [("from you", found.get("expert", 0), f"{_share(found.get('expert', 0), total)}; {', '.join(asked)}")]
    lines.append(("guessed", found.get("guess", 0), _share(found.get("guess", 0), total)))
    if found.get("guess-forced"):
        lines.append(("guessed, unsure", found["guess-forced"], "because of --max-questions; source guess-forced"))
    if found.get("given"):
        lines.append(("given before", found["given"], "in the file, or in the seed file"))
    if found.get("skipped"):
        lines.append(("skipped", found["skipped"], "left without a label"))
    if found.get(""):
        lines.append(("no label yet", found[""], ""))
    if found.get(NO_TEXT):
        lines.append(("no text", found[NO_TEXT], "left alone"))
    reviewed = [case for case in cases if case.reviewed]
    if reviewed:
        again = sum(case.status is Status.ANSWERED for case in reviewed)
        lines.append(("second pass", len(reviewed), f"guesses changed: {again:,} by you, the rest by the policy"))
    return lines


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%} of the rows" if total else ""


def _remarks(found: dict[str, int], cases: list[Case], desk: Desk, seconds: float | None) -> list[str]:
    remarks = []
    guesses = sum(case.status in (Status.GUESSED, Status.FORCED) for case in cases)
    minutes = 0.0 if seconds is None else guesses * seconds / 60.0
    if seconds is not None and minutes >= 2.0:
        remarks.append(f"At your pace, {seconds:.0f} s an answer, the guesses saved about {minutes:,.0f} minutes.")
    rate = desk.error_rate
    if rate is not None:
        remarks.append(
            f"Of {rate.audited:,} guesses that were audited {rate.wrong:,} were wrong: an error rate of "
            f"{rate.rate:.1%} (95% interval {rate.low:.1%} to {rate.high:.1%})."
        )
    if len(desk.labels) == 1 and desk.questions > 1:
        remarks.append(
            f"All answers have one label so far, {visible(desk.labels[0])!r}; guessing needs two to compare."
        )
    return remarks


def print_dry_run(screen: Console, rows: Rows, desk: Desk, costs: Costs) -> None:
    """How the guesses compare with the oracle's column; one that an audit put right counts as wrong too."""
    found, rate = sources(rows, desk), desk.error_rate
    guesses = found.get("guess", 0) + found.get("guess-forced", 0)
    wrong, corrected = mistakes(rows, desk), 0 if rate is None else rate.wrong
    share = f" ({wrong / guesses:.1%} of the guesses)" if guesses else ""
    audits = f", and {corrected:,} that audits put right" if corrected else ""
    regret = costs.question * desk.questions + costs.mistake * (wrong + corrected)
    always = costs.question * len(desk.cases())
    screen.print(
        Text(
            f"Dry run: {desk.questions:,} questions, {wrong:,} wrong guesses{share}{audits}. Regret {regret:,.0f}; "
            f"asking about every text costs {always:,.0f}."
        )
    )


def print_files(screen: Console, output: Path | None, ledger: Path | None) -> None:
    """Where everything is."""
    if output is not None:
        screen.print(Text(f"Labelled file: {output}"), soft_wrap=True)
    if ledger is not None:
        screen.print(Text(f"Ledger:        {ledger}"), soft_wrap=True)
