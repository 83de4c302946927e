"""What `askless label` says when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from askless.cli.label_rows import Rows, played, sources
from askless.cli.label_screen import counted
from askless.cli.label_text import visible
from askless.datasets.written import NO_TEXT
from askless.desk.cases import Case, Status, Why

if TYPE_CHECKING:
    from rich.console import Console

    from askless.desk.audits import ErrorRate
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
    distinct = f" ({counted(len(cases), 'distinct text')})" if len(cases) < len(rows.texts) else ""
    have = "has" if 1 in (done, len(rows.texts)) else "have"
    return f"{done:,} of {counted(len(rows.texts), 'row')}{distinct} {have} a label."


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
        lines.append(("second pass", len(reviewed), _second_pass(reviewed)))
    return lines


def _second_pass(reviewed: list[Case]) -> str:
    """What came of the guesses that looked wrong in the second pass, next to the guess it met."""
    own = [case for case in reviewed if case.status is Status.ANSWERED]
    by_you = sum(case.label != case.first for case in own)
    by_policy = sum(case.status is Status.GUESSED and case.label != case.first for case in reviewed)
    parts = [f"{by_you + by_policy:,} changed ({by_you:,} by you, {by_policy:,} by the policy)"]
    parts.append(f"{len(own) - by_you:,} confirmed by you")
    left = len(reviewed) - len(own) - by_policy
    return "guesses doubted: " + ", ".join([*parts, f"{left:,} left as they were"] if left else parts)


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
        remarks.append(_measured(rate))
    guessed = any(case.status is Status.GUESSED for case in cases)  # the forced ones are no reason to be silent
    if len(desk.labels) == 1 and desk.questions > 1 and not guessed:
        remarks.append(
            f"All answers have one label so far, {visible(desk.labels[0])!r}; guessing needs two to compare."
        )
    return remarks


def _measured(rate: ErrorRate) -> str:
    """The error rate, and which guesses it speaks of."""
    audited = "1 guess that was" if rate.audited == 1 else f"{rate.audited:,} guesses that were"
    covered = "guess" if rate.covered == 1 else f"{rate.covered:,} guesses"
    others = f"; {rate.others:,} later or forced {'one is' if rate.others == 1 else 'ones are'} not in it"
    return (
        f"Of {audited} audited {rate.wrong:,} {'was' if rate.wrong == 1 else 'were'} wrong: an error rate of "
        f"{rate.rate:.1%} (95% interval {rate.low:.1%} to {rate.high:.1%}). It covers the {covered} that audits were "
        f"drawn from{others if rate.others else ''}."
    )


def print_dry_run(screen: Console, rows: Rows, desk: Desk, costs: Costs) -> None:
    """How the guesses compare with the oracle's column; one that an audit put right counts as wrong too."""
    found, rate = played(rows, desk), desk.error_rate
    corrected = 0 if rate is None else rate.wrong
    share = f" ({found.wrong / found.guesses:.1%} of the guesses)" if found.guesses else ""
    audits = f", and {corrected:,} that audits put right" if corrected else ""
    regret = costs.question * found.questions + costs.mistake * (found.wrong + corrected)
    wrong = f"{found.wrong:,} wrong {'guess' if found.wrong == 1 else 'guesses'}"
    left_out = f" {counted(found.untold, 'text')} without a truth left out." if found.untold else ""
    screen.print(
        Text(
            f"Dry run: {counted(found.questions, 'question')}, {wrong}{share}{audits}. Regret {regret:,.0f}; "
            f"asking about every text costs {costs.question * found.texts:,.0f}.{left_out}"
        )
    )


def print_files(screen: Console, output: Path | None, ledger: Path | None) -> None:
    """Where everything is."""
    if output is not None:
        screen.print(Text(f"Labelled file: {output}"), soft_wrap=True)
    if ledger is not None:
        screen.print(Text(f"Ledger:        {ledger}"), soft_wrap=True)
