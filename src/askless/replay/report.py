"""The files of a replay: rows, summary, decisions, curves and a page that holds them all."""

from __future__ import annotations

import base64
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.datasets.whole import write_whole
from askless.plots import draw_run
from askless.replay.data import Vectored
from askless.replay.details import label_lines, sample_mistakes
from askless.replay.run import Entry, Outcome
from askless.reproduce.report import save_plot

if TYPE_CHECKING:
    import pandas as pd

FILES = ("rows.csv", "summary.csv", "decisions.csv", "curves.svg", "report.html")
_ALWAYS_ASK = "always-ask"
_LABELS_SHOWN = 20
_FIGURES = ("calls", "mistakes", "share_automated", "error_rate", "regret", "seconds")


def write_report(
    folder: Path, outcome: Outcome, data: Vectored, *, command: str, facts: Mapping[str, str], remarks: Sequence[str]
) -> Path:
    """Write the files of `FILES`, each whole or not at all, and return the page's path.

    rows.csv has a line a run, summary.csv a line an entry of the table, decisions.csv a line a round of each entry.
    """
    for name, frame in (
        ("rows.csv", rows_frame(outcome)),
        ("summary.csv", summary_frame(outcome.entries)),
        ("decisions.csv", decisions_frame(outcome.entries, data)),
    ):
        text = frame.to_csv(index=False, lineterminator="\n")
        write_whole(folder / name, text.encode(errors="replace"))
    curves = save_plot(draw_run(_curves(outcome.entries)), folder / "curves.svg")
    page = _page(outcome.entries, data, curves, command, facts, remarks)
    return write_whole(folder / "report.html", page.encode(errors="replace"))


def rows_frame(outcome: Outcome) -> pd.DataFrame:
    """A line a run: every value of every sweep."""
    import pandas as pd

    shown = {entry.contender for entry in outcome.entries}
    lines = []
    for played in outcome.played:
        one, summary = played.run.contender, played.trace.summary()
        lines.append(
            {
                "family": one.family,
                "policy": one.spec,
                "value": one.value,
                "seed": played.run.seed,
                "shown": one in shown,
                **{name: summary[name] for name in ("rounds", "calls", "mistakes", "share_automated", "regret")},
                "seconds": round(played.trace.seconds, 2),
            }
        )
    return pd.DataFrame(lines)


def summary_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """A line an entry: means over the seeds, and deviations."""
    import pandas as pd

    lines = []
    for entry in entries:
        one = entry.contender
        line: dict[str, Any] = {
            "family": one.family,
            "policy": one.spec,
            "title": entry.title,
            "value": one.value,
            "best_of": entry.of,
            "at_end_of_range": entry.at_end,
            "seeds": len(entry.runs),
            "rounds": entry.runs[0].trace.rounds,
        }
        for name in _FIGURES:
            figure = entry.figure(name)
            line |= {name: round(figure.mean, 4), f"{name}_deviation": round(figure.deviation, 4)}
        lines.append(line | {"note": entry.note})
    return pd.DataFrame(lines)


def decisions_frame(entries: Sequence[Entry], data: Vectored) -> pd.DataFrame:
    """A line a round of each entry, with the text."""
    import pandas as pd

    frames = []
    for entry in entries:
        for played in entry.runs:
            frame = played.trace.to_frame()
            frame.insert(0, "policy", entry.contender.spec)
            frame.insert(1, "seed", played.run.seed)
            frame.insert(4, "text", [data.texts[row] for row in played.trace.row])
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _curves(entries: Sequence[Entry]) -> list[Any]:
    """The traces under the names the plot shows; asking every time it draws by itself, unless there is nothing else."""
    drawn = [entry for entry in entries if entry.contender.spec != _ALWAYS_ASK] or entries
    return [
        replace(played.trace, policy=entry.contender.spec.replace(":", " ") if entry.contender.peer else entry.title)
        for entry in drawn
        for played in entry.runs
    ]


def _page(
    entries: Sequence[Entry],
    data: Vectored,
    curves: Path,
    command: str,
    facts: Mapping[str, str],
    remarks: Sequence[str],
) -> str:
    from jinja2 import Environment, StrictUndefined

    first = entries[0]
    source = (files("askless.replay") / "report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["figure"] = show_figure
    lines, mistakes = label_lines(first), sample_mistakes(first.runs[0], data)
    return environment.from_string(source).render(
        name=data.name,
        command=command,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        facts=facts,
        versions={"Python": platform.python_version()} | {name: version(name) for name in ("askless", "numpy")},
        remarks=remarks,
        entries=entries,
        several=len(first.runs) > 1,
        costs=first.runs[0].trace.costs,
        image=f"data:image/svg+xml;base64,{base64.b64encode(curves.read_bytes()).decode()}",
        first=first,
        labels=lines[:_LABELS_SHOWN],
        n_labels=len(lines),
        mistakes=mistakes,
        with_probability=any(one.probability is not None for one in mistakes),
        n_mistakes=int(first.runs[0].trace.mistakes[-1]),
    )


def show_figure(entry: Entry, name: str) -> str:
    """A figure of an entry as a table shows it, with its deviation where there were several runs.

    Where nothing was guessed, no share of the guesses was wrong or right: the place stays empty.
    """
    if name == "error_rate" and entry.figure("guesses").mean == 0.0:
        return ""
    figure, several = entry.figure(name), len(entry.runs) > 1
    if name in ("share_automated", "error_rate"):
        return f"{100 * figure.mean:.1f}" + (f" ± {100 * figure.deviation:.1f}" if several else "") + " %"
    if name == "seconds":
        return f"{figure.mean:,.1f}"
    return f"{figure.mean:,.0f}" + (f" ± {figure.deviation:,.0f}" if several else "")
