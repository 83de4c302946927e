"""Answering many tickets with one label, and taking that back: with progress, and a line that says what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from askless.desk.live import labels, together
from askless.desk.live.desk import LiveDesk
from askless.desk.live.together import Together
from askless.desk.live.types import LabelRow
from askless.service.keys import Role
from askless.service.pages.dialogs import choices, dialog
from askless.service.pages.parts import one_line, words
from askless.service.pages.said import Said, taken_back
from askless.service.pages.seat import Seat

_AT_ONCE = 10  # tickets of one change, after which the progress is shown and others have their turn
_SHOWS = 20  # so many tickets take long enough to show progress


class Batch:
    """Answers tickets together on behalf of who sits at the page; `done` renews the page afterwards."""

    def __init__(self, seat: Seat, said: Said, done: Callable[[], Awaitable[None]]) -> None:
        self._seat, self._said, self._done = seat, said, done

    async def confirmed(self, count: int, label: str) -> bool:
        """Whether so many tickets are to get this label; one ticket is asked about only where the label is new."""
        known = {row.name: row for row in await self._seat.read_desk(labels.rows)}
        if count == 1 and label in known:
            return True
        what = f"{count:,} question{'s' if count > 1 else ''}"
        with dialog(self._seat, f"Answer {what} with “{label}”?") as opened:
            words("p", what_is_sent(known.get(label), count)).classes("text")
            words("p", "You can take this back afterwards, but not what the desk answers by it meanwhile.")
            with choices(opened):
                yes = ui.button(f"Answer {what}", on_click=lambda: opened.submit(True))
                yes.props("unelevated no-caps autofocus")
        return bool(await opened)

    async def answer(self, ids: Sequence[int], label: str) -> None:
        """Answer these; those that others have taken meanwhile are left to them."""
        seat, found = self._seat, Together()
        held: list[int] = []
        try:
            with seat.telling(), _progress(seat, "Answering", len(ids)) as progress:
                held = await seat.change(lambda desk: together.hold(desk, ids, seat.who))
                found.refused += [id for id in ids if id not in set(held)]
                for part in _parts(held):
                    _add(found, await seat.change(_answering(part, label, seat.who)))
                    progress(len(found.done))
        finally:
            rest = [id for id in held if id not in set(found.done)]
            if rest:
                with seat.telling():
                    await seat.change(lambda desk: together.let_go(desk, rest, seat.who))
        if found.done or found.refused:
            back = (lambda: self.undo(found.done)) if found.done else None
            self._said(outcome(found, label), back, undone=taken_back(len(found.settled)))
        await self._done()

    async def undo(self, ids: Sequence[int]) -> None:
        """Take back these answers; what others have changed since stays."""
        seat, found = self._seat, Together()
        admin = seat.caller.may(Role.ADMIN)
        with _progress(seat, "Taking back", len(ids)) as progress:
            for part in reversed(_parts(ids)):
                _add(found, await seat.change(_undoing(part, seat.who, admin)))
                progress(len(found.done))
            await seat.change(lambda desk: together.let_go(desk, found.done, seat.who))
        if found.refused:
            seat.say(f"{len(found.refused):,} of them were changed by others since, and stay so.", wrong=True)
        await self._done()


def what_is_sent(label: LabelRow | None, count: int) -> str:
    """What the askers of so many tickets get with this label, None where it is new."""
    askers = "Its asker gets" if count == 1 else "Each asker gets"
    if label is None:
        return f"This label is new. {askers} its name alone, until you write its answer on the page Labels."
    if not label.answer:
        return f"{askers} the label's name alone: it has no answer text."
    return f"{askers}: {one_line(label.answer, '', 400)}"


def outcome(found: Together, label: str) -> str:
    """What answering together did, in one sentence."""
    parts = [f"{len(found.done):,} answered with “{label}”"]
    if found.refused:
        parts.append(f"{len(found.refused):,} {'was' if len(found.refused) == 1 else 'were'} taken by others")
    if found.settled:
        one = len(found.settled) == 1
        parts.append(f"{len(found.settled):,} further {'one is' if one else 'ones are'} now answered by the desk")
    return ", ".join(parts) + "."


def _answering(ids: Sequence[int], label: str, who: str) -> Callable[[LiveDesk], Together]:
    return lambda desk: together.answer(desk, ids, label, who)


def _undoing(ids: Sequence[int], who: str, admin: bool) -> Callable[[LiveDesk], Together]:
    return lambda desk: together.undo(desk, ids, who, admin=admin)


def _parts(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]


def _add(found: Together, more: Together) -> None:
    found.done += more.done
    found.refused += more.refused
    found.settled += more.settled


@contextmanager
def _progress(seat: Seat, doing: str, count: int) -> Iterator[Callable[[int], None]]:
    """What is called with the number done so far; a bar shows it where there are many."""
    if count < _SHOWS:
        yield lambda done: None
        return
    with dialog(seat, f"{doing} {count:,} questions") as opened:
        opened.props("persistent")
        bar = ui.linear_progress(0, show_value=False).props('instant-feedback aria-label="Progress"')
        line = words("p", f"0 of {count:,}").classes("soft").props("role=status")

    def show(done: int) -> None:
        bar.set_value(done / count)
        line.set_text(f"{done:,} of {count:,}")

    opened.open()
    try:
        yield show
    finally:
        opened.close()
