"""What stands about each query: the fold of the ledger's events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from askless.ledger.ledger import Query
from askless.types import Decision, Support


class Status(StrEnum):
    """How far a query is."""

    WAITING = "waiting"  # nothing has been decided, or the policy would ask and may not
    ASKED = "asked"  # its question is open
    GUESSED = "guessed"  # labelled by the policy
    FORCED = "forced"  # labelled by the best guess there was, where the policy would have asked
    ANSWERED = "answered"  # labelled by the expert
    GIVEN = "given"  # its label was known before
    SKIPPED = "skipped"  # the expert passed it by


class Why(StrEnum):
    """Why a question is put."""

    UNSURE = "unsure"  # the policy decided so
    UNKNOWN = "unknown"  # the embedder knows nothing of the text, so nothing can be guessed
    AUDIT = "audit"  # to measure the error rate: the policy had guessed
    AGAIN = "again"  # it was skipped before
    REVIEW = "review"  # with all that is known at the end the guess looks wrong


@dataclass(slots=True)
class Case:
    """One query and where it stands.

    `decision` is what the policy said of it last; `guess` its label, kept while an audit or a review is open; `first`
    the guess that the second pass met. `drawn` is the rate at which its guess was drawn for an audit, 0 where it was
    not; `audited` says that the draw fell on it.
    """

    query: Query
    status: Status = Status.WAITING
    label: str | None = None
    guess: str | None = None
    decision: Decision | None = None
    probability: float | None = None
    evidence: tuple[Support, ...] = ()
    observed: bool = False
    reviewed: bool = False
    first: str | None = None
    drawn: float = 0.0
    audited: bool = False
    round: int | None = None  # its place in the history of the first pass
    skips: int = 0
    question: int = 0  # the event that opened its question
    why: Why | None = None

    def take_guess(self, label: str, probability: float | None, evidence: tuple[Support, ...]) -> None:
        """A guess of the policy stands."""
        self.status, self.label, self.guess = Status.GUESSED, label, label
        self.probability, self.evidence = probability, evidence

    def take_word(self, status: Status, label: str) -> None:
        """An expert's word stands, in place of any guess."""
        self.status, self.label, self.probability, self.evidence = status, label, None, ()

    def pass_by(self) -> None:
        """The expert does not say: an audited or reviewed guess stays, anything else is left without a label."""
        self.skips += 1
        if self.guess is not None:
            self.status, self.label = Status.GUESSED, self.guess
        else:
            self.status, self.label = Status.SKIPPED, None


class Taken(NamedTuple):
    """Labels known before: how many are new, and how many replace one that was given before."""

    new: int
    changed: int


class Withdrawn(NamedTuple):
    """Labels that are given no more: how many, and how many guesses of them are to be made again."""

    labels: int
    guesses: int
