"""The columns of a table that hold the texts and the labels, found by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

from askless.errors import InvalidInput

TEXT_NAMES = ("text", "query", "question", "utterance", "sentence", "message")
LABEL_NAME = "label"
_LONGEST_NAME = 40  # characters, and
_MOST_WORDS = 2  # of what is likely to be a column's name


def looks_like_a_text(name: str) -> bool:
    """Whether a column's name may be a text of a file without a first line of names."""
    return len(name) > _LONGEST_NAME or len(name.split()) > _MOST_WORDS


def place_of(name: str, names: list[str], wanted: str) -> int:
    """Where the column stands; one that is not there, or there twice, is refused."""
    count = Counter(names)[wanted]
    if count == 1:
        return names.index(wanted)
    if count:
        raise InvalidInput(f"{name} has {count} columns {wanted!r}; rename all but one of them.")
    by_small = {other.strip().lower(): other for other in names}
    close = get_close_matches(wanted.strip().lower(), by_small, n=1)
    hint = f"did you mean {by_small[close[0]]!r}? Its columns are" if close else "its columns are"
    raise InvalidInput(f"{name} has no column {wanted!r}; {hint} {listed(names)}.")


def found_label(name: str, names: list[str], text: str | None, needed: bool = True) -> str | None:
    """The one column called label; None where there is no such column and none is needed."""
    found = [other for other in names if other.strip().casefold() == LABEL_NAME and other != text]
    if len(found) == 1:
        return found[0]
    if not found and not needed:
        return None
    raise InvalidInput(
        f"Which column of {name} holds the labels? Name it with --label; its columns are {listed(names)}."
    )


def text_place(name: str, names: list[str], text: str | None, label: int | None) -> int:
    """Where the texts stand: in the column named so, the only one beside the labels', or one of a usual name."""
    if text is not None:
        return place_of(name, names, text)
    others = [place for place in range(len(names)) if place != label]
    usual = [place for place in others if names[place].strip().lower() in TEXT_NAMES]
    for places in (others, usual):
        if len(places) == 1:
            return places[0]
    likely = {names[place] for place in usual or others}
    if len(likely) == 1:  # one name, twice: no --text could choose
        return place_of(name, names, likely.pop())
    raise InvalidInput(f"Which column of {name} holds the texts? Name it with --text; its columns are {listed(names)}.")


def listed(names: Iterable[object]) -> str:
    """The names of columns for a message, thirty at most."""
    shown = [name if name and name == name.strip() else repr(name) for name in map(str, names)]
    return ", ".join(shown[:30]) + (f" and {len(shown) - 30} more" if len(shown) > 30 else "")
