"""When two texts are the same query, and under which key the ledger keeps it."""

from __future__ import annotations

import hashlib
import unicodedata


def normal(text: str) -> str:
    """The text without white space at its ends, in Unicode's composed form (NFC): equal ones are asked once.

    Halves of surrogate pairs, which no file in UTF-8 can hold, become question marks.
    """
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8")).strip()


def key_of(text: str) -> str:
    """A key that equal texts share."""
    return hashlib.sha256(normal(text).encode()).hexdigest()
