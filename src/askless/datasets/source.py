"""Labelled texts by one word on the command line: a data set's name, or a file of the user's."""

from __future__ import annotations

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
) -> LabelledTexts:
    """The texts and labels of the data set `spec`, or of the file at that path with the columns `text` and `label`.

    Without `label` it is the one column called label. Rows of a file that have no label are left out and counted, and
    so are guesses, in a file that `askless label` wrote. Two labels at least must be left.
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
    return _labelled(
        read_table(path, text=text, label=label, find_label=True, encoding=encoding, separator=separator, sheet=sheet)
    )


def _labelled(table: Table) -> LabelledTexts:
    found = list(zip(table.texts, table.labels or (), strict=True))
    doubted = unsupported_rows(table, str(table.label_column))
    rows = [(one, name) for k, (one, name) in enumerate(found) if name is not None and k not in doubted]
    guesses = sum(found[k][1] is not None for k in doubted)
    remarks = [*table.remarks, *([left_out("this file", guesses)] if guesses else [])]
    kinds = {name for _, name in rows}
    if len(kinds) < 2:
        which = "all its rows" if len(rows) == len(table) else "all its rows that have one"
        what = f"one label, {kinds.pop()!r}, on {which}" if kinds else "no labels"
        beside = f", beside {guesses:,} that askless guessed" if guesses else ""
        raise InvalidInput(
            f"{table.path} has {what} in the column {table.label_column!r}{beside}; at least two different labels are "
            "needed."
        )
    texts, labels = [one for one, _ in rows], [name for _, name in rows]
    return LabelledTexts(texts, labels, [WHOLE] * len(rows), table.path.name, len(table) - len(rows), tuple(remarks))
