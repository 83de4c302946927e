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
_SHARE = 0.4  # of the letters of a known label: fewer are in order in too many of them
_LONGEST = 200  # signs: comparing longer ones takes long, and no one mistypes them
_WORD = re.compile(r"[^\W_]+")
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


def understood(line: str, choices: Sequence[str], known: Collection[str] = ()) -> Reply:
    """The reply in a line: a number of `choices`, a command, or a label; after = anything is a label.

    White space within a label is one space: a line break that was pasted, or a second space, would make a label that
    looks like another. A label that is `known` by more of it is meant by all that look so.
    """
    typed = normal(line)
    if not typed:
        return Reply(Act.HELP)
    if typed.startswith("="):
        label = _spaced(normal(typed[1:]), known)
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
    return Reply(Act.LABEL, _spaced(typed, known))


def _spaced(typed: str, known: Collection[str]) -> str:
    """The label with single spaces, or the known one that differs from it by white space alone."""
    label = " ".join(typed.split())
    if typed in known or label in known:
        return typed if typed in known else label
    return next((other for other in known if " ".join(other.split()) == label), label)


def doubtful(reply: Reply, known: Collection[str]) -> str | None:
    """The known label that a reply may have meant by another; None where there is no doubt."""
    return None if reply.act is not Act.LABEL or reply.exact else close_label(reply.label, known)


def close_label(label: str, known: Collection[str]) -> str | None:
    """A known label that a new one may stand for; None where it is known, or like none of them.

    Like is: the same but for capitals, a slip of a few letters, or a good share of the known one's letters, begun
    with its first and going on within a word or at the start of another (crdarr for card not arrived).
    """
    if label in known:
        return None
    folded = {other.casefold(): other for other in known}
    key = label.casefold()
    if key in folded:
        return folded[key]
    # Only those of about the same length can be that close, which spares thousands of comparisons.
    near = [other for other in folded if abs(len(other) - len(key)) <= 0.4 * max(len(other), len(key))]
    found = difflib.get_close_matches(key, near, n=1, cutoff=_CLOSE) if len(key) <= _LONGEST else []
    if found:
        return folded[found[0]]
    letters = "".join(_WORD.findall(key))
    found = [other for other in folded if _abbreviates(letters, _WORD.findall(other))]
    return folded[min(found, key=len)] if found else None


def _abbreviates(letters: str, words: Sequence[str]) -> bool:
    """Whether the letters begin the first word and go on in it, or at the start of a later one; one way through."""
    if not words or len(letters) < max(_SHORTEST, _SHARE * sum(map(len, words))) or letters[0] != words[0][0]:
        return False
    word, place = 0, 0  # of the last letter that was found
    for letter in letters[1:]:
        further = words[word].find(letter, place + 1)
        if further >= 0:
            place = further
            continue
        word = next((k for k in range(word + 1, len(words)) if words[k][0] == letter), -1)
        if word < 0:
            return False
        place = 0
    return True
