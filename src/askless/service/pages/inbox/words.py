"""The sentences of the inbox."""

from __future__ import annotations

from datetime import datetime, tzinfo

from askless.desk.live.types import Offer, Ticket, TicketStatus, Why
from askless.service.pages.parts import percent

KEYS = (
    ("1 to 9", "take a suggestion"),
    ("/", "search all labels"),
    ("n", "make a new label, with the answer that is sent"),
    ("g", "see the guess that the desk would make, and take it"),
    ("s", "skip: the question goes to others"),
    ("u", "undo your last answer, or skip"),
    ("Ctrl + Enter", "send the new label"),
    ("Esc", "leave what is open"),
    ("?", "show these keys"),
)
BLIND = "This desk checks itself against its experts, so it keeps what it thinks to itself."


def why_asked(ticket: Ticket, blind: bool) -> str:
    """Why the question was asked, and what the asker says of it."""
    suggested = "" if ticket.suggested is None else f" The asker says that “{ticket.suggested}” is right."
    if blind:
        return BLIND + suggested
    if ticket.why is Why.FEEDBACK:
        return f"The asker says that the answer “{ticket.guess}” is wrong.{suggested}"
    if ticket.why is Why.UNKNOWN:
        return "The desk knows no word of this text." + suggested
    said = [f"The desk had guessed “{ticket.guess}”; this checks it."] if ticket.why is Why.AUDIT else []
    said += [between(ticket.offers)] if len(ticket.offers) > 1 else []
    # The reason is of that time; what stands before it is of now, and the desk may have learned in between.
    said += [f"Why it was asked when it came: {ticket.reason}."] if ticket.reason else []
    if ticket.why is Why.UNSURE and ticket.guess is not None:
        said.append(f"By now the desk would answer “{ticket.guess}”.")
    return " ".join(said) + suggested


def between(offers: tuple[Offer, ...]) -> str:
    """The two likeliest labels and how close they are to each other."""
    first, second = offers[:2]
    pair = f"Between “{first.label}” and “{second.label}”"
    if first.probability is not None and second.probability is not None:
        return f"{pair}: {percent(first.probability)} against {percent(second.probability)}."
    if first.distance is not None and second.distance is not None:
        return f"{pair}: at a distance of {first.distance:.2f} against {second.distance:.2f}."
    return f"{pair}."


def kept_until(until: datetime | None, zone: tzinfo) -> str:
    """How long the question is the expert's own."""
    if until is None:
        return "Not kept for you any more: press a key to keep it."
    return f"Kept for you until {until.astimezone(zone):%H:%M}"


def changed_by(label: str, settled: int) -> str:
    """What an answer has changed."""
    if not settled:
        return f"Answered “{label}”."
    are = "1 waiting question is" if settled == 1 else f"{settled:,} waiting questions are"
    return f"Answered “{label}”. {are} now answered by this."


def gone(ticket: Ticket, who: str) -> str | None:
    """Why a question that is on the screen is not the expert's any more; None where it is, or may be again."""
    if ticket.status is TicketStatus.WITHDRAWN:
        return "The question before needs no answer any more: the desk has settled it by itself, or it was erased."
    if ticket.status is TicketStatus.ANSWERED:
        by = "You have" if ticket.closed_by == who else f"{ticket.closed_by} has"
        return f"{by} answered the question before in another window, with “{ticket.label}”."
    if ticket.lease_by not in (None, who):
        return f"{ticket.lease_by} has taken the question before."
    return None
