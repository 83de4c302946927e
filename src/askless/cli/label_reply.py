"""What the expert typed, understood: a label, or what to do instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from askless.cli.label_text import visible
from askless.desk.texts import normal

_SHORTEST = 3  # letters: fewer are in almost every label
_CLOSE = 0.84  # of difflib's ratio: "card not arived" to "card not arrived" is 0.97


class Act(StrEnum):
    """What a typed line asks for."""

    LABEL = "label"
    SKIP = "skip"
    UNDO = "undo"
    QUIT = "quit"
    HELP = "help"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Reply:
    """An act; `label` goes with LABEL, `message` with UNCLEAR. `exact` says that the label is not to be doubted."""

    act: Act
    label: str = ""
    message: str = ""
    exact: bool = False


_COMMANDS = {
    "?": Act.HELP,
    ":h": Act.HELP,
    ":help": Act.HELP,
    ":s": Act.SKIP,
    ":skip": Act.SKIP,
    ":u": Act.UNDO,
    ":undo": Act.UNDO,
    ":q": Act.QUIT,
    ":quit": Act.QUIT,
}


def understood(line: str, choices: Sequence[str]) -> Reply:
    """The reply in a line: a number of `choices`, a command, or a label; after = anything is a label."""
    typed = normal(line)
    if not typed:
        return Reply(Act.HELP)
    if typed.startswith("="):
        label = normal(typed[1:])
        return (
            Reply(Act.LABEL, label, exact=True)
            if label
            else Reply(Act.UNCLEAR, message="After = comes a label; type it there.")
        )
    if typed.lower() in _COMMANDS:
        return Reply(_COMMANDS[typed.lower()])
    if typed.startswith(":"):
        return Reply(
            Act.UNCLEAR,
            message=f"There is no {visible(typed)}; ? lists what there is, ={visible(typed)} is that label.",
        )
    if typed.isascii() and typed.isdigit():
        if 1 <= int(typed) <= len(choices):
            return Reply(Act.LABEL, choices[int(typed) - 1], exact=True)
        return Reply(Act.UNCLEAR, message=f"There is no suggestion {typed}; for a label of that name type ={typed}.")
    return Reply(Act.LABEL, typed)


def doubtful(reply: Reply, known: Collection[str]) -> str | None:
    """The known label that a reply may have meant by another; None where there is no doubt."""
    return None if reply.act is not Act.LABEL or reply.exact else close_label(reply.label, known)


def close_label(label: str, known: Collection[str]) -> str | None:
    """A known label that a new one may stand for; None where it is known, or like none of them.

    Like is: the same but for capitals, a slip of a few letters, or letters of the known one in their order, which the
    completion finds too (crdarr for card not arrived).
    """
    if label in known:
        return None
    folded = {other.casefold(): other for other in known}
    key = label.casefold()
    if key in folded:
        return folded[key]
    # Only those of about the same length can be that close, which spares thousands of comparisons.
    near = [other for other in folded if abs(len(other) - len(key)) <= 0.4 * max(len(other), len(key))]
    found = difflib.get_close_matches(key, near, n=1, cutoff=_CLOSE)
    if found:
        return folded[found[0]]
    spelled = re.compile(".*?".join(map(re.escape, key))) if len(key) >= _SHORTEST else None
    found = [other for other in folded if spelled is not None and spelled.search(other)]
    return folded[min(found, key=len)] if found else None
