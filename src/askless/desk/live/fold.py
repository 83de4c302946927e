"""The state of a live desk in memory: a fold of the ledger's events, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from askless.desk.decisions import read
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import Why
from askless.desk.nearest import ClosestLabels
from askless.ledger import events as kinds
from askless.ledger.events import Event
from askless.types import Policy

Floats32: TypeAlias = NDArray[np.float32]


class VectorOf(Protocol):
    """Gives the vector of a query by its id, or None where there is none (any more)."""

    def __call__(self, id: int, /) -> Floats32 | None:
        """One vector."""
        ...

    def many(self, ids: Iterable[int], /) -> dict[int, Floats32 | None]:
        """Many at once, as they stand now."""
        ...


@dataclass(slots=True)
class LabelState:
    """A label: the answer text that goes with it, and how many examples it has."""

    answer: str | None = None
    count: int = 0


@dataclass(slots=True)
class Waiting:
    """A query with an open ticket: its vector, why it was asked, and the guess that its ticket offers by now."""

    vector: Floats32 | None
    why: Why
    offered: str | None = None


class Renaming(NamedTuple):
    """From the event on, a label is called otherwise, or belongs to another; None where it was deleted."""

    event: int
    old: str
    new: str | None


class Fold:
    """What a desk must know to decide: the policy, the examples in their order, the labels, the open tickets.

    `apply` is the only way from an event to this state, whether the event has just happened, comes from another
    process, or is read back: so every process that has applied the same events decides alike, and one that was killed
    goes on as if it had not been. Nothing here grows with the number of queries.
    """

    def __init__(self) -> None:
        self.settings = LiveSettings()
        self.policy: Policy  # from the first event on, which says what the desk is set to
        self.near = ClosestLabels()
        self.examples: dict[int, str] = {}  # what an expert has labelled, in the order in which it was learned
        self.labels: dict[str, LabelState] = {}
        self.waiting: dict[int, Waiting] = {}
        self.renamings: list[Renaming] = []
        self.last_event = 0
        self.saved = 0  # the event of the snapshot that the state began with
        self.changes = 0  # of what the policy has learned: what waits may be decided otherwise since the last one
        self.stale = False  # what was observed cannot be undone here: the state is to be made anew from the ledger
        self._vector_of: VectorOf
        self._handlers: dict[str, Callable[[Event], None]] = {
            kinds.CONFIGURED: self._configured,
            kinds.SWITCHED: self._switched,
            kinds.DECIDED: self._decided,
            kinds.ASKED: self._asked,
            kinds.OFFERED: self._offered,
            kinds.WITHDRAWN: self._withdrawn,
            kinds.ANSWERED: self._answered,
            kinds.GIVEN: self._labelled,
            kinds.RELABELLED: self._labelled,
            kinds.RETRACTED: self._retracted,
            kinds.FORGOTTEN: self._forgotten,
            kinds.ERASED: self._erased,
            kinds.LABEL_MADE: self._label_made,
            kinds.LABEL_CHANGED: self._label_changed,
            kinds.RENAMED: self._renamed,
            kinds.MERGED: self._merged,
            kinds.LABEL_DELETED: self._label_deleted,
        }

    def apply(self, event: Event, vector_of: VectorOf) -> None:
        """Take in one event."""
        self._vector_of = vector_of
        handler = self._handlers.get(event.kind)
        if handler is not None:
            handler(event)
        self.last_event = event.id

    @property
    def observes_vectors(self) -> bool:
        """Whether the policy takes something from the vectors of queries that are no examples."""
        return bool(getattr(self.policy, "observes_vectors", True))

    def name_now(self, label: str | None, since: int) -> str | None:
        """What a label that an event named is called by now; None where it was deleted."""
        for event, old, new in self.renamings:
            if event > since and label == old:
                label = new
        return label

    # -- settings --------------------------------------------------------------------------------------------------
    def _configured(self, event: Event) -> None:
        before, self.settings = self.settings, LiveSettings.read(event.payload)
        if not self.last_event or not self.settings.learns_as(before):
            self._learn_anew()

    def _switched(self, event: Event) -> None:
        """All vectors are another embedder's now."""
        self.settings = replace(self.settings, embedder=str(event.payload["spec"]))
        vectors = self._vector_of.many([*self.examples, *self.waiting])
        self.near = ClosestLabels()
        for id, label in self.examples.items():
            x = vectors.get(id)
            if x is not None:
                self.near.add(id, x, label)
        for id, waiting in self.waiting.items():
            waiting.vector = vectors.get(id)
        self._learn_anew()

    def _learn_anew(self) -> None:
        """A fresh policy learns the standing examples in their order."""
        self.policy = self.settings.make_policy()
        for id, label in self.examples.items():
            x = self.near.vector(id)
            if x is not None:
                self.policy.learn(x, label, id=id)
        self.changes += 1

    # -- queries and tickets ---------------------------------------------------------------------------------------
    def _decided(self, event: Event) -> None:
        """A decision is observed once for each query, and not when a waiting one is decided again."""
        if event.payload.get("again"):
            return
        x = self._vector_of(_query(event))
        if x is not None:
            self.policy.observe(x, read(event.payload))
        elif not self.observes_vectors:  # erased since: what the policy takes from it is in the decision
            self.policy.observe(np.zeros(1, dtype=np.float32), read(event.payload))

    def _asked(self, event: Event) -> None:
        id = _query(event)
        self.waiting[id] = Waiting(self._vector_of(id), Why(event.payload["why"]))

    def _offered(self, event: Event) -> None:
        if _query(event) in self.waiting:
            self.waiting[_query(event)].offered = event.payload["label"]

    def _withdrawn(self, event: Event) -> None:
        self.waiting.pop(_query(event), None)

    def _answered(self, event: Event) -> None:
        self.waiting.pop(_query(event), None)
        self._labelled(event)

    def _retracted(self, event: Event) -> None:
        """An act of an expert is undone: the query is what the payload says, and its ticket is open."""
        id = _query(event)
        if not event.payload["example"]:
            self._forget([id])
        elif id in self.examples:
            self._relabel(id, event.payload["label"])
        if id not in self.waiting:
            self.waiting[id] = Waiting(self._vector_of(id), Why(event.payload["why"]))

    def _erased(self, event: Event) -> None:
        id = _query(event)
        self.waiting.pop(id, None)
        self._forget([id])
        self.stale = self.stale or self.observes_vectors

    # -- examples --------------------------------------------------------------------------------------------------
    def _labelled(self, event: Event) -> None:
        """An expert's word on a query: a new example, or another label for one."""
        id, label = _query(event), str(event.payload["label"])
        if id in self.examples:
            self._relabel(id, label)
            return
        self.examples[id] = label
        self.labels.setdefault(label, LabelState()).count += 1
        x = self._vector_of(id)
        if x is not None:
            self.policy.learn(x, label, id=id)
            self.near.add(id, x, label)
            self.changes += 1

    def _relabel(self, id: int, label: str) -> None:
        before = self.examples[id]
        if before == label:
            return
        self.labels[before].count -= 1
        self.labels.setdefault(label, LabelState()).count += 1
        self.examples[id] = label
        x = self.near.vector(id)
        if x is not None:
            self.policy.relabel(id, label)
            self.near.add(id, x, label)
            self.changes += 1

    def _forgotten(self, event: Event) -> None:
        self._forget([_query(event)])

    def _forget(self, ids: Iterable[int]) -> None:
        gone = [id for id in ids if id in self.examples]
        for id in gone:
            self.labels[self.examples.pop(id)].count -= 1
        known = [id for id in gone if id in self.near]
        together: Callable[[list[int]], None] | None = getattr(self.policy, "forget_many", None)
        if known and together is not None:  # in the time that one takes
            together(known)
        else:
            for id in known:
                self.policy.forget(id)
        self.changes += len(known)
        self.near.remove(gone)

    # -- labels ----------------------------------------------------------------------------------------------------
    def _label_made(self, event: Event) -> None:
        self.labels.setdefault(event.payload["label"], LabelState()).answer = event.payload.get("answer")

    def _label_changed(self, event: Event) -> None:
        self.labels[event.payload["label"]].answer = event.payload["answer"]

    def _renamed(self, event: Event) -> None:
        old, new = event.payload["label"], event.payload["to"]
        self.renamings.append(Renaming(event.id, old, new))
        self.labels = {new if name == old else name: state for name, state in self.labels.items()}
        self._follow(old, new)

    def _merged(self, event: Event) -> None:
        old, into = event.payload["label"], event.payload["into"]
        self.renamings.append(Renaming(event.id, old, into))
        self.labels[into].count += self.labels.pop(old).count
        self._follow(old, into)

    def _label_deleted(self, event: Event) -> None:
        old = event.payload["label"]
        self.renamings.append(Renaming(event.id, old, None))
        self._forget([id for id, label in self.examples.items() if label == old])
        del self.labels[old]
        for waiting in self.waiting.values():
            if waiting.offered == old:
                waiting.offered = None

    def _follow(self, old: str, new: str) -> None:
        """Examples and offers of a label are another's now, for the policy too."""
        own = [id for id, label in self.examples.items() if label == old]
        known = [id for id in own if id in self.near]
        if known:
            self._rename_in_policy(old, new, known)
        for id in own:
            self.examples[id] = new
        for id in known:
            x: Any = self.near.vector(id)
            self.near.add(id, x, new)
        for waiting in self.waiting.values():
            if waiting.offered == old:
                waiting.offered = new
        self.changes += 1

    def _rename_in_policy(self, old: str, new: str, known: list[int]) -> None:
        """By the policy's own way where it has one; else example by example."""
        both = any(label == new and id in self.near for id, label in self.examples.items())
        way = getattr(self.policy, "merge_labels" if both else "rename_label", None)
        if way is not None:
            way(old, new)
            return
        for id in known:
            self.policy.relabel(id, new)


def _query(event: Event) -> int:
    if event.query is None:
        raise ValueError(f"Event {event.id} ({event.kind}) names no query.")
    return event.query
