"""A desk: embed, decide, record, learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from askless.desk.audits import ErrorRate, awaits_audit, coverage, error_rate, is_audited
from askless.desk.book import Book, Progress
from askless.desk.cases import Case, Status, Taken, Why, Withdrawn
from askless.desk.decisions import written
from askless.desk.questions import Question, choices, named
from askless.desk.settings import Settings
from askless.desk.texts import key_of
from askless.errors import InvalidInput
from askless.ledger.events import ANSWERED, ASKED, AUDITED, DECIDED, EXPORTED, FORCED, GIVEN, SKIPPED
from askless.ledger.ledger import DeskRow, Ledger
from askless.types import Ask, Decision, Embedder, Exploring, Guess, Policy

_STEPS_BETWEEN_COMMITS = 256  # guesses that a crash may undo: the next start makes the same ones


class Desk:
    """One stream of texts, the policy that labels it, and the expert who is asked where the policy is not sure.

    The ledger is the truth: all that changes the state is an event first, and the state is a fold of the events. So a
    desk that was killed at any point decides, when it is opened again, as one that was not. `make_policy` gives a
    policy that has learned nothing; `max_questions` are all that the expert is asked, over all runs; `review` says
    whether the guesses are decided again at the end.
    """

    def __init__(
        self,
        ledger: Ledger,
        row: DeskRow,
        settings: Settings,
        make_policy: Callable[[Settings], Policy],
        *,
        who: str | None = None,
        max_questions: int | None = None,
        review: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.book = Book(ledger, row, settings, make_policy, who, progress)
        self.max_questions, self.review = max_questions, review
        self._active: list[int] = []
        self._cursor = 0  # how many of those the first pass has been through
        self._drawn = 0  # how many of those have been looked through for audits of guesses from before
        self.reviewing = False  # whether the second pass has begun

    # -- what comes in --------------------------------------------------------------------------------------
    def receive(self, texts: Iterable[str], embedder: Callable[[], Embedder], progress: Progress | None = None) -> int:
        """Take in the texts that are new, in this order; how many those were. All of them are kept, or none."""
        return self.book.receive(texts, embedder, progress)

    def id_of(self, text: str) -> int | None:
        """The query that has this text, or None."""
        return self.book.ids.get(key_of(text))

    def give(self, examples: Iterable[tuple[int, str]], source: str) -> Taken:
        """Take labels known before as examples, where no answer stands yet; one given before is corrected."""
        new = changed = 0
        for id, label in examples:
            case = self.case(id)
            if case.status is Status.ANSWERED or (case.status is Status.GIVEN and case.label == label):
                continue
            new += case.status is not Status.GIVEN
            changed += case.status is Status.GIVEN
            self.book.record(GIVEN, id, {"label": label, "source": source})
        self.book.commit()
        return Taken(new, changed)

    def withdraw(self, ids: Iterable[int], source: str, coming: Iterable[str] = ()) -> Withdrawn:
        """Take back the labels that this source gave for these queries.

        The last label that another source gave counts again; without one the query is as when it came in. So are
        guesses of a label that has no example left and is not among those `coming`: nothing stands behind them.
        """
        given = {id: case.label for id in ids if (case := self.case(id)).status is Status.GIVEN}
        sources = self.book.sources() if given else {}
        mine = {id: str(label) for id, label in given.items() if [*sources[id]][-1] == source}
        gone: dict[int, str] = {}
        for id, label in mine.items():
            others = [pair for pair in sources[id].items() if pair[0] != source]
            if others:
                other, before = others[-1]
                self.book.record(GIVEN, id, {"label": before, "source": other, "in place of": source})
            else:
                gone[id] = label
        lost = set(mine.values()) - set(self.book.state.labels - Counter(gone.values())) - set(coming)
        settled = (Status.ANSWERED, Status.GIVEN)
        cases = self.book.state.cases.items()
        guesses = [id for id, case in cases if case.label in lost and case.status not in settled]
        self.book.forget([*gone, *guesses])
        self.book.commit()
        return Withdrawn(len(mine), len(guesses))

    def attend(self, ids: Iterable[int]) -> None:
        """From now on decide and ask about these queries alone, in the order in which they came in."""
        self._active = sorted(set(ids))
        self._cursor = self._drawn = 0

    # -- the expert -----------------------------------------------------------------------------------------
    def next(self, progress: Progress | None = None) -> Question | None:
        """Guess what can be guessed up to the next question; None once there is nothing left to ask.

        The first pass goes through all queries, then guesses from before there were audits are audited too, then
        those that were skipped are put once more, then a second pass decides the guesses again.
        """
        question = (
            self._open_question()
            or self._first_pass(progress)
            or self._late_audit()
            or self._skipped()
            or self._second_pass(progress)
        )
        self.book.commit()
        return question

    def answer(self, question: Question, label: str) -> None:
        """The expert's label: durable before it is learned."""
        case, id = self._asked(question), question.query
        if not label.strip():
            raise InvalidInput("A label is not blank. Type one, or skip the question.")
        verdict = {"guess": case.guess, "answer": label, "right": case.guess == label}
        audited = [(AUDITED, id, verdict)] if case.why is Why.AUDIT else []
        self.book.record_acts((ANSWERED, id, {"label": label}), *audited)

    def skip(self, question: Question) -> None:
        """The expert passes the question by."""
        self._asked(question)
        self.book.record_acts((SKIPPED, question.query, {}))

    def undo(self) -> bool:
        """Take back the expert's last act that stands, and all that was decided since; False if there is none.

        Its question is open again, and everything is as it was when it was put: the acts before can be undone too,
        those of earlier runs included.
        """
        self._cursor, self._drawn, self.reviewing = 0, 0, False
        return self.book.undo()

    def exported(self, path: str, digest: str) -> None:
        """Record that the labels were written to a file."""
        self.book.record(EXPORTED, None, {"path": path, "sha256": digest})
        self.book.commit()

    def _asked(self, question: Question) -> Case:
        case = self.case(question.query)
        if case.status is not Status.ASKED:
            raise InvalidInput("This question is not open any more; take the next one.")
        return case

    # -- what stands ----------------------------------------------------------------------------------------
    def case(self, id: int) -> Case:
        """Where a query stands."""
        return self.book.state.cases[id]

    def cases(self) -> list[Case]:
        """Where the queries stand that are attended to."""
        return [self.case(id) for id in self._active]

    def text(self, id: int) -> str | None:
        """The text of a query; None where it is not known, or was blanked."""
        return self.book.queries[id].text if id in self.book.queries else None

    @property
    def labels(self) -> list[str]:
        """The labels that an expert has given, the most frequent first."""
        return [label for label, _ in self.book.state.labels.most_common()]

    @property
    def questions(self) -> int:
        """Questions that the expert has dealt with, over all runs."""
        return self.book.state.questions

    @property
    def last_act(self) -> Case | None:
        """The query that the expert answered or skipped last, which `undo` would take back; None if there is none."""
        return self.case(self.book.state.acts[-1].query) if self.book.state.acts else None

    @property
    def error_rate(self) -> ErrorRate | None:
        """The error rate of the guesses as the audits measure it."""
        audits = self.book.state.audits
        covered, others = coverage(self.cases(), self.book.settings.audit_rate)
        return error_rate(len(audits), len(audits) - sum(audits), covered=covered, others=others)

    # -- the passes -----------------------------------------------------------------------------------------
    def _open_question(self) -> Question | None:
        """The question that is open since before: put again, or, where no more may be asked, done without."""
        for id in self._active if self.book.state.open else ():
            case = self.case(id)
            if case.status is Status.ASKED:
                # As it was put: since then the policy may have taken note of its own decision.
                decision = self._decide(case) if case.why is Why.AGAIN else case.decision
                if self._may_ask:
                    return self._question(case, decision)
                self._force(case, decision)
        return None

    def _first_pass(self, progress: Progress | None) -> Question | None:
        """Decide on each query that waits, in order, up to one that is asked."""
        total = len(self._active)
        while self._cursor < total:
            case = self.case(self._active[self._cursor])
            self._cursor += 1
            self._step(progress, self._cursor, total)
            if case.status is Status.WAITING or (case.status is Status.FORCED and self._may_ask):
                question = self._take_up(case)
                if question is not None:
                    return question
        return None

    def _take_up(self, case: Case) -> Question | None:
        """Decide on one query and act on it: a guess, or a question."""
        if case.observed and not self._may_ask:
            return None
        decision = self._decide(case)
        if decision is None:
            return self._ask(case, Why.UNKNOWN, None)
        rate = self.book.settings.audit_rate if self._may_ask else 0.0
        drawn = {"drawn": rate} if rate and isinstance(decision, Guess) else {}
        self.book.record(DECIDED, case.query.id, written(decision) | drawn, seen=True)
        if isinstance(decision, Ask):
            return self._ask(case, Why.UNSURE, decision)
        return self._ask(case, Why.AUDIT, decision) if is_audited(case.query.id, rate) else None

    def _late_audit(self) -> Question | None:
        """A guess of before audits were on, or of when they were fewer, that the draw falls on."""
        rate = self.book.settings.audit_rate
        while rate and self._may_ask and self._drawn < len(self._active):
            case = self.case(self._active[self._drawn])
            self._drawn += 1
            if awaits_audit(case, rate):
                return self._ask(case, Why.AUDIT, case.decision)
        return None

    def _skipped(self) -> Question | None:
        """A query that was skipped once is put once more."""
        if self._may_ask:
            for case in self.cases():
                if case.status is Status.SKIPPED and case.skips == 1:
                    return self._ask(case, Why.AGAIN, self._decide(case))
        return None

    def _second_pass(self, progress: Progress | None) -> Question | None:
        """Decide the guesses again with all that was learned since.

        A label that changed is taken where the policy is sure of it, and asked where it is not. Unchanged ones leave
        no event: after a crash they are decided again by the same policy, up to the next change.
        """
        if not self.review:
            return None
        self.reviewing = True
        start, total = self.book.state.reviewed_to, len(self._active)
        for place, id in enumerate(self._active, 1):
            case = self.case(id)
            if id <= start or case.status is not Status.GUESSED:
                continue
            self._step(progress, place, total)
            decision = self._decide(case)
            best = named(decision)
            if decision is None or not best or best[0].label == case.label:
                continue
            if isinstance(decision, Guess) or self._may_ask:
                self.book.record(DECIDED, id, written(decision) | {"review": True}, seen=True)
            if isinstance(decision, Ask) and self._may_ask:
                return self._ask(case, Why.REVIEW, decision)
        return None

    def _ask(self, case: Case, why: Why, decision: Decision | None) -> Question | None:
        """Open a question, or do without where no more may be asked."""
        if not self._may_ask:
            self._force(case, decision)
            return None
        self.book.record(ASKED, case.query.id, {"why": why.value})
        return self._question(case, decision)

    def _force(self, case: Case, decision: Decision | None) -> None:
        """The best label there is, without asking; where nothing is known the query stays without one."""
        vector, state = case.query.vector, self.book.state
        near = [] if vector is None else state.near.closest(vector, len(state.labels))
        best = named(decision) or near
        label, probability = case.guess, case.probability
        if label is None and best:
            label, probability = str(best[0].label), best[0].probability
            exploring = isinstance(decision, Ask) and isinstance(decision.reason, Exploring)
            if exploring or len(state.labels) < 2:  # a figure that nothing stands behind yet
                probability = None
        if label is not None:
            evidence = [[s.example, 1.0] for s in near if s.label == label]
            self.book.record(FORCED, case.query.id, {"label": label, "probability": probability, "evidence": evidence})

    @property
    def _may_ask(self) -> bool:
        return self.max_questions is None or self.questions < self.max_questions

    def _decide(self, case: Case) -> Decision | None:
        """What the policy says now; None where the embedder knows nothing of the text."""
        return None if case.query.vector is None else self.book.state.policy.decide(case.query.vector)

    def _question(self, case: Case, decision: Decision | None) -> Question:
        blind = self.book.settings.audit_rate > 0.0
        reason = None
        if decision is None:
            reason = "the embedder knows no word of this text"
        elif isinstance(decision, Ask) and not blind:
            reason = str(decision.reason)
        offered = choices(case, decision, self.book.state.near, self.text, blind)
        return Question(case.query.id, case.query.text or "", offered, reason, case.why or Why.UNSURE)

    def _step(self, progress: Progress | None, done: int, total: int) -> None:
        if done % _STEPS_BETWEEN_COMMITS == 0:
            self.book.commit()
        if progress is not None:
            progress(done, total)
