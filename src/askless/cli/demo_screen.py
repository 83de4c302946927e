"""The live display of the demonstration."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from askless.cli.demo_watch import Watched
from askless.types import Ask, Costs, Decision, Guess

_FRAME = 1 / 20  # seconds between two drawings
_HOLD = 0.9  # seconds that a question stays in the upper part, so that it can be read
_RECENT = 7
_BARS = "▁▂▃▄▅▆▇█"
_BLOCK = 50  # questions behind each bar


@contextmanager
def live_display(console: Console, watched: Watched, costs: Costs, name: str, speed: float) -> Iterator[None]:
    """Show the run as it goes on: the first questions slowly enough to be read, the others ever faster."""
    screen = _Screen(watched, costs, name)
    live = Live(screen.draw(), console=console, auto_refresh=False, transient=True)
    due = time.monotonic()
    drawn = 0.0

    def on_decision() -> None:
        nonlocal due, drawn
        now = time.monotonic()
        screen.note(now)
        if now - drawn >= _FRAME or watched.round == len(watched.texts):
            live.update(screen.draw(), refresh=True)
            drawn = now
        due = max(due, now - _FRAME) + _pause(watched.round) / speed
        if due > now:
            time.sleep(due - now)

    watched.on_decision = on_decision
    try:
        with live:
            yield
    finally:
        watched.on_decision = None
        console.show_cursor(True)  # Ctrl-C while the display opens leaves it hidden


def _pause(round: int) -> float:
    """Seconds for this question: about 14 in all, a third of them for the first twenty questions."""
    return 0.011 + 0.4 * math.exp(-round / 11)


class _Screen:
    """What is drawn, kept up to date question by question."""

    def __init__(self, watched: Watched, costs: Costs, name: str) -> None:
        self._watched, self._costs, self._name = watched, costs, name
        self._featured: int | None = None
        self._featured_at = 0.0

    def note(self, now: float) -> None:
        """Feature the newest question, once the last one has been up for long enough."""
        if now - self._featured_at >= _HOLD or self._watched.round < 12:
            self._featured, self._featured_at = self._watched.round - 1, now

    def draw(self) -> Panel:
        body = Group(self._current(), Text(""), self._log(), Text(""), self._figures())
        about = f"{self._name}, {len(self._watched.texts)} questions, a simulated expert"
        return Panel(
            body,
            title=f"[bold]askless demo[/bold]  {about}",
            title_align="left",
            border_style="blue",
            padding=(1, 2),
            width=min(100, _width()),
        )

    def _current(self) -> Text:
        if self._featured is None:
            return Text("…\n\n")
        k = self._featured
        decision, truth = self._watched.decisions[k], self._watched.truth[k]
        text = Text(f"“{self._watched.texts[k]}”\n", style="bold", overflow="ellipsis", no_wrap=True)
        text.append_text(_outcome(decision, truth)).append("\n")
        return text.append(_because(decision), style="dim")

    def _log(self) -> Table:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=6)
        table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
        table.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
        watched, first = self._watched, max(0, self._watched.round - _RECENT)
        for k in range(first, watched.round):
            decision, truth = watched.decisions[k], watched.truth[k]
            if isinstance(decision, Ask):
                table.add_row(Text("ask", "yellow"), watched.texts[k], Text(f"{truth}", "dim"))
            elif decision.label == truth:
                table.add_row(Text("guess", "green"), watched.texts[k], Text(f"{truth}", "green"))
            else:
                table.add_row(
                    Text("wrong", "bold red"), watched.texts[k], Text(f"{decision.label}, not {truth}", "red")
                )
        for _ in range(_RECENT - (watched.round - first)):
            table.add_row("", "", "")
        return table

    def _figures(self) -> Group:
        watched, costs = self._watched, self._costs
        done, total = watched.round, len(watched.texts)
        guesses = done - watched.calls
        regret, always = (
            costs.question * watched.calls + costs.mistake * watched.mistakes,
            costs.question * done,
        )
        counts = Text.assemble(
            ("asked ", "dim"), (f"{watched.calls:>4}", "bold yellow"),
            ("    guessed ", "dim"), (f"{guesses:>4}", "bold green"),
            ("    wrong ", "dim"), (f"{watched.mistakes:>3}", "bold red"),
            ("    automated ", "dim"), (f"{guesses / done if done else 0:>4.0%}", "bold"),
        )  # fmt: skip
        regrets = Text.assemble(
            ("regret ", "dim"), (f"{regret:>5,.0f}", "bold"),
            ("    always asking ", "dim"), f"{always:>5,.0f}",
            ("    saved ", "dim"), (f"{1 - regret / always if always else 0:>4.0%}", "bold"),
        )  # fmt: skip
        learning = Text.assemble((f"automated, by {_BLOCK} questions  ", "dim"), (self._bars(), "green"))
        bar = ProgressBar(total=total, completed=done, complete_style="blue", finished_style="blue")
        return Group(counts, regrets, learning, Text(""), bar)

    def _bars(self) -> str:
        """One bar for the guessed share of each block of questions."""
        decisions = self._watched.decisions
        bars = ""
        for start in range(0, len(decisions) - _BLOCK + 1, _BLOCK):
            share = sum(isinstance(d, Guess) for d in decisions[start : start + _BLOCK]) / _BLOCK
            bars += _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]
        return bars


def _outcome(decision: Decision, truth: object) -> Text:
    if isinstance(decision, Ask):
        return Text.assemble(("asks the expert", "bold yellow"), ", who says ", (f"{truth}", "bold"))
    if decision.label == truth:
        return Text.assemble(("guesses ", "bold green"), (f"{decision.label}", "bold"), ", which is right")
    return Text.assemble(("guesses ", "bold red"), (f"{decision.label}", "bold"), f", but it was {truth}")


def _because(decision: Decision) -> str:
    if isinstance(decision, Ask):
        return str(decision.reason)
    if decision.runner_up is None:
        return ""
    return f"ratio at most {decision.ratio:.2f}, to the runner-up {decision.runner_up}"


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
