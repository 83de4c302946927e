"""From a file and a ledger to a desk that is ready for its next question."""

from __future__ import annotations

import getpass
import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askless.cli.common import DEFAULT_POLICY, named_policy
from askless.cli.label_notes import notes_on, overruled_notes, withdrawn_notes
from askless.cli.label_rows import Rows, by_query, known_labels, order_of
from askless.cli.label_screen import counted, patient_bar
from askless.cli.progress import working
from askless.datasets import delimited, workbooks
from askless.datasets.written import left_out
from askless.desk.book import last_settings
from askless.desk.desk import Desk
from askless.desk.settings import Settings
from askless.desk.warm import warm_up
from askless.errors import AsklessError, InvalidInput, UnreadableFile
from askless.ledger.events import EXPORTED
from askless.ledger.ledger import Ledger
from askless.types import Costs, Policy

if TYPE_CHECKING:
    from askless.datasets.tables import Table
    from askless.types import Embedder

DESK = "label"
_EMBEDDER = "wordllama"
_SEPARATOR = "name another separator in a first line such as sep=:, which a .csv file may have"
_SEED_ADVICE = {  # in place of what options of the file to label would do
    delimited.LEFT_OUT: "take the row out",
    delimited.NAMED: _SEPARATOR,
    delimited.NAMED_OR_ALONE: _SEPARATOR,
    workbooks.NAMED: "move the sheet with the examples to the front",
}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for; None where the ledger's settings go on, or the defaults at the first run."""

    policy: str | None = None
    embedder: str | None = None
    costs: str | None = None
    audit_rate: float | None = None
    max_questions: int | None = None
    shuffle: int | None = None
    second_pass: bool = True
    seed_file: Path | None = None
    seed_text: str | None = None
    seed_label: str | None = None
    seed_encoding: str | None = None
    encoding: str | None = None  # of the file to label: that of a seed file too, where it is not UTF-8

    def settings(self, before: Settings | None, texts: int) -> Settings:
        """The settings of this run."""
        known = before or Settings(DEFAULT_POLICY, _EMBEDDER, horizon=texts)
        return replace(
            known,
            policy=known.policy if self.policy is None else self.policy,
            embedder=known.embedder if self.embedder is None else self.embedder,
            costs=known.costs if self.costs is None else Costs.parse(self.costs),
            audit_rate=known.audit_rate if self.audit_rate is None else self.audit_rate,
        )


def open_desk(ledger: Ledger, rows: Rows, wishes: Wishes, who: str | None, label_column: str) -> tuple[Desk, list[str]]:
    """The desk with the file's texts, what is known before, and what a person should be told at the start."""
    row = ledger.desk(DESK)
    before = None if row is None else last_settings(ledger, row)
    settings = wishes.settings(before, len(rows.distinct))
    _make_policy(settings)  # what cannot be made is refused before anything is written
    seeds, seed_guesses = _seeds(wishes, label_column)
    texts = [*seeds, *order_of(rows.distinct, wishes.shuffle)]
    embedder = _Embedder(settings.embedder, rows)
    if row is None:
        row = ledger.add_desk(DESK, embedder().id)
    with working("getting the policy ready"):
        warm_up(_make_policy(settings))
    with patient_bar(lambda: "replaying the ledger") as show:
        desk = Desk(
            ledger,
            row,
            settings,
            _make_policy,
            who=who,
            max_questions=wishes.max_questions,
            review=wishes.second_pass,
            progress=show,
        )
    resumed = bool(desk.book.queries)
    fresh = sum(desk.id_of(text) is None for text in rows.distinct)
    with patient_bar(lambda: "embedding") as show:
        desk.receive(texts, embedder, show)
    ids = [id for text in rows.distinct if (id := desk.id_of(text)) is not None]
    known = dict(rows.examples(desk))
    before_it = [pair for pair in by_query(desk, list(seeds), list(seeds.values())) if pair[0] not in known]
    coming = [label for _, label in before_it] + list(known.values())
    withdrawn = desk.withdraw([id for id in ids if id not in known], "file", coming)  # before the seed file gives them
    taken = [desk.give(before_it, "seed file"), desk.give(known.items(), "file")]
    desk.attend(ids)
    notes = notes_on(rows, desk, resumed, fresh, *taken)
    notes += [*withdrawn_notes(withdrawn), *overruled_notes(desk, known)]
    if seed_guesses:
        notes.append(left_out("the seed file", seed_guesses))
    if resumed and wishes.shuffle is not None and not _in_order(desk, texts):
        notes.append("--shuffle orders new texts only: those that the ledger has keep their place.")
    return desk, notes


