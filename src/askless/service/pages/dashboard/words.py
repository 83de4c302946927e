"""Numbers and times as the dashboard says them."""

from __future__ import annotations

from datetime import datetime

from askless.desk.audits import ErrorRate

_SPACE = "\N{NO-BREAK SPACE}"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def percent(share: float) -> str:
    """A share of one, with one digit after the point; two where one would claim too much near 0 or 1."""
    digits = 2 if 0.0 < share < 0.001 or 0.999 < share < 1.0 else 1
    return f"{100 * share:.{digits}f}{_SPACE}%"


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    whole = round(seconds)
    parts: list[tuple[int, str]] = []
    for size, unit in _UNITS:
        if whole >= size or (unit == "s" and not parts):
            parts.append((whole // size, unit))
            whole %= size
        elif parts:
            parts.append((0, unit))
    return _SPACE.join(f"{count}{_SPACE}{unit}" for count, unit in parts[:2] if count or len(parts) == 1)


def money(amount: float, currency: str, *, beside: float = 0.0) -> str:
    """An amount, with its sign before it; with cents where it and the amounts beside it are small."""
    digits = 2 if max(abs(amount), abs(beside)) < 100 else 0
    gap = _SPACE if currency[-1:].isalnum() else ""
    sign = "\N{MINUS SIGN}" if round(amount, digits) < 0 else ""  # a hyphen may end a line
    return f"{sign}{currency}{gap}{abs(amount):,.{digits}f}"


def quantity(number: float) -> str:
    """A number that need not be whole."""
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:,.1f}" if abs(number) >= 0.1 else f"{number:.2f}"


def number_of(count: int, one: str, many: str) -> str:
    """So many of something."""
    return f"{count:,} {one if count == 1 else many}"


def trust(rate: ErrorRate, mean_probability: float | None) -> str:
    """How often the guesses were wrong by the audits, beside what the desk itself had expected."""
    found = f"{wrong_of(rate, 'audited')}; {true_rate(rate)}."
    if mean_probability is None:
        return found
    return f"{found} By the probabilities that it gave, the desk expected {percent(1 - mean_probability)}."


def wrong_of(rate: ErrorRate, how: str) -> str:
    """How many of the guesses that were looked at were wrong."""
    guesses = number_of(rate.audited, f"{how} guess", f"{how} guesses")
    return f"{rate.wrong:,} of {guesses} {'was' if rate.wrong == 1 else 'were'} wrong"


def true_rate(rate: ErrorRate) -> str:
    """Between which rates the true one lies."""
    return f"the true rate lies between {percent(rate.low)} and {percent(rate.high)}, with 95{_SPACE}% confidence"


def day(at: datetime) -> str:
    """A date."""
    return f"{at.day} {at:%b}"


def span_name(start: datetime, by: str) -> str:
    """A span of time in full."""
    if by == "hour":
        return f"{at_day(start)}, {start:%H:%M} to {start:%H}:59 UTC"
    if by == "month":
        return f"{start:%B %Y}"
    return f"the week from {at_day(start)}" if by == "week" else at_day(start)


def at_day(at: datetime) -> str:
    """A date with its weekday and year."""
    return f"{at:%a} {at.day} {at:%b %Y}"


def tick(start: datetime, by: str, span: str) -> str:
    """A span of time as it stands at an axis."""
    if by == "month":
        return f"{start:%b %Y}"
    if by == "hour":
        return f"{start:%H:%M}" if span == "24h" else f"{day(start)} {start:%H:%M}"
    return day(start)
