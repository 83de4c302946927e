"""What may be the name of a label, and how long a text may be."""

from __future__ import annotations

import unicodedata

from askless.desk.texts import normal
from askless.errors import InvalidInput

LONGEST_NAME = 200
LONGEST_ANSWER = 10_000


def label_name(name: object) -> str:
    """The name as it is kept: in Unicode's composed form, without white space at its ends."""
    if not isinstance(name, str):
        raise InvalidInput(f"A label is a text; found {name!r} ({type(name).__name__}).")
    kept = normal(name)
    if not kept:
        raise InvalidInput("A label needs a name that can be read; found a blank one.")
    if len(kept) > LONGEST_NAME:
        raise InvalidInput(
            f"A label's name has at most {LONGEST_NAME} characters; found {len(kept)}. Put what is longer into the "
            "label's answer text."
        )
    if any(_is_control(sign) for sign in kept):
        raise InvalidInput(
            f"A label's name holds no control characters, line breaks included; found {kept[:60]!r}. Leave them out."
        )
    return kept


def answer_text(answer: object) -> str | None:
    """The answer text as it is kept: None where it is blank; line breaks stay."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise InvalidInput(f"An answer is a text; found {answer!r} ({type(answer).__name__}).")
    kept = normal(answer)
    if len(kept) > LONGEST_ANSWER:
        raise InvalidInput(f"An answer text has at most {LONGEST_ANSWER:,} characters; found {len(kept):,}.")
    if "\0" in kept:
        raise InvalidInput("An answer text holds no NUL characters; leave them out.")
    return kept or None


def _is_control(sign: str) -> bool:
    """Control characters, line and paragraph separators, and the marks that turn the direction of a line."""
    return (
        unicodedata.category(sign) in ("Cc", "Zl", "Zp")
        or sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