def _in_order(desk: Desk, texts: list[str]) -> bool:
    """Whether the desk has the texts in this order."""
    ids = [id for text in texts if (id := desk.id_of(text)) is not None]
    return ids == sorted(ids)


def _make_policy(settings: Settings) -> Policy:
    return named_policy(settings.policy, costs=settings.costs, space="sphere", horizon=settings.horizon or None)


class _Embedder:
    """Makes the embedder when it is first wanted: a run that goes on with the same texts does without."""

    def __init__(self, spec: str, rows: Rows) -> None:
        self._spec, self._rows = spec, rows
        self._made: Embedder | None = None

    def __call__(self) -> Embedder:
        if self._made is None:
            from askless.embed.cache import CachedEmbedder, EmbeddingCache
            from askless.embed.named import make_embedder

            with working("loading the embedder"):
                made = make_embedder(self._spec, texts=self._rows.table.texts)
                self._made = CachedEmbedder(made, EmbeddingCache())
        return self._made


def _seeds(wishes: Wishes, label_column: str) -> tuple[dict[str, str], int]:
    """The examples of the seed file, text and label, and how many guesses of askless's own are not among them.

    Where a text has several labels, it is the last.
    """
    if wishes.seed_file is None:
        if (wishes.seed_text, wishes.seed_label, wishes.seed_encoding) != (None, None, None):
            raise InvalidInput(
                "--seed-text, --seed-label and --seed-encoding say how a seed file is read; name it with --seed-file."
            )
        return {}, 0
    from askless.desk.texts import normal

    label = wishes.seed_label or label_column
    table = _seed_table(wishes.seed_file, label, wishes)
    labels, guesses = known_labels(table, label, "--seed-label")
    found = {normal(text): label for text, label in zip(table.texts, labels, strict=True) if label and normal(text)}
    if not found:
        beside = f" beside {counted(guesses, 'guess', 'guesses')} of askless" if guesses else ""
        raise InvalidInput(
            f"{wishes.seed_file} has no row with a text and a label{beside}; expected examples known before."
        )
    return found, guesses


def _seed_table(path: Path, label: str, wishes: Wishes) -> Table:
    """The seed file in its own encoding; where that is not said, UTF-8, or else the encoding of the file to label."""
    from askless.datasets.tables import read_table

    read = partial(read_table, path, text=wishes.seed_text, label=label)
    try:
        try:
            return read(encoding=wishes.seed_encoding)
        except UnreadableFile:
            if wishes.seed_encoding is not None or wishes.encoding is None:
                raise
            return read(encoding=wishes.encoding)
    except (UnreadableFile, InvalidInput) as error:  # whose advice is for the file to label
        raise type(error)(_for_a_seed_file(str(error))) from error


def _for_a_seed_file(message: str) -> str:
    """The message with advice that a seed file can follow: it has an encoding and columns of its own, and no more."""
    for advice, instead in _SEED_ADVICE.items():
        message = message.replace(advice, instead)
    return re.sub(r"--(?=(encoding|text)\b)", "--seed-", message)


@dataclass(frozen=True, slots=True)
class Aside:
    """A ledger that was given another name, and the files that its labels were written to."""

    path: Path
    exports: list[dict[str, Any]]

    def back(self, path: Path) -> None:
        """Put it where it was."""
        _move(self.path, path)


def move_aside(path: Path) -> Aside | None:
    """Give the ledger the first free name with a number; None where there is no ledger."""
    if not path.exists():
        return None
    exports: list[dict[str, Any]] = []
    try:
        with Ledger(path) as ledger:  # which also refuses one that another process is at work on
            row = ledger.desk(DESK)
            exports = [] if row is None else [event.payload for event in ledger.events(row, EXPORTED)]
    except InvalidInput:
        raise
    except AsklessError:
        pass  # damaged or foreign: moved as it is
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    _move(path, aside)
    return Aside(aside, exports)


def _move(old: Path, new: Path) -> None:
    """A ledger and what SQLite may keep beside it."""
    for end in ("", "-wal", "-shm"):
        part = old.with_name(old.name + end)
        if part.exists():
            os.replace(part, new.with_name(new.name + end))


def user() -> str | None:
    """Who sits there, as the system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return None
