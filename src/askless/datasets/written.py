"""Files that `askless label` wrote: which of their labels are a guess of its own, and nobody's word."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from askless.datasets.values import as_text

if TYPE_CHECKING:
    from askless.datasets.tables import Table

EXPERT, GIVEN = "expert", "given"
GUESS, FORCED = "guess", "guess-forced"
SKIPPED, NO_TEXT = "skipped", "blank"
_SOURCES = {EXPERT, GIVEN, GUESS, FORCED, SKIPPED, NO_TEXT, ""}
_ADDED = "label"  # the usual name of a column that askless adds


def unsupported_rows(table: Table, label: str) -> set[int]:
    """In a file that askless wrote, the rows whose label in this column is no expert's word; in others none.

    Such a file has columns source, confidence and support, those of the last run with the most askless_ before them.
    A column of labels that askless added stands right before them, and then they speak of no other.
    """
    names = [str(name) for name in table.frame.columns]
    ours = [_newest(name, names) for name in ("source", "confidence", "support")]
    if any(names.count(name) != 1 for name in ours) or f"askless_{label}" in names:
        return set()
    place = names.index(ours[0])
    before = names[place - 1] if place else ""
    if before != label and before == _newest(_ADDED, names):
        return set()
    values = [as_text(value).strip() for value in table.frame.iloc[:, place]]
    if not set(values) <= _SOURCES:
        return set()
    return {k for k, value in enumerate(values) if value not in (EXPERT, GIVEN)}


def left_out(file: str, guesses: int) -> str:
    """What to say where guesses were not taken as known."""
    return (
        f"askless wrote {file}: of its labels those with the source expert or given are taken as known, and "
        f"{guesses:,} {'guess' if guesses == 1 else 'guesses'} not."
    )


def _newest(name: str, names: Container[str]) -> str:
    while f"askless_{name}" in names:
        name = f"askless_{name}"
    return name
