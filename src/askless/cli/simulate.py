"""`askless simulate`: policies against each other on synthetic streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.common import DEFAULT_POLICY

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from askless.simulate import StreamFactory
    from askless.trace import Trace

_TRACES, _SUMMARY, _PLOT = "traces.csv", "summary.csv", "plot.png"
_COLUMNS = b"policy,run,round,row,"  # what the traces of a simulation begin with


def simulate(
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, such as ghc:0.9, chc or module:Class. Repeat it to compare several.",
            show_default=DEFAULT_POLICY,
        ),
    ] = None,
    space: Annotated[
        str, typer.Option(help="The space of the queries: sphere or euclidean (the unit cube).")
    ] = "sphere",
    dim: Annotated[int, typer.Option(help="The dimension of the queries.")] = 10,
    labels: Annotated[int, typer.Option(help="The number of labels.")] = 5,
    rounds: Annotated[int, typer.Option(help="Queries in a run.")] = 5000,
    distribution: Annotated[
        str,
        typer.Option(
            help="How queries are drawn: uniform; mixture, from Gaussians around the seeds; drift, from Gaussians "
            "that leave them; or bisection, the adversary in dimension one."
        ),
    ] = "uniform",
    variance: Annotated[float, typer.Option(help="The variance of those Gaussians.")] = 0.01,
    weights: Annotated[
        str | None,
        typer.Option(help="Their weights, one a label, such as 5,1,1,1,1.", show_default="equal"),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each policy, each on a stream of its own.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed of the first run; the next ones count on from it.")] = 0,
    delay: Annotated[int, typer.Option(help="Rounds that pass before the expert's answer is learned.")] = 0,
    error_rate: Annotated[float, typer.Option(help="The share of the expert's answers that are wrong.")] = 0.0,
    first_examples: Annotated[
        bool, typer.Option("--first-examples", help="Give one example of each label before the first round.")
    ] = False,
    open_world: Annotated[
        bool, typer.Option("--open-world", help="Do not tell the policies how many labels there are.")
    ] = False,
    costs: Annotated[str, typer.Option(help="Rewards of a call, a right and a wrong guess.")] = "-1,1,-10",
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 uses every core.")] = 1,
    out: Annotated[Path | None, typer.Option(help="A folder for traces.csv, summary.csv and plot.png.")] = None,
) -> None:
    """Run policies on synthetic streams and compare calls, mistakes and regret.

    Labels are the Voronoi cells of random seeds; every policy meets the same streams.
    """
    import numpy as np

    from askless.cli.common import console, named_policy, output_folder, refuse_foreign_files
    from askless.simulate import Job, simulate_many
    from askless.streams.stream import as_whole
    from askless.types import Costs

    known = None if open_world else as_whole(labels, 1, "--labels")
    prices = Costs.parse(costs)
    stream = _stream(space, dim, labels, rounds, distribution, variance, weights)
    specs = list(dict.fromkeys(policy or [DEFAULT_POLICY]))
    for spec in specs:  # a name that does not work is better refused before the first run than after it
        named_policy(spec, costs=prices, space=space, n_labels=known, horizon=rounds)
    stream(rng=np.random.default_rng(0))  # and so is a stream that cannot be drawn
    folder = None if out is None else output_folder(out)
    if folder is not None:
        refuse_foreign_files(folder, (_TRACES, _SUMMARY, _PLOT), _TRACES, _COLUMNS, "simulation")
    todo = [
        Job(spec, stream, seed + run, spec, known, prices, delay, error_rate, first_examples)
        for spec in specs
        for run in range(as_whole(runs, 1, "--runs"))
    ]
    traces = simulate_many(todo, n_jobs=jobs)
    summary = _summary(traces, runs)
    length, always_ask = traces[0].rounds, traces[0].costs.question * traces[0].rounds
    title = f"{runs} x {length:,} rounds: {space}, dimension {dim}, {labels} labels, {distribution}"
    console().print(_table(title, summary, specs, always_ask))
    if folder is not None:
        _save(folder, traces, summary, runs)
        typer.echo(f"Saved {_TRACES}, {_SUMMARY} and {_PLOT} in {folder}")


def _stream(
    space: str, dim: int, labels: int, rounds: int, distribution: str, variance: float, weights: str | None
) -> StreamFactory:
    """What makes the stream of a run, as the options describe it."""
    from functools import partial

    from askless.errors import InvalidInput
    from askless.streams.bisection import bisection
    from askless.streams.synthetic import DISTRIBUTIONS, synthetic

    if distribution not in (*DISTRIBUTIONS, "bisection"):
        raise InvalidInput(f"--distribution is {', '.join(DISTRIBUTIONS)} or bisection; found {distribution!r}.")
    shares = None if weights is None else _numbers(weights)
    if distribution != "bisection":
        return partial(
            synthetic, space, dim, labels, rounds, distribution=distribution, variance=variance, weights=shares
        )
    if (space, dim, labels, shares) != ("euclidean", 1, 2, None):
        raise InvalidInput(
            "A bisection takes --space euclidean --dim 1 --labels 2 and no --weights; found "
            f"--space {space} --dim {dim} --labels {labels}{'' if weights is None else f' --weights {weights}'}."
        )
    return partial(bisection, rounds)


def _numbers(text: str) -> list[float]:
    from askless.errors import InvalidInput

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"--weights are numbers with commas between them, as in 5,1,1; found {text!r}.") from None


def _summary(traces: list[Trace], runs: int) -> pd.DataFrame:
    """One line a run."""
    import pandas as pd

    frame = pd.DataFrame([trace.summary() for trace in traces])
    frame.insert(1, "run", [k % runs for k in range(len(traces))])
    return frame


def _table(title: str, summary: pd.DataFrame, specs: list[str], always_ask: float) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    spread = "mean ± standard deviation over the runs; " if len(summary) > len(specs) else ""
    table.caption = f"{spread}asking every time has regret {always_ask:,.0f}"
    table.caption_justify = "left"
    table.add_column("policy", overflow="fold")
    columns = {
        "calls": "calls",
        "calls_after_all_seen": "after all labels seen",
        "mistakes": "mistakes",
        "share_automated": "automated",
        "regret": "regret",
    }
    for heading in columns.values():
        table.add_column(heading, justify="right")
    for spec in specs:
        rows = summary[summary["policy"] == spec]
        table.add_row(spec, *(_cell(list(rows[name]), name == "share_automated") for name in columns))
    return table


def _cell(values: list[float], percent: bool) -> str:
    from statistics import mean, stdev

    scale, unit = (100.0, " %") if percent else (1.0, "")
    scaled = [scale * float(value) for value in values]
    spread = f" ± {stdev(scaled):,.0f}" if len(scaled) > 1 else ""
    return f"{mean(scaled):,.0f}{spread}{unit}"


def _save(folder: Path, traces: list[Trace], summary: pd.DataFrame, runs: int) -> None:
    import pandas as pd

    from askless.plots import plot_run

    frames = []
    for k, trace in enumerate(traces):
        frame = trace.to_frame()
        frame.insert(0, "policy", trace.policy)
        frame.insert(1, "run", k % runs)
        frames.append(frame)
    pd.concat(frames).to_csv(folder / _TRACES, index=False)
    summary.to_csv(folder / _SUMMARY, index=False)
    plot_run(traces, folder / _PLOT)
