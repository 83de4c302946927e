"""What `askless desk` shows on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from askless.cli.label_text import visible

if TYPE_CHECKING:
    from rich.console import Console

    from askless.desk.audits import ErrorRate
    from askless.desk.live.settings import LiveSettings
    from askless.desk.live.statistics import Bucket, Estimate, Statistics
    from askless.desk.live.types import LabelRow

_BUCKETS_SHOWN = 14
_BAR = 30  # the length of the longest
_LABEL_COLUMNS = ("label", "examples", "answer")
_GAP = 2  # spaces after a column
_NARROWEST_ANSWER = 8


def print_desks(console: Console, found: list[tuple[str, LiveSettings, Statistics]]) -> None:
    """A line for each desk."""
    if not found:
        console.print("There are no desks. Make one with `askless desk create NAME`.")
        return
    table = Table("desk", "mode", "policy", "embedder")
    for name in ("received", "automated", "waiting"):
        table.add_column(name, justify="right")
    for desk, settings, figures in found:
        mode = f"{settings.mode}, paused" if settings.paused else str(settings.mode)
        share = "" if figures.automated is None else f"{figures.automated:.1%}"
        named = (Text(visible(value)) for value in (desk, mode, settings.policy, settings.embedder))
        table.add_row(*named, f"{figures.received:,}", share, f"{figures.waiting:,}")
    console.print(table)


def print_desk(
    console: Console, desk: str, settings: LiveSettings, figures: Statistics, labels: list[LabelRow]
) -> None:
    """The settings of a desk, its counts, its error rate and its labels."""
    console.print(Text(f"{visible(desk)}{' (paused)' if settings.paused else ''}", style="bold"))
    costs = settings.costs
    kept = "examples included" if not settings.retain_examples else "examples stay"
    retention = "kept" if settings.retention_days is None else f"erased after {settings.retention_days} days, {kept}"
    _print_facts(
        console,
        [
            ("mode", str(settings.mode)),
            ("policy", settings.policy),
            ("embedder", settings.embedder),
            ("costs", f"{costs.call:g},{costs.right:g},{costs.wrong:g}"),
            ("audit rate", f"{settings.audit_rate:g}"),
            ("when able", f"{settings.when_able} a waiting ticket"),
            ("lease", f"{settings.lease_seconds} s"),
            ("queries", retention),
            ("examples", "shown to clients" if settings.share_examples else "hidden from clients"),
        ],
    )
    console.print()
    _print_facts(console, _counts(figures))
    if labels:
        console.print()
        _print_labels(console, labels)


def print_statistics(console: Console, desk: str, figures: Statistics, *, priced: bool = False) -> None:
    """What a desk did, what it cost, in money where that is `priced`, and how that went over time."""
    console.print(Text(visible(desk), style="bold"))
    _print_facts(console, [*_counts(figures), *_money(figures, desk, priced=priced)])
    if figures.buckets:
        console.print()
        _print_buckets(console, figures.buckets[-_BUCKETS_SHOWN:])
    if figures.labels:
        console.print()
        table = Table("answered most often by experts", "calls", box=None, padding=(0, 2, 0, 0))
        for load in figures.labels:
            table.add_row(Text(visible(load.label)), f"{load.calls:,}")
        console.print(table)


def _counts(figures: Statistics) -> list[tuple[str, str]]:
    share = "" if figures.automated is None else f", {figures.automated:.1%} of them"
    facts = [
        ("received", f"{figures.received:,}"),
        ("guessed", f"{figures.guesses:,}{share}"),
        ("answered by experts", f"{figures.calls:,}{_again(figures.calls_again)}"),
        ("waiting", f"{figures.waiting:,}{_again(figures.waiting_again)}"),
        ("known before", f"{figures.given:,}"),
        ("wrong guesses, by audits", _rate(figures.audits, "nothing audited yet; --audit-rate says how many are")),
    ]
    if figures.shadow_guesses:
        facts.append(("wrong guesses, in shadow mode", _rate(figures.shadow, "none answered yet")))
    if figures.feedback_answered:
        said = f"{figures.feedback_answered:,}, {figures.feedback_wrong:,} of them wrong guesses"
        facts.append(("answered after feedback", said))
    if figures.mean_probability is not None:
        facts.append(("how sure the guesses were", f"{figures.mean_probability:.1%} on average"))
    if figures.median_wait_seconds is not None:
        facts.append(("median wait for an answer", _duration(figures.median_wait_seconds)))
    return facts


def _again(count: int) -> str:
    """How many are counted among the others too, so that a reader can add the lines up."""
    return f", {count:,} of them about questions with a label already" if count else ""


def _money(figures: Statistics, desk: str, *, priced: bool) -> list[tuple[str, str]]:
    facts = [
        ("regret, if all were asked", f"{figures.regret_of_asking:,.0f}"),
        ("regret", _estimate(figures.regret)),
    ]
    if priced:
        how = f"; `askless desk set {desk} --audit-rate 0.05` turns them on" if figures.saved is None else ""
        facts.append(("money saved", f"{_estimate(figures.saved)}{how}"))
    return facts


def _rate(rate: ErrorRate | None, otherwise: str) -> str:
    if rate is None:
        return otherwise
    return f"{rate.wrong:,} of {rate.audited:,}: {rate.rate:.1%} (95 %: {rate.low:.1%} to {rate.high:.1%})"


def _estimate(figure: Estimate | None) -> str:
    if figure is None:
        return "unknown without audits"
    if figure.low == figure.high:
        return f"{figure.value:,.0f}"
    return f"{figure.value:,.0f} (95 %: {figure.low:,.0f} to {figure.high:,.0f})"


def _duration(seconds: float) -> str:
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} seconds"


def _print_facts(console: Console, facts: list[tuple[str, str]]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in facts:
        table.add_row(Text(name, style="dim"), Text(visible(value)))
    console.print(table)


def _print_labels(console: Console, labels: list[LabelRow]) -> None:
    """A name is never cut: it has the width that it needs, over several lines at worst, and its answer the rest."""
    names = [Text(visible(label.name)) for label in labels]
    left = console.width - len(_LABEL_COLUMNS[1]) - 3 * _GAP
    width = min(max(len(_LABEL_COLUMNS[0]), *(name.cell_len for name in names)), left - _NARROWEST_ANSWER)
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    table.add_column(_LABEL_COLUMNS[0], width=width, overflow="fold")
    table.add_column(_LABEL_COLUMNS[1], justify="right", no_wrap=True)
    table.add_column(_LABEL_COLUMNS[2], width=left - width, no_wrap=True, overflow="ellipsis")
    for label, name in zip(labels, names, strict=True):
        table.add_row(name, f"{label.examples:,}", Text(visible(label.answer or "")))
    console.print(table)


def _print_buckets(console: Console, buckets: tuple[Bucket, ...]) -> None:
    most = max(bucket.received for bucket in buckets)
    table = Table("from", "received", "automated", "", box=None, padding=(0, 2, 0, 0))
    for bucket in buckets:
        length = round(_BAR * bucket.received / most)
        guessed = round(length * bucket.automated)
        bar = "█" * guessed + "░" * (length - guessed)
        start = f"{bucket.start:%Y-%m-%d %H:%M}" if bucket.start.hour else f"{bucket.start:%Y-%m-%d}"
        table.add_row(start, f"{bucket.received:,}", f"{bucket.automated:.1%}", bar)
    console.print(table)
