"""The rows of the user's file: which texts they hold, which labels are there already, and the labelled file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.datasets import written
from askless.desk.cases import Case, Status
from askless.desk.texts import normal
from askless.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from askless.datasets.tables import Table
    from askless.desk.desk import Desk

_SOURCES = {
    Status.ANSWERED: written.EXPERT,
    Status.GUESSED: written.GUESS,
    Status.FORCED: written.FORCED,
    Status.GIVEN: written.GIVEN,
    Status.SKIPPED: written.SKIPPED,
}
_SUPPORTS = 5  # examples named beside a guess


@dataclass(frozen=True, slots=True)
class Rows:
    """A table, and of each row its text (blank where there is none) and the label it came with (None where none).

    `fills` is the column of the file that takes the labels, or None where one is added. `doubted` counts the labels
    that were not taken as known, since askless guessed them when it wrote this file. `assumed` says that the first row
    was taken for the columns' names, and the texts' column found among them.
    """

    table: Table
    texts: list[str]
    given: list[str | None]
    truth: list[str | None] = field(default_factory=list)
    fills: str | None = None
    doubted: int = 0
    assumed: bool = False

    @property
    def distinct(self) -> list[str]:
        """The texts that are not blank, each once, in the order of the file."""
        return list(dict.fromkeys(text for text in self.texts if text))

    @property
    def disputed(self) -> dict[str, list[str]]:
        """Texts that have several labels in the file, with those, the most frequent first."""
        votes: dict[str, Counter[str]] = {}
        for text, label in zip(self.texts, self.given, strict=True):
            if text and label:
                votes.setdefault(text, Counter())[label] += 1
        return {text: [label for label, _ in found.most_common()] for text, found in votes.items() if len(found) > 1}

    def examples(self, desk: Desk) -> list[tuple[int, str]]:
        """Queries whose label is known before: the most frequent one, where equal texts have several."""
        return by_query(desk, self.texts, self.given)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the file is to be read: the column of the texts, and what the file does not say of itself."""

    text: str | None = None
    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    header: bool = True
    skip_bad: bool = False

    def read(self, path: Path) -> Table:
        """The table at this path."""
        from askless.datasets.tables import read_table

        return read_table(
            path,
            text=self.text,
            encoding=self.encoding,
            separator=self.separator,
            sheet=self.sheet,
            header=self.header,
            on_bad_rows="skip" if self.skip_bad else "error",
        )


def read_rows(path: Path, layout: Layout, *, label: str, ignored: bool, oracle: str | None) -> Rows:
    """The rows of the file. Labels in the column `label` count as known, unless `ignored` or the oracle's own."""
    if str(path) == "-":
        raise InvalidInput("askless label reads its answers from the standard input; name the file with the texts.")
    table = layout.read(path)
    texts = [normal(text) for text in table.texts]
    if not any(texts):
        raise InvalidInput(f"Every text in the column {table.text_column!r} of {path.name} is blank.")
    if label == table.text_column:
        raise InvalidInput(f"--label-column {label!r} is the column of the texts; name another.")
    fills = None if ignored else _own_column(table, label, oracle)
    given: list[str | None] = [None] * len(texts)
    doubted = 0
    if fills is not None:
        given, doubted = known_labels(table, fills, "--label-column")
    truth = column(table, oracle, "--oracle") if oracle is not None else []
    if oracle is not None and not any(truth):
        raise InvalidInput(f"The column {oracle!r} of {path.name} is blank, so no expert can be played from it.")
    assumed = layout.header and layout.text is None and table.format in ("csv", "tsv", "excel")
    return Rows(table, texts, given, truth, fills, doubted, assumed)


def _own_column(table: Table, label: str, oracle: str | None) -> str | None:
    """The file's column of that name, or the only one that differs from it by capitals and white space at its ends."""
    names = [str(name) for name in table.frame.columns]
    if label not in names:
        like = [name for name in names if name.strip().casefold() == label.strip().casefold()]
        like = [name for name in like if name != table.text_column]
        if len(like) != 1:
            return None
        label = like[0]
    return None if label == oracle else label


def known_labels(table: Table, name: str, option: str) -> tuple[list[str | None], int]:
    """The labels of a column that are somebody's word, and how many are not, since askless guessed them."""
    found, guessed = column(table, name, option), written.unsupported_rows(table, name)
    known = [None if k in guessed else label for k, label in enumerate(found)]
    return known, known.count(None) - found.count(None)


def column(table: Table, name: str, option: str) -> list[str | None]:
    """The values of a column as labels; None where a cell is blank."""
    from askless.datasets.values import as_text

    names = [str(name) for name in table.frame.columns]
    if names.count(name) != 1:
        if name in names:
            raise InvalidInput(f"{table.path.name} has {names.count(name)} columns {name!r}; rename all but one.")
        close = get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"{table.path.name} has no column {name!r}.{hint} {option} takes one of {', '.join(names)}.")
    return [normal(as_text(value)) or None for value in table.frame[name]]


