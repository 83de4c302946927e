"""When two texts are the same query, and under which key the ledger keeps it."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_MOST_MARKS = 30  # combining marks in a row
_BREAK = "\N{COMBINING GRAPHEME JOINER}"  # which is seen by nobody, and no mark is moved past it
# What every long run of marks holds: fourteen characters outside ASCII that are neither letters, digits nor spaces.
# A mark stands for two at most once it is taken apart, and the letter before brings three: fewer do not make 31.
_SUSPECT = re.compile(r"[^\w\s\x00-\x7f]{14}")


def normal(text: str) -> str:
    """The text without white space at its ends, in Unicode's composed form (NFC): equal ones are asked once.

    Halves of surrogate pairs, which no file in UTF-8 can hold, become question marks. More than thirty combining marks
    in a row, which no language needs, are broken up.
    """
    if text.isascii():
        return text.strip()
    text = text.encode("utf-8", "replace").decode("utf-8")
    if _SUSPECT.search(text):
        text = _stream_safe(text)
    return unicodedata.normalize("NFC", text).strip()


def key_of(text: str) -> str:
    """A key that equal texts share."""
    return hashlib.sha256(normal(text).encode()).hexdigest()


def _stream_safe(text: str) -> str:
    """The text taken apart, with a joiner after each thirty marks in a row (UAX #15, section 13).

    To normalise is to sort each run of marks, in a time that grows with the square of its length and in which no other
    thread of the process runs. Characters are taken apart one by one here, so that the marks of composed ones count
    and nothing is sorted yet.
    """
    apart = {ord(c): unicodedata.normalize("NFD", c) for c in set(text)}
    text = text.translate(apart)
    marks = "".join(sorted(c for c in set(text) if unicodedata.combining(c)))
    return re.sub(f"([{marks}]{{{_MOST_MARKS}}})(?=[{marks}])", rf"\1{_BREAK}", text) if marks else text
