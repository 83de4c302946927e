"""`askless replay`: labelled texts through policies, with a simulated expert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.tables import DelimiterOption, EncodingOption, SheetOption

if TYPE_CHECKING:
    from askless.datasets.catalogue import LabelledTexts
    from askless.replay.data import Vectored
    from askless.replay.protocol import Setting
    from askless.replay.run import Outcome


def replay(
    source: Annotated[
        str, typer.Argument(help="A labelled file (.csv, .tsv, .jsonl, .parquet, .xlsx), or the name of a data set.")
    ],
    text: Annotated[str | None, typer.Option(help="The file's column of texts.", show_default="found by name")] = None,
    label: Annotated[
        str | None, typer.Option(help="The file's column of labels.", show_default="the one called label")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the runs, the report and its files.")] = Path(
        "askless-replay"
    ),
    force: Annotated[
        bool, typer.Option("--force", help="Write over files in that folder that no replay wrote.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, such as ghc:0.9, chc or module:Class. Repeat it to compare several.",
            show_default="the usual one, GHC at 13 taus, always-ask",
        ),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Add the plain alternatives, each at its best threshold in hindsight.")
    ] = False,
    embedder: Annotated[str, typer.Option(help="What turns texts into vectors.")] = "wordllama",
    costs: Annotated[str, typer.Option(help="Rewards of a call, a right and a wrong guess.")] = "-1,1,-10",
    rounds: Annotated[
        int | None, typer.Option(help="Replay the first so many rows of each order.", show_default="all rows")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Orders of the rows that each policy meets.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of the first order; the next ones count on from it.")] = 0,
    first_examples: Annotated[
        bool, typer.Option("--first-examples", help="Give one example of each label before the first round.")
    ] = False,
    known_labels: Annotated[
        bool, typer.Option("--known-labels", help="Tell the policies how many labels there are.")
    ] = False,
    delay: Annotated[int, typer.Option(help="Rounds that pass before the expert's answer is learned.")] = 0,
    error_rate: Annotated[float, typer.Option(help="The share of the expert's answers that are wrong.")] = 0.0,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 uses every core.")] = 1,
    data_dir: Annotated[
        Path | None, typer.Option(help="The folder of the data sets.", show_default="ASKLESS_DATA, or the user's own")
    ] = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    sheet: SheetOption = None,
) -> None:
    """Replay labelled texts with a simulated expert, and compare calls, mistakes and regret.

    Without --policy it compares askless's usual policy with GHC at its best tau in hindsight and with asking every
    time. Interrupt it, and the same command goes on where it was.
    """
    from askless.cli.common import DEFAULT_POLICY, console, output_folder
    from askless.cli.replay_screen import shown_progress, table
    from askless.datasets.delimited import separator_named
    from askless.datasets.source import read_source
    from askless.errors import InvalidInput
    from askless.replay.folder import refuse_foreign_files
    from askless.replay.peers.table import installed_peers
    from askless.replay.protocol import TAUS, Setting
    from askless.replay.run import contenders
    from askless.replay.run import replay as play
    from askless.streams.stream import as_whole
    from askless.types import Costs

    setting = Setting(Costs.parse(costs), rounds, first_examples, known_labels, delay, error_rate)
    orders = range(as_whole(seed, 0, "--seed"), seed + as_whole(seeds, 1, "--seeds"))
    if jobs == 0:
        raise InvalidInput("--jobs is the number of runs at a time, or -1 for every core; found 0.")
    found = read_source(
        source,
        text=text,
        label=label,
        data_dir=data_dir,
        encoding=encoding,
        separator=separator_named(delimiter),
        sheet=sheet,
    )
    names = policy or [DEFAULT_POLICY, "always-ask"]
    _check_policies(names, setting, found.labels)
    if not force:
        refuse_foreign_files(out)
    folder = output_folder(out)
    others, remarks = installed_peers() if peers else ([], [])
    data = _embedded(found, embedder)
    remarks += _left_out(found, data)
    for remark in remarks:
        typer.echo(f"askless: {remark}", err=True)
    chosen = contenders(names, data, setting, others, () if policy else TAUS)
    with shown_progress(folder) as progress:
        outcome = play(chosen, data, setting, orders, folder, jobs=jobs, progress=progress)
    console().print(table(data, outcome.entries))
    page = _report(folder, outcome, data, remarks)
    typer.echo(f"\nReport: {page} (with rows.csv, summary.csv, decisions.csv and curves.svg beside it)")


def _check_policies(names: list[str], setting: Setting, labels: list[str]) -> None:
    """Refuse a policy that cannot be made, or a stream without a round, before any text is embedded."""
    from askless.cli.common import named_policy

    order = setting.order(labels, 0)
    for name in names:
        named_policy(name, **setting.defaults(len(set(labels)), len(order.stream)))


def _embedded(found: LabelledTexts, embedder: str) -> Vectored:
    from askless.cli.progress import bar, working
    from askless.embed.cache import CachedEmbedder, EmbeddingCache
    from askless.embed.named import make_embedder
    from askless.replay.data import vectored

    with working(f"loading {embedder}"):
        model = make_embedder(embedder, texts=found.texts)
    with EmbeddingCache() as cache, bar("embedding", len(found)) as show:
        return vectored(found.name, found.texts, found.labels, CachedEmbedder(model, cache), show)


def _left_out(found: LabelledTexts, data: Vectored) -> list[str]:
    """What to say about how the file was read, and about rows that are left out or always asked."""
    said = list(found.remarks)
    if found.unlabelled:
        said.append(f"Rows left out because they have no known label: {found.unlabelled:,}.")
    unknown = int((~data.known).sum())
    if unknown:
        said.append(f"Texts of which {data.embedder} knows no token, so that every policy asks them: {unknown:,}.")
    return said


def _report(folder: Path, outcome: Outcome, data: Vectored, remarks: list[str]) -> Path:
    import shlex
    import sys

    from askless.replay.report import write_report

    first = outcome.entries[0].runs[0]
    setting, trace = first.run.setting, first.trace
    given = len(setting.order(data.labels, first.run.seed).given)
    known = [
        f"one example of each of {given} labels" if setting.first_examples else "no example",
        "the number of labels" if setting.known_labels else "not the number of labels",
    ]
    expert = f"{setting.delay} rounds late, {100 * setting.error_rate:g} % wrong"
    facts = {
        "data": f"{data.name}: {len(data.texts):,} texts, {len(data.classes):,} labels",
        "embedder": data.embedder,
        "rounds": f"{trace.rounds:,}; orders of the rows: {len(outcome.entries[0].runs)}",
        "known before": ", ".join(known),
        "answers": "at once, all right" if not (setting.delay or setting.error_rate) else expert,
    }
    command = shlex.join(["askless", *sys.argv[1:]])
    return write_report(folder, outcome, data, command=command, facts=facts, remarks=remarks)
