"""The loop of `askless label`: guess, ask, take the answer, until nothing is left or the person stops."""

from __future__ import annotations

import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from rich.text import Text

from askless.cli.label_reply import Act, Reply
from askless.cli.label_screen import patient_bar, show_help, show_question
from askless.cli.label_text import visible
from askless.cli.progress import bar, working
from askless.desk.cases import Status

if TYPE_CHECKING:
    from rich.console import Console

    from askless.cli.label_prompt import Expert
    from askless.cli.progress import Show
    from askless.desk.desk import Desk
    from askless.desk.questions import Question

_LONGEST_PAUSE = 300.0  # seconds: an answer after a longer one says nothing about the pace


class Ending(Enum):
    """How a session ended."""

    DONE = "done"
    QUIT = "quit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@contextmanager
def _hints_to_stop() -> Iterator[None]:
    """Meanwhile the wish of the system that this process ends, or a terminal that is closed, is as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can it be set what a signal does
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Session:
    """One sitting at a desk."""

    def __init__(self, desk: Desk, expert: Expert, screen: Console) -> None:
        self._desk, self._expert, self._screen = desk, expert, screen
        self._paces: list[float] = []

    @property
    def seconds_an_answer(self) -> float | None:
        """The median time an answer took, where there were enough to say."""
        return statistics.median(self._paces) if len(self._paces) >= 5 else None

    def run(self) -> Ending:
        """Go on until nothing is left to ask, the expert quits, or Ctrl-C."""
        try:
            with _hints_to_stop():
                return self._run() if self._expert.shows else self._run_alone()
        except KeyboardInterrupt:
            return Ending.INTERRUPTED

    def _run(self) -> Ending:
        while True:
            with patient_bar(lambda: "second pass" if self._desk.reviewing else "guessing") as show:
                question = self._desk.next(show)
            if question is None:
                if self._desk.last_act is not None and self._expert.last_word().act is Act.UNDO:
                    self._undone()
                    continue
                return Ending.DONE
            show_question(self._screen, self._desk, question)
            if not self._settled(question):
                return Ending.QUIT

    def _run_alone(self) -> Ending:
        """With an oracle nothing is shown but how far it is."""
        with bar("dry run", len(self._desk.cases())) as show:
            while (question := self._desk.next()) is not None:
                self._answered(question, self._expert.reply(question, self._desk.labels))
                self._show_rounds(show)
        return Ending.DONE

    def _show_rounds(self, show: Show) -> None:
        show(self._desk.book.state.rounds)

    def _settled(self, question: Question) -> bool:
        """Take replies until the question is answered, skipped or gone; False where the expert quits."""
        while True:
            start = time.monotonic()
            reply = self._expert.reply(question, self._desk.labels)
            if reply.act is Act.QUIT:
                return False
            if reply.act is Act.HELP:
                show_help(self._screen)
            elif reply.act is Act.UNCLEAR:
                self._say(reply.message)
            elif reply.act is Act.UNDO:
                if self._undone():
                    return True
            else:
                pause = time.monotonic() - start
                if reply.act is Act.LABEL and pause < _LONGEST_PAUSE:
                    self._paces.append(pause)
                self._answered(question, reply)
                return True

    def _answered(self, question: Question, reply: Reply) -> None:
        if reply.act is Act.SKIP:
            self._desk.skip(question)
            return
        new = reply.label not in self._desk.book.state.labels
        self._desk.answer(question, reply.label)
        if self._expert.shows:
            self._say(f"{'new label' if new else 'label'}: {visible(reply.label)}")

    def _undone(self) -> bool:
        """Take back the last act, and say which it was."""
        act = self._desk.last_act
        if act is None:
            self._say("There is nothing to undo.")
            return False
        what = "skipped" if act.status is not Status.ANSWERED else visible(act.label or "")
        text = visible(act.query.text or "", 60)
        with working("going back"):
            self._desk.undo()
        self._say(f"Took back: {text} -> {what}")
        return True

    def _say(self, message: str) -> None:
        self._screen.print(Text(message, style="dim"))
