"""The cells of a table as a person reads them."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal


def as_text(value: object) -> str:
    """A cell as text: strings as they are, 3 for 3.0, true for True, a date without its midnight, "" for nothing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        midnight = value.timetz() == datetime.time(0)
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    return str(value)


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: None, NaN, or one of pandas' own signs for that."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def is_blank(text: str) -> bool:
    """Whether there is nothing to read in a text."""
    return not text or text.isspace()
