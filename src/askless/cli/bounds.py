"""`askless bounds`: what the paper proves about a setting, beside what its policies do there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from askless.simulate import Job
    from askless.theory.report import Bound, Setting
    from askless.trace import Trace

_FILES = ("plot.png", "plot.svg", "bounds.csv")
_COLUMNS = b"policy,bound,place,sense,"  # what a table of bounds begins with


def bounds(
    space: Annotated[
        str, typer.Option(help="The space of the queries: sphere or euclidean (the unit cube).")
    ] = "sphere",
    dim: Annotated[int, typer.Option(help="The dimension of the queries.")] = 4,
    labels: Annotated[int, typer.Option(help="The number of labels.")] = 5,
    horizon: Annotated[int, typer.Option(help="T, the number of rounds.")] = 5000,
    separation: Annotated[
        float, typer.Option(help="For CC: the squared gap between seeds over sigma² d, at least 32.")
    ] = 80.0,
    runs: Annotated[int, typer.Option(help="Runs of each policy, each on queries of its own.")] = 5,
    seed: Annotated[int, typer.Option(help="The seed of the label seeds and of the first run.")] = 0,
    costs: Annotated[str, typer.Option(help="Rewards of a call, a right and a wrong guess.")] = "-1,1,-10",
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 uses every core.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder for plot.png, plot.svg and bounds.csv.")] = Path(
        "askless-bounds"
    ),
) -> None:
    """Print the paper's bounds on the regret, say which apply, and run the policies they are about.

    Labels are the Voronoi cells of seeds drawn at random, the same in every run.
    CHC meets uniform queries, CC a mixture around the seeds as its bounds assume.
    A bound is vacuous where it says less than asking every time does.
    """
    import numpy as np

    from askless.cli.common import console, output_folder, refuse_foreign_files
    from askless.errors import InvalidInput
    from askless.simulate import simulate_many
    from askless.streams.stream import as_dim, as_whole
    from askless.streams.synthetic import uniform
    from askless.theory.arguments import at_least
    from askless.theory.center_regret import LEAST_SEPARATION
    from askless.theory.report import Setting, bounds_of
    from askless.types import Costs

    rng = np.random.default_rng(as_whole(seed, 0, "--seed"))
    seeds = uniform(space, as_dim(space, dim), as_whole(labels, 1, "--labels"), rng)
    prices, rounds = Costs.parse(costs), as_whole(horizon, 2, "--horizon")
    if not prices.question > 0.0:
        raise InvalidInput(f"Where a question costs nothing there is no regret to bound; found --costs {costs}.")
    setting = Setting(seeds, space, rounds, at_least(separation, LEAST_SEPARATION, "--separation"), prices)
    todo = _jobs(setting, as_whole(runs, 1, "--runs"), seed)
    folder = output_folder(out)
    refuse_foreign_files(folder, _FILES, "bounds.csv", _COLUMNS, "table of bounds")
    screen = console()
    with screen.status("Listing the cells …"):
        found = bounds_of(setting)
        for bound in found:
            bound.value(rounds)
    traces = simulate_many(todo, n_jobs=jobs)
    by_policy = {name: [t for t in traces if t.policy == name] for name in dict.fromkeys(t.policy for t in traces)}
    screen.print(_table(setting, found, by_policy))
    screen.print(_notes(setting, runs))
    _save(folder, setting, found, by_policy)
    screen.print(f"Saved plot.png, plot.svg and bounds.csv in {folder}", soft_wrap=True, markup=False)


def _jobs(setting: Setting, runs: int, seed: int) -> list[Job]:
    """CHC on uniform queries and, where there is a gap between seeds, CC on the mixture of its assumption."""
    from functools import partial

    from askless.policies.center_based import CenterBased
    from askless.simulate import Job
    from askless.streams.synthetic import synthetic
    from askless.theory.separated import noise, separated_stream

    space, n, rounds, costs = setting.space, setting.n_labels, setting.horizon, setting.costs
    even = partial(synthetic, space, setting.dim, n, rounds, seeds=setting.seeds)
    todo = [Job("conservative-hull", even, seed + k, "CHC", n, costs) for k in range(runs)]
    if n >= 2:
        sigma = noise(setting.seeds, space, setting.separation).sigma
        policy = partial(CenterBased, 108.0, sigma, rounds, space=space, n_labels=n)
        mixture = partial(separated_stream, setting.seeds, space, rounds, separation=setting.separation)
        todo += [Job(policy, mixture, seed + k, "CC", n, costs) for k in range(runs)]
    return todo


def _table(setting: Setting, found: list[Bound], by_policy: dict[str, list[Trace]]) -> Table:
    from rich import box
    from rich.table import Table

    title = f"Bounds on the regret: {described(setting)}"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("bound", min_width=14)
    table.add_column("needs", min_width=16)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("applies", min_width=12)
    table.add_column("vacuous", no_wrap=True)
    table.add_column("simulated", justify="right", no_wrap=True)
    for k, bound in enumerate(found):
        if k and bound.about != found[k - 1].about:
            table.add_section()
        value = bound.value(setting.horizon)
        table.add_row(
            f"{bound.about}: {bound.name}\n[dim]{bound.place}[/dim]",
            bound.needs,
            "-" if value is None else amount(value),
            applies(bound),
            _yes_no(bound, setting),
            _simulated(by_policy.get(bound.about, [])),
        )
    return table


def described(setting: Setting) -> str:
    """The setting in a few words."""
    place = "unit cube" if setting.space == "euclidean" else "unit sphere"
    labels = f"{setting.n_labels} label{'s' if setting.n_labels > 1 else ''}"
    return f"{place}, dimension {setting.dim}, {labels}, T = {setting.horizon:,}"


def applies(bound: Bound) -> str:
    """Whether a bound applies, in a few words."""
    if bound.why_not:
        return f"no: {bound.why_not}"
    return "as T grows" if bound.in_the_limit else "yes"


def amount(value: float) -> str:
    """A regret for a table or a plot; in high dimensions bounds have many digits or are beyond all floats."""
    if value >= 1e7:
        return f"{value:.0e}".replace("e+", "e") if value < float("inf") else "over 1e308"
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _yes_no(bound: Bound, setting: Setting) -> str:
    if bound.why_not or bound.sense == "exact":
        return "-"
    return "yes" if bound.is_vacuous(setting.horizon, setting.costs) else "no"


def _simulated(traces: list[Trace]) -> str:
    from statistics import mean, stdev

    if not traces:
        return "-"
    last = [float(trace.regret[-1]) for trace in traces]
    return f"{mean(last):,.0f} ± {stdev(last):,.0f}" if len(last) > 1 else f"{last[0]:,.0f}"


def _notes(setting: Setting, runs: int) -> str:
    always = setting.costs.question * setting.horizon
    lines = [
        f"simulated: mean{' ± standard deviation' if runs > 1 else ''} of the regret in {runs} "
        f"{'runs' if runs > 1 else 'run'} on the same label seeds",
        f"vacuous: an upper bound of {amount(always)} or more, which asking every time costs; a lower bound of 0",
    ]
    if (setting.space, setting.dim) != ("euclidean", 1):
        lines.append("as T grows: a leading term; what the paper leaves out may be larger at this T")
        if setting.cells:
            stretch = f", K = {amount(setting.stretch)} with the best poles" if setting.space == "sphere" else ""
            lines.append(f"the cells have {amount(setting.flags)} flags{stretch}")
    return "\n".join(lines)


def _save(folder: Path, setting: Setting, found: list[Bound], by_policy: dict[str, list[Trace]]) -> None:
    """Write the three files, each whole or not at all; first the one by which the next run knows that all are ours."""
    import matplotlib

    from askless.cli.bounds_plot import draw_bounds
    from askless.datasets.whole import write_whole

    write_whole(folder / "bounds.csv", _csv(setting, found, by_policy).encode())
    figure = draw_bounds(setting, found, by_policy)
    for kind, options in (("png", {"dpi": 160}), ("svg", {"metadata": {"Date": None}})):
        contents = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "askless"}):  # else the names inside differ from run to run
            figure.savefig(contents, format=kind, **options)
        write_whole(folder / f"plot.{kind}", contents.getvalue())


def _csv(setting: Setting, found: list[Bound], by_policy: dict[str, list[Trace]]) -> str:
    import pandas as pd

    rows = []
    for bound in found:
        last = [float(trace.regret[-1]) for trace in by_policy.get(bound.about, [])]
        rows.append(
            {
                "policy": bound.about,
                "bound": bound.name,
                "place": bound.place,
                "sense": bound.sense,
                "needs": bound.needs,
                "value": bound.value(setting.horizon),
                "applies": not bound.why_not,
                "why_not": bound.why_not,
                "leading_term": bound.in_the_limit,
                "vacuous": bound.is_vacuous(setting.horizon, setting.costs),
                "runs": len(last),
                "simulated_mean": pd.Series(last, dtype=float).mean(),
                "simulated_deviation": pd.Series(last, dtype=float).std(),
            }
        )
    return pd.DataFrame(rows).to_csv(index=False)
