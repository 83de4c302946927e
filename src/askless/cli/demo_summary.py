"""What the demonstration says at its end."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from askless.cli.demo_watch import Watched
from askless.trace import Trace
from askless.types import Guess

_LATE = 200  # questions at the end, when most of the learning is done
_HARDEST = 5
_EVIDENCE = 3


def print_summary(screen: Console, trace: Trace, watched: Watched) -> None:
    """Print what was automated, what it cost, where it was hard, and two examples."""
    screen.print(f"\n[bold]{trace.rounds} questions, {len(set(watched.truth))} labels, policy {trace.policy}[/bold]")
    screen.print(Padding(_figures(trace), (1, 0), expand=False))
    screen.print("[bold]The hardest labels[/bold]")
    screen.print(Padding(_hardest(trace), (0, 0, 1, 0), expand=False))
    right = _example(trace, watched, right=True)
    if right is not None:
        screen.print("[bold]A guess[/bold]")
        _print_guess(screen, watched, right)
    wrong = _example(trace, watched, right=False)
    if wrong is not None:
        screen.print("\n[bold]A mistake[/bold]")
        _print_guess(screen, watched, wrong)


def _figures(trace: Trace) -> Table:
    facts = trace.summary()
    late = 1.0 - float(trace.asked[-_LATE:].mean())
    regret, always = facts["regret"], facts["regret_always_ask"]
    change = 1.0 - regret / always if always else 0.0
    against = f"{change:.0%} less" if change >= 0 else f"{-change:.0%} more"
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    last = f"{late:.0%} of the last {min(_LATE, trace.rounds)}"
    automated = f"{facts['guesses']} of {trace.rounds} without the expert; {last}"
    table.add_row("automated", f"{facts['share_automated']:.1%}", automated)
    table.add_row("wrong guesses", f"{facts['mistakes']}", f"{facts['error_rate']:.1%} of the guesses")
    table.add_row("questions to the expert", f"{facts['calls']}", f"{trace.rounds} if asked every time")
    table.add_row("regret", f"{regret:,.0f}", f"{always:,.0f} if asked every time: {against}")
    table.add_row("", "", f"a question adds {trace.costs.question:g}, a mistake {trace.costs.mistake:g}")
    return table


def _hardest(trace: Trace) -> Table:
    """The labels whose questions added most to the regret."""
    size = len(trace.labels)
    wrong = ~(trace.asked | trace.correct)
    asked = np.bincount(trace.truth[trace.asked], minlength=size)
    missed = np.bincount(trace.truth[wrong], minlength=size)
    came = np.bincount(trace.truth, minlength=size)
    cost = trace.costs.question * asked + trace.costs.mistake * missed
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("label")
    for heading in ("questions", "asked", "wrong", "regret each", "taken for"):
        table.add_column(heading, justify="left" if heading == "taken for" else "right")
    average = cost / np.maximum(came, 1)
    for k in np.argsort(-average, kind="stable")[:_HARDEST]:
        others = np.bincount(trace.guess[wrong & (trace.truth == k)], minlength=size)
        rival = str(trace.labels[int(others.argmax())]) if others.any() else ""
        table.add_row(str(trace.labels[k]), f"{came[k]}", f"{asked[k]}", f"{missed[k]}", f"{average[k]:.1f}", rival)
    return table


def _example(trace: Trace, watched: Watched, right: bool) -> int | None:
    """A telling round: the surest late guess that rests on several answers, or the surest mistake."""
    guesses = [
        (k, decision)
        for k, decision in enumerate(watched.decisions)
        if isinstance(decision, Guess) and bool(trace.correct[k]) == right
    ]
    if right:
        later = [(k, g) for k, g in guesses if k >= trace.rounds // 2 and 2 <= len(g.evidence) <= _EVIDENCE]
        guesses = later or guesses
    return min(guesses, key=lambda pair: (*_doubt(pair[1]), pair[0]))[0] if guesses else None


def _doubt(guess: Guess) -> tuple[float, float]:
    """What grows as a guess gets less sure."""
    return 1.0 - (guess.probability or 1.0), guess.ratio


def _print_guess(screen: Console, watched: Watched, k: int) -> None:
    guess = watched.decisions[k]
    if not isinstance(guess, Guess):
        return
    truth = watched.truth[k]
    line = Text.assemble("  ", (f"“{watched.texts[k]}”", "italic"), "  guessed ", (str(guess.label), "bold"))
    if guess.label != truth:
        line.append(f", but it was {truth}", style="red")
    screen.print(line)
    if guess.runner_up is not None:
        near = f"at most {guess.ratio:.2f} of the distance to the runner-up, {guess.runner_up}"
        if guess.probability is not None:
            near = f"probability {guess.probability:.3f}; the runner-up is {guess.runner_up}"
        screen.print(f"  [dim]{near}{'; it rests on' if guess.evidence else ''}[/dim]")
    total = sum(support.weight for support in guess.evidence)
    for support in sorted(guess.evidence, key=lambda s: -s.weight)[:_EVIDENCE]:
        share = support.weight / total if total else 0.0
        screen.print(Text.assemble(f"    {share:>4.0%}  ", f"“{watched.text_of.get(support.id, support.id)}”"))
