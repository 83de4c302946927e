"""What can happen at a desk: the kinds of events, and one event as it is read back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

RECEIVED = "received"  # a query came in; its text and vector are in the table of queries
GIVEN = "given"  # an example known before: label, and where it came from
CONFIGURED = "configured"  # settings of the desk from here on: policy, costs, embedder, audit rate
DECIDED = "decided"  # what the policy said of a query, as askless.desk.decisions writes it
ASKED = "asked"  # a question was opened to the expert, and why
ANSWERED = "answered"  # the expert's label: the question is closed, the query an example
SKIPPED = "skipped"  # the expert passed the question by
AUDITED = "audited"  # a guess was asked as well: the guess, the answer, whether they agree
FORCED = "forced"  # the best label, taken although the policy would have asked
CORRECTED = "corrected"  # an act of the expert is taken back: what came after `back_to` stands no more
EXPORTED = "exported"  # the labels were written to a file: its path and digest
FORGOTTEN = "forgotten"  # an example goes; in the service its query keeps the label, in `askless label` it is as new

# At the desks of the service alone, where many experts act in any order, so that an undo takes back one act.
RETRACTED = "retracted"  # the answer of the event `undone` is taken back: its example goes, its ticket opens again
RELABELLED = "relabelled"  # an expert corrects an example, or a guess, which becomes one: its label
LABEL_MADE = "label made"  # a label without examples: its name and answer text
LABEL_CHANGED = "label changed"  # another answer text
RENAMED = "renamed"  # a label is called `to` from here on
MERGED = "merged"  # all examples of a label become those of the label `into`
LABEL_DELETED = "label deleted"  # a label goes, and its examples are forgotten
WITHDRAWN = "withdrawn"  # a ticket is closed without an answer, and why
OFFERED = "offered"  # a waiting ticket has the policy's guess beside it from here on: label and probability
FEEDBACK = "feedback"  # who asked says that a guess is wrong, and what is right where they know it
SWITCHED = "switched"  # all vectors are another embedder's from here on: its id, and the name that makes it
ERASED = "erased"  # text and vector of a query are gone, and its example with them

_OUTLIVES_UNDO = frozenset({RECEIVED, GIVEN, CONFIGURED, EXPORTED})


class Event(NamedTuple):
    """One line of the ledger. `seen` is the last event that a decision had seen when it was made."""

    id: int
    kind: str
    query: int | None
    payload: dict[str, Any]
    seen: int | None = None
    who: str | None = None
    at: datetime | None = None


def standing(events: Iterable[Event]) -> list[Event]:
    """The events that count: without those that a correction took back, and without the corrections.

    Nothing is ever deleted: an undo is an event with `back_to`, the question that it opens again. What was decided
    and answered after that question stands no more; queries received, examples given and settings do.
    """
    kept: list[Event] = []
    for event in events:
        if event.kind != CORRECTED:
            kept.append(event)
            continue
        back_to = int(event.payload["back_to"])
        tail = len(kept)
        while tail and kept[tail - 1].id > back_to:
            tail -= 1
        kept[tail:] = [e for e in kept[tail:] if e.kind in _OUTLIVES_UNDO]
    return kept
