"""The state of a desk: a fold of the ledger's events, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from askless.desk.cases import Case, Status, Why
from askless.desk.decisions import read
from askless.desk.nearest import ClosestLabels
from askless.ledger import events as kinds
from askless.ledger.events import Event
from askless.ledger.ledger import Query
from askless.types import Ask, Exploring, Guess, Policy, supports


class ExpertAct(NamedTuple):
    """An answer or a skip that stands: its event, the event of its question, and the query."""

    event: int
    question: int
    query: int


class State:
    """Where each query stands, and a policy that has been told what the events say.

    `apply` is the only way from an event to the state, whether the event has just happened or is read back: so a desk
    that was killed is, when it is opened again, in the state of one that was not.
    """

    def __init__(self, policy: Policy, queries: Mapping[int, Query]) -> None:
        self.policy = policy
        self.near = ClosestLabels()
        self.cases: dict[int, Case] = {}
        self.labels: Counter[str] = Counter()  # how many examples each has
        self.acts: list[ExpertAct] = []  # what can be taken back
        self.questions = 0  # that the expert has dealt with, those about queries that were forgotten since among them
        self.audits: list[bool] = []  # of each audited guess, whether it was right
        self.history: list[bool] = []  # of each query in the first pass but those of exploring, whether it was asked
        self.rounds = 0  # queries that the first pass has been through
        self.reviewed_to = 0  # the last query that the second pass changed or asked about
        self.open = 0  # questions that are open
        self._queries = queries
        self._handlers = {
            kinds.GIVEN: self._given,
            kinds.DECIDED: self._decided,
            kinds.ASKED: self._asked,
            kinds.ANSWERED: self._answered,
            kinds.SKIPPED: self._skipped,
            kinds.AUDITED: self._audited,
            kinds.FORCED: self._forced,
        }

    def apply(self, event: Event) -> None:
        """Take in one event."""
        if event.query is None:
            return
        if event.kind == kinds.RECEIVED:
            self.cases[event.query] = Case(self._queries[event.query])
        elif event.kind in self._handlers:
            self._handlers[event.kind](self.cases[event.query], event)

    def _given(self, case: Case, event: Event) -> None:
        self._close(case)
        self.reviewed_to = 0  # what is known has changed
        label = str(event.payload["label"])
        if case.status is Status.GIVEN:
            self._relabel(case, label)
        else:
            self._learn(case, Status.GIVEN, label)

    def _decided(self, case: Case, event: Event) -> None:
        case.decision = decision = read(event.payload)
        review = bool(event.payload.get("review"))
        if review and not case.reviewed:
            case.first = case.guess
        case.reviewed = review
        case.drawn = max(case.drawn, float(event.payload.get("drawn", 0.0)))
        self.reviewed_to = case.query.id if case.reviewed else 0
        if not case.observed and case.query.vector is not None:  # once for each query
            self.policy.observe(case.query.vector, decision)
            self.rounds += 1
            if not (isinstance(decision, Ask) and isinstance(decision.reason, Exploring)):
                case.round = len(self.history)
                self.history.append(isinstance(decision, Ask))
        case.observed = True
        if isinstance(decision, Guess):
            case.take_guess(str(decision.label), decision.probability, decision.evidence)

    def _asked(self, case: Case, event: Event) -> None:
        why = Why(event.payload["why"])
        case.status, case.question, case.why = Status.ASKED, event.id, why
        self.open += 1
        if not case.observed:  # a text that the embedder knows nothing of: nothing was decided
            case.observed = True
            self.rounds += 1
            self.history.append(True)
        elif why is Why.AUDIT:
            case.audited = True
            if case.round is not None:
                self.history[case.round] = True

    def _answered(self, case: Case, event: Event) -> None:
        self._act(case, event)
        self._learn(case, Status.ANSWERED, event.payload["label"])

    def _skipped(self, case: Case, event: Event) -> None:
        self._act(case, event)
        case.pass_by()

    def _audited(self, case: Case, event: Event) -> None:
        self.audits.append(bool(event.payload["right"]))

    def _forced(self, case: Case, event: Event) -> None:
        self._close(case)
        if case.guess is not None:
            case.status, case.label = Status.GUESSED, case.guess
            if case.audited:  # an audit that was not to be asked any more
                case.audited, case.drawn = False, 0.0
        else:
            case.status, case.label = Status.FORCED, event.payload["label"]
            case.probability = event.payload["probability"]
            case.evidence = supports(event.payload.get("evidence", ()))

    def _act(self, case: Case, event: Event) -> None:
        self.acts.append(ExpertAct(event.id, case.question, case.query.id))
        self.questions += 1
        self._close(case)

    def _close(self, case: Case) -> None:
        self.open -= case.status is Status.ASKED

    def _learn(self, case: Case, status: Status, label: str) -> None:
        case.take_word(status, label)
        self.labels[label] += 1
        if case.query.vector is not None:
            self.policy.learn(case.query.vector, label, id=case.query.id)
            self.near.add(case.query.id, case.query.vector, label)

    def _relabel(self, case: Case, label: str) -> None:
        """A label that was given before is another now."""
        if case.label is not None:
            self.labels[case.label] -= 1
            self.labels = +self.labels  # without those of no example
        self.labels[label] += 1
        case.label = label
        if case.query.vector is not None:
            self.policy.relabel(case.query.id, label)
            self.near.add(case.query.id, case.query.vector, label)
