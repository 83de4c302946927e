"""Texts and labels of unknown origin, made safe to show on a terminal."""

from __future__ import annotations

import unicodedata

_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # could show a text as another


def visible(text: str, longest: int | None = None) -> str:
    """The text on one line, with control characters spelled out, so that none of them reaches the terminal.

    Signs that turn the direction of the text around are spelled out too; right-to-left letters stay as they are.
    """
    shown = "".join(_shown(sign) for sign in " ".join(text.split("\n")))
    if longest is not None and len(shown) > longest:
        return f"{shown[: longest - 1]}…"
    return shown


def _shown(sign: str) -> str:
    if sign == "\t":
        return " "
    if sign in _DIRECTION or unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp"):
        return sign.encode("unicode_escape", "backslashreplace").decode("ascii")
    return sign