def by_query(desk: Desk, texts: Sequence[str], labels: Sequence[str | None]) -> list[tuple[int, str]]:
    """Each query that has a label, with the most frequent of its labels; the first of those, where two are equal."""
    votes: dict[int, Counter[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        id = desk.id_of(text) if text and label else None
        if id is not None and label:
            votes.setdefault(id, Counter())[label] += 1
    return [(id, counts.most_common(1)[0][0]) for id, counts in votes.items()]


def order_of(texts: Sequence[str], seed: int | None) -> list[str]:
    """The texts as they are, or shuffled by a seed."""
    if seed is None:
        return list(texts)
    import numpy as np

    if seed < 0:
        raise InvalidInput(f"--shuffle takes a seed of 0 or more; found {seed}.")
    return [texts[k] for k in np.random.default_rng(seed).permutation(len(texts))]


# -- the labelled file ----------------------------------------------------------------------------------------


def labelled(rows: Rows, desk: Desk, label_column: str) -> pd.DataFrame:
    """The file's columns with label, source, confidence and support beside them.

    A label column of the file's own is filled, unless it is ignored or the oracle's; else, and where another column
    has one of these names, the name begins with askless_.
    """
    frame = rows.table.frame.copy()
    cells = [_cells(rows, desk, k) for k in range(len(rows.texts))]
    if rows.fills is not None:
        frame[rows.fills] = _objects([cell[0] for cell in cells], frame.index)
    else:
        _add(frame, label_column, [cell[0] for cell in cells])
    for place, name in enumerate(("source", "confidence", "support"), 1):
        _add(frame, name, [cell[place] for cell in cells])
    return frame


def _add(frame: pd.DataFrame, name: str, values: list[Any]) -> None:
    while name in frame.columns:
        name = f"askless_{name}"
    frame[name] = _objects(values, frame.index)


def _objects(values: list[Any], index: pd.Index[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series(values, index=index, dtype=object)


def _cells(rows: Rows, desk: Desk, k: int) -> tuple[str | None, str | None, float | None, str | None]:
    """Label, source, confidence and support of one row."""
    text, given = rows.texts[k], rows.given[k]
    id = desk.id_of(text) if text else None
    case = None if id is None else desk.case(id)
    answered = case is not None and case.status is Status.ANSWERED
    if given is not None and not answered:  # an answer stands against the file, for the policy too
        return given, _SOURCES[Status.GIVEN], None, None
    if not text:
        return None, written.NO_TEXT, None, None
    if case is None:
        return None, None, None, None
    if case.status is Status.ASKED and case.guess is not None:  # an audit or a review that was not answered
        return case.guess, _SOURCES[Status.GUESSED], _rounded(case.probability), _support(case, desk)
    return case.label, _SOURCES.get(case.status), _rounded(case.probability), _support(case, desk)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _support(case: Case, desk: Desk) -> str | None:
    """The examples that carry a guess, the weightiest first, with their shares of the weight."""
    total = sum(abs(support.weight) for support in case.evidence)
    if not total:
        return None
    heaviest = sorted(case.evidence, key=lambda support: -abs(support.weight))[:_SUPPORTS]
    named = [(desk.text(s.id) if isinstance(s.id, int) else None, s.weight / total) for s in heaviest]
    shown = [{"text": text or "", "weight": round(share, 3)} for text, share in named]
    return json.dumps(shown, ensure_ascii=False)


def sources(rows: Rows, desk: Desk) -> Counter[str]:
    """How many rows have their label from where; "" for those that have none yet."""
    return Counter(_cells(rows, desk, k)[1] or "" for k in range(len(rows.texts)))


@dataclass(frozen=True, slots=True)
class Played:
    """A dry run over the distinct texts whose truth is known and was not given before; `untold` have no truth."""

    texts: int
    questions: int
    guesses: int
    wrong: int
    untold: int


def played(rows: Rows, desk: Desk) -> Played:
    """What a dry run comes to, counted by distinct texts; the most frequent truth, where equal texts have several."""
    truth = dict(by_query(desk, rows.texts, rows.truth))
    cases = [case for case in desk.cases() if case.status is not Status.GIVEN]
    told = {case.query.id: case for case in cases if case.query.id in truth}
    labels = {id: case.label for id, case in told.items() if case.status in (Status.GUESSED, Status.FORCED)}
    return Played(
        texts=len(told),
        questions=sum(act.query in told for act in desk.book.state.acts),
        guesses=len(labels),
        wrong=sum(label != truth[id] for id, label in labels.items()),
        untold=len(cases) - len(told),
    )
