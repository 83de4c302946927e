"""The calls of experts: the inbox."""

from __future__ import annotations

from typing import Any

from askless.client.call import Call, path
from askless.client.results import Answered, Page, Ticket, one, page_of

_ticket = one(Ticket)


def next_ticket(desk: str) -> Call[Ticket | None]:
    """The most useful ticket for you, held for you for a while; None where nothing waits.

    A ticket that you hold already comes first, so a repeated try gives the same one.
    """
    return Call("POST", path("desks", desk, "tickets", "next"), _maybe_ticket, harmless=True)


def ticket(desk: str, number: int) -> Call[Ticket]:
    """One ticket."""
    return Call("GET", path("desks", desk, "tickets", number), _ticket, harmless=True)


def tickets(
    desk: str, *, status: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Ticket]]:
    """A page of tickets."""
    params = {"status": status, "cursor": cursor, "limit": limit}
    return Call("GET", path("desks", desk, "tickets"), page_of(Ticket), params=params, harmless=True)


def claim(desk: str, number: int) -> Call[Ticket]:
    """Hold a ticket, so that nobody else is given it."""
    return Call("POST", path("desks", desk, "tickets", number, "claim"), _ticket, harmless=True)


def answer(desk: str, number: int, label: str, answer: str | None = None) -> Call[Answered]:
    """Answer a ticket with a label, known or new; `answer` is the answer text that a new label sends back.

    The same answer again by the same expert is the same answer, so it may be tried again. One to a ticket that was
    withdrawn, since the desk has guessed its query meanwhile, counts as well, in place of the guess.
    """
    body = {"label": label} if answer is None else {"label": label, "answer": answer}
    return Call("POST", path("desks", desk, "tickets", number, "answer"), one(Answered), body=body, harmless=True)


def skip(desk: str, number: int) -> Call[Ticket]:
    """Pass a ticket by: it goes to somebody else."""
    return Call("POST", path("desks", desk, "tickets", number, "skip"), _ticket)


def release(desk: str, number: int) -> Call[Ticket]:
    """Hold a ticket no longer."""
    return Call("POST", path("desks", desk, "tickets", number, "release"), _ticket, harmless=True)


def undo(desk: str, number: int) -> Call[Ticket]:
    """Take your answer back: the ticket is open again, and held for you."""
    return Call("POST", path("desks", desk, "tickets", number, "undo"), _ticket)


def _maybe_ticket(response: Any) -> Ticket | None:
    return None if response.status_code == 204 else _ticket(response)
