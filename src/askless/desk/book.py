"""The ledger of one desk, and the state that its events make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from askless.desk.cases import Case
from askless.desk.settings import Settings
from askless.desk.state import State
from askless.desk.texts import key_of, normal
from askless.errors import InvalidInput
from askless.ledger.events import (
    ANSWERED,
    CONFIGURED,
    CORRECTED,
    EXPORTED,
    FORGOTTEN,
    GIVEN,
    RECEIVED,
    SKIPPED,
    Event,
    standing,
)
from askless.ledger.ledger import DeskRow, Ledger, Query
from askless.types import Embedder, Policy

Progress: TypeAlias = Callable[[int, int], None]  # done, in all


class Book:
    """Events of one desk: appended, applied, taken back. `state` is always what a replay of the ledger gives.

    `make_policy` gives a policy that has learned nothing; `who` stands beside each act of the expert.
    """

    def __init__(
        self,
        ledger: Ledger,
        row: DeskRow,
        settings: Settings,
        make_policy: Callable[[Settings], Policy],
        who: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._ledger, self._row, self._make_policy, self._who = ledger, row, make_policy, who
        self.queries: dict[int, Query] = {q.id: q for q in ledger.queries(row)}
        self.ids: dict[str, int] = {q.key: q.id for q in self.queries.values()}
        self.changes: list[str] = []  # of the settings, since the run before
        self._set(settings)
        self.state = self._rebuilt(progress)

    def _set(self, settings: Settings) -> None:
        """Take the settings, and record them where they are not those of the ledger."""
        before = last_settings(self._ledger, self._row)
        if before is not None:
            if before.embedder != settings.embedder:
                raise InvalidInput(
                    f"This ledger's vectors come from --embedder {before.embedder}; found {settings.embedder}. Go on "
                    "with that one, or start over with --fresh, which keeps the old ledger under another name."
                )
            self.changes = settings.changes_from(before)
        self._make_policy(settings)  # one that cannot be made is refused before it is recorded
        self.settings = settings
        if before is None or self.changes:
            self._ledger.append(self._row, CONFIGURED, payload=settings.written(), who=self._who)
        if before is not None:  # a new desk is kept from its first texts on, and not before
            self._ledger.commit()

    def receive(self, texts: Iterable[str], embedder: Callable[[], Embedder], progress: Progress | None = None) -> int:
        """Take in the texts that are new, in this order; how many those were. All of them are kept, or none."""
        fresh: dict[str, str] = {}
        for text in texts:
            if (key := key_of(text)) not in self.ids:
                fresh.setdefault(key, text)
        if not fresh:
            return 0
        from askless.embed.run import embed_texts

        made = embedder()
        vectors = embed_texts(made, list(fresh.values()), progress=progress)
        shown = [normal(text) for text in fresh.values()]
        added = self._ledger.add_queries(self._row, list(fresh), shown, vectors, made.id)
        self._ledger.commit()
        for query in added:
            self.queries[query.id] = query
            self.ids[query.key] = query.id
            self.state.cases[query.id] = Case(query)
        return len(fresh)

    def record(self, kind: str, query: int | None, payload: dict[str, Any], *, seen: bool = False) -> None:
        """Append an event and apply it; with `seen` it carries the last event before it. Durable after `commit`."""
        last = self._ledger.last_event if seen else None
        self.state.apply(self._ledger.append(self._row, kind, query, payload, seen=last))

    def record_acts(self, *acts: tuple[str, int, dict[str, Any]]) -> None:
        """What the expert did: durable before anything is learned from it."""
        events: list[Event] = []
        for kind, query, payload in acts:
            events.append(self._ledger.append(self._row, kind, query, payload, who=self._who))
        self._ledger.commit()
        for event in events:
            self.state.apply(event)

    def undo(self) -> bool:
        """Take back the expert's last act that stands, and all that was decided since; False if there is none."""
        if not self.state.acts:
            return False
        act = self.state.acts[-1]
        payload = {"back_to": act.question, "undone": act.event}
        self._ledger.append(self._row, CORRECTED, act.query, payload, who=self._who)
        self._ledger.commit()
        self.state = self._rebuilt()
        return True

    def forget(self, ids: Iterable[int]) -> None:
        """Whatever was given, decided or asked about these counts no more: they are as when they came in."""
        forgotten = [self._ledger.append(self._row, FORGOTTEN, id, who=self._who) for id in ids]
        if forgotten:
            self._ledger.commit()
            self.state = self._rebuilt()

    def sources(self) -> dict[int, dict[str, str]]:
        """Of each query the labels that were given for it and not taken back, by source, that of the latest last."""
        found: dict[int, dict[str, str]] = {}
        events = [event for kind in (GIVEN, FORGOTTEN) for event in self._ledger.events(self._row, kind)]
        for event in sorted(events, key=lambda event: event.id):
            if event.query is None:
                continue
            if event.kind == FORGOTTEN:
                found.pop(event.query, None)
                continue
            of_query, source = found.setdefault(event.query, {}), str(event.payload.get("source"))
            for old in (source, event.payload.get("in place of", source)):
                of_query.pop(old, None)
            of_query[source] = str(event.payload["label"])
        return found

    def exports(self) -> list[dict[str, Any]]:
        """The files that the labels were written to: path and digest, oldest first."""
        return [event.payload for event in self._ledger.events(self._row, EXPORTED)]

    def commit(self) -> None:
        """Return once everything recorded so far is on the disk."""
        self._ledger.commit()

    def _rebuilt(self, progress: Progress | None = None) -> State:
        """The state, from nothing but the ledger."""
        state = State(self._make_policy(self.settings), self.queries)
        stands, forgotten = _counting(self._ledger.events(self._row))
        state.questions = sum(event.kind in (ANSWERED, SKIPPED) for event in forgotten)  # which were put all the same
        for done, event in enumerate(stands, 1):
            state.apply(event)
            if event.kind == FORGOTTEN:
                state.reviewed_to = 0  # what is known has changed
            if progress is not None:
                progress(done, len(stands))
        return state


def last_settings(ledger: Ledger, row: DeskRow) -> Settings | None:
    """The settings that the ledger holds, or None at a new desk."""
    found = ledger.events(row, CONFIGURED)
    return Settings.read(found[-1].payload) if found else None


def _counting(events: list[Event]) -> tuple[list[Event], list[Event]]:
    """The events that stand, and those that would, had their query not been forgotten since.

    An undo brings nothing back of what was forgotten.
    """
    stand = {event.id for event in standing(events)}
    last = {event.query: event.id for event in events if event.kind == FORGOTTEN}
    counting: list[Event] = []
    forgotten: list[Event] = []
    for event in events:
        if event.kind == FORGOTTEN:
            counting.append(event)
        elif event.id in stand:
            stays = event.kind == RECEIVED or event.id > last.get(event.query, 0)
            (counting if stays else forgotten).append(event)
    return counting, forgotten
