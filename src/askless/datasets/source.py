"""Labelled texts by one word on the command line: a data set's name, or a file of the user's."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from askless.datasets.catalogue import DATASETS, LabelledTexts, load_dataset
from askless.datasets.formats import WHOLE
from askless.datasets.open_text import STDIN
from askless.datasets.tables import Table, read_table
from askless.datasets.written import left_out, unsupported_rows
from askless.errors import InvalidInput


def read_source(
    spec: str,
    *,
    text: str | None = None,
    label: str | None = None,
    data_dir: Path | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    to_replay: bool = True,
) -> LabelledTexts:
    """The texts and labels of the data set `spec`, or of the file at that path with the columns `text` and `label`.

    Without `label` it is the one column called label. Rows of a file that have no label are left out and counted, and
    so are guesses, in a file that `askless label` wrote. Two labels at least must be left `to_replay` them; else one
    will do, and where there is none at all, all texts are kept and `labels` is empty.
    """
    if spec.lower() in DATASETS:
        if text is not None or label is not None:
            raise InvalidInput(f"--text and --label are for a file; {spec} is a data set, which has its own columns.")
        return load_dataset(spec, data_dir)
    path = Path(spec)
    if path != STDIN and not path.suffix and not path.exists():
        close = get_close_matches(spec.lower(), DATASETS, n=1)
        hint = f"did you mean {close[0]}? The" if close else "the"
        raise InvalidInput(f"There is no file and no data set {spec!r}; {hint} data sets are {', '.join(DATASETS)}.")
    table = read_table(
        path,
        text=text,
        label=label,
        find_label=True,
        label_needed=to_replay,
        encoding=encoding,
        separator=separator,
        sheet=sheet,
    )
    found = _labelled(table)
    if to_replay:
        _check_labels(table, found)
    elif not found.labels:
        return replace(found, texts=table.texts, split=[WHOLE] * len(table), unlabelled=0)
    return found


def _labelled(table: Table) -> LabelledTexts:
    if table.labels is None:
        return LabelledTexts([], [], [], table.path.name, len(table), tuple(table.remarks))
    found = list(zip(table.texts, table.labels, strict=True))
    doubted = unsupported_rows(table, str(table.label_column))
    rows = [(one, name) for k, (one, name) in enumerate(found) if name is not None and k not in doubted]
    guesses = sum(found[k][1] is not None for k in doubted)
    remarks = [*table.remarks, *([left_out("this file", guesses)] if guesses else [])]
    texts, labels = [one for one, _ in rows], [name for _, name in rows]
    return LabelledTexts(texts, labels, [WHOLE] * len(rows), table.path.name, len(table) - len(rows), tuple(remarks))


def _check_labels(table: Table, found: LabelledTexts) -> None:
    """Refuse a file with fewer than two labels: there would be nothing to tell apart."""
    kinds = set(found.labels)
    if len(kinds) >= 2:
        return
    which = "all its rows" if not found.unlabelled else "all its rows that have one"
    what = f"one label, {kinds.pop()!r}, on {which}" if kinds else "no labels"
    guesses = sum(label is not None for label in table.labels or ()) - len(found)
    beside = f", beside {guesses:,} that askless guessed" if guesses else ""
    raise InvalidInput(
        f"{table.path} has {what} in the column {table.label_column!r}{beside}; at least two different labels are "
        "needed."
    )
