"""`askless demo`: a support desk's questions, streamed through a policy with a simulated expert."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.common import DEFAULT_POLICY

if TYPE_CHECKING:
    from askless.cli.demo_watch import Watched
    from askless.streams.synthetic import Stream
    from askless.trace import Trace
    from askless.types import Costs

_PLOT, _TRACE = "plot.png", "trace.csv"
_COLUMNS = b"round,row,text,"  # what the trace of a demonstration begins with


def demo(
    policy: Annotated[str, typer.Option(help="The policy, such as ghc:0.9 or module:Class.")] = DEFAULT_POLICY,
    out: Annotated[Path, typer.Option(help="The folder for plot.png and trace.csv.")] = Path("askless-demo"),
    speed: Annotated[
        float, typer.Option(help="How fast the display runs: 2 takes half the time, 0.5 twice the time.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="The seed that shuffles the questions.")] = 0,
    costs: Annotated[str, typer.Option(help="Rewards of a call, a right and a wrong guess.")] = "-1,1,-10",
    no_animation: Annotated[
        bool, typer.Option("--no-animation", help="Skip the display and go straight to the summary.")
    ] = False,
) -> None:
    """Stream several hundred support questions through a policy, with a simulated expert.

    Nothing is known at the start. Each question is either answered by a guess or put to the expert, whose
    answer is learned. Ends with a summary and a plot. Needs no network.
    """
    from askless.cli.common import console
    from askless.cli.demo_summary import print_summary
    from askless.errors import InvalidInput
    from askless.types import Costs

    if not speed > 0.0:
        raise InvalidInput(f"--speed is a positive number; found {speed:g}.")
    prices, screen = Costs.parse(costs), console()
    animated = screen.is_terminal and not no_animation
    with _folder_for_results(out) as folder:
        with screen.status("Turning the questions into vectors …"):
            stream = _shuffled_questions(seed)
        watched, trace = _run(policy, stream, prices, seed, speed if animated else None)
    print_summary(screen, trace, watched)
    _save(folder, trace, watched)
    screen.print(f"\nPlot:  {folder / _PLOT}\nTrace: {folder / _TRACE}", soft_wrap=True, markup=False)


@contextmanager
def _folder_for_results(out: Path) -> Iterator[Path]:
    """The folder, checked before the run; where that is interrupted or fails, what was made of it is gone again."""
    from askless.cli.common import output_folder, refuse_foreign_files

    missing = [path for path in (out, *out.parents) if not path.exists()]
    folder = output_folder(out)
    refuse_foreign_files(folder, (_PLOT, _TRACE), _TRACE, _COLUMNS, "demonstration")
    try:
        yield folder
    except BaseException as error:
        for path in missing:
            with suppress(OSError):  # someone put something there meanwhile
                path.rmdir()
        if isinstance(error, KeyboardInterrupt):
            typer.echo("askless: interrupted; nothing was written.", err=True)
        raise


def _shuffled_questions(seed: int) -> Stream:
    import numpy as np

    from askless.datasets.sample import support_questions
    from askless.embed.wordllama import WordLlama
    from askless.streams.synthetic import Stream, as_whole

    texts, labels = support_questions()
    order = np.random.default_rng(as_whole(seed, 0, "--seed")).permutation(len(texts))
    shuffled = [texts[k] for k in order]
    return Stream(WordLlama().embed(shuffled), [labels[k] for k in order], "sphere", shuffled)


def _run(spec: str, stream: Stream, costs: Costs, seed: int, speed: float | None) -> tuple[Watched, Trace]:
    """Run the policy, with a live display where a speed is given."""
    from dataclasses import replace

    from askless.cli.common import console, named_policy
    from askless.cli.demo_screen import live_display
    from askless.cli.demo_watch import Watched
    from askless.simulate import simulate

    few = slice(0, 50)
    first = named_policy(spec, costs=costs, space=stream.space, horizon=len(stream.X))
    simulate(first, stream.X[few], stream.y[few])  # compiles what there is to compile, before the display opens
    watched = Watched(named_policy(spec, costs=costs, space=stream.space, horizon=len(stream.X)), stream)
    if speed is None:
        trace = simulate(watched, stream.X, stream.y, costs=costs, seed=seed)
    else:
        with live_display(console(), watched, costs, spec, speed):
            trace = simulate(watched, stream.X, stream.y, costs=costs, seed=seed)
    return watched, replace(trace, policy=spec)


def _save(folder: Path, trace: Trace, watched: Watched) -> None:
    from askless.plots import plot_run

    frame = trace.to_frame()
    frame.insert(2, "text", watched.texts)
    frame.to_csv(folder / _TRACE, index=False)
    plot_run(trace, folder / _PLOT)
