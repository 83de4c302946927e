"""Where answers come from: a person at a terminal, lines of a pipe, or a column of the file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from askless.cli.label_reply import Act, Reply, doubtful, understood
from askless.cli.label_text import visible
from askless.errors import InvalidInput

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

    from askless.desk.questions import Question

_HINT = "number or label · Tab completes · ? help · :s skip · :u undo · :q quit"


class Expert(Protocol):
    """Answers questions."""

    shows: bool  # whether the question must be shown to be answered

    def reply(self, question: Question, labels: Sequence[str]) -> Reply:
        """A label, or what to do instead; QUIT at the end of the input."""
        ...

    def last_word(self) -> Reply:
        """When nothing is left to ask: UNDO to go back, anything else to end."""
        ...


class Person:
    """At a terminal: with completion over the labels, and a question back where a new label looks like a slip."""

    shows = True

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._labels: Sequence[str] = ()
        self._session = self._made_session()

    def _made_session(self) -> PromptSession[str]:
        from prompt_toolkit import PromptSession

        return PromptSession(
            completer=completer(lambda: self._labels),
            complete_while_typing=True,
            complete_in_thread=False,
            key_bindings=tab_completes(),
            enable_history_search=False,
            bottom_toolbar=_HINT,
            reserve_space_for_menu=6,
        )

    def reply(self, question: Question, labels: Sequence[str]) -> Reply:
        """What the person types; the end of the input quits."""
        self._labels = labels
        offered = [choice.label for choice in question.choices]
        try:
            reply = understood(self._session.prompt("label> "), offered, labels)
            meant = doubtful(reply, labels)
            return reply if meant is None else self._confirmed(reply, meant)
        except EOFError:
            return Reply(Act.QUIT)

    def last_word(self) -> Reply:
        """An empty line ends; the last answer can still be undone."""
        from prompt_toolkit import prompt

        self._say("Nothing is left to ask.")
        try:
            return understood(prompt("Enter = finish · :u = undo the last answer> "), ())
        except EOFError:
            return Reply(Act.QUIT)

    def _confirmed(self, reply: Reply, meant: str) -> Reply:
        from prompt_toolkit import prompt

        self._say(f"{visible(reply.label)!r} is a new label. Did you mean {visible(meant)!r}?")
        while True:
            typed = prompt(f"y = {visible(meant, 40)} · n = the new label · Enter = back> ").strip().lower()
            if typed in ("y", "yes"):
                return Reply(Act.LABEL, meant)
            if typed in ("n", "no"):
                return reply
            if not typed:
                return Reply(Act.UNCLEAR, message="Nothing was answered.")


class Lines:
    """From a pipe or a file: one line an answer, taken as it is written."""

    shows = True

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def reply(self, question: Question, labels: Sequence[str]) -> Reply:
        """What the next line says; the end of the input quits."""
        line = _line()
        if not line:
            return Reply(Act.QUIT)
        reply = understood(line, [choice.label for choice in question.choices], labels)
        meant = doubtful(reply, labels)
        if meant is not None:
            self._say(f"{visible(reply.label)!r} is a new label, though close to {visible(meant)!r}.")
        return reply

    def last_word(self) -> Reply:
        """What the next line says, if there is one."""
        return understood(_line(), ())


def _line() -> str:
    """The next line of the standard input, refused where it is not in its encoding."""
    try:
        line = sys.stdin.readline()
        line.encode("utf-8")  # which halves of surrogate pairs, put there for other bytes, cannot be
    except UnicodeError:
        raise InvalidInput(
            "The answers on the standard input are not UTF-8; convert them, for example with iconv -t UTF-8. What was "
            "answered before is kept."
        ) from None
    return line


class Oracle:
    """A column of the file that has the right labels, for a dry run; a text without one is skipped."""

    shows = False

    def __init__(self, answers: Mapping[int, str]) -> None:
        self._answers = answers

    def reply(self, question: Question, labels: Sequence[str]) -> Reply:
        """The label that the column has."""
        label = self._answers.get(question.query)
        return Reply(Act.SKIP) if label is None else Reply(Act.LABEL, label)

    def last_word(self) -> Reply:
        """Nothing to add."""
        return Reply(Act.QUIT)


def completer(labels: Callable[[], Sequence[str]]) -> Completer:
    """Fuzzy completion of the whole line, spaces included, over the labels of the moment."""
    from prompt_toolkit.completion import FuzzyCompleter, WordCompleter

    return FuzzyCompleter(WordCompleter(lambda: list(labels()), sentence=True), pattern=r"^.+")


def tab_completes() -> KeyBindings:
    """Tab takes the first completion at once, and then the next; the only one it keeps.

    prompt_toolkit's own looks for completions in the background, one search at a time: a Tab that comes while the
    search of the last letter goes on is lost, and Enter takes the letters typed for a label.
    """
    from prompt_toolkit.buffer import CompletionState
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("tab")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.complete_state:
            asked = CompleteEvent(completion_requested=True)
            found = list(buffer.completer.get_completions(buffer.document, asked))
            buffer.complete_state = CompletionState(buffer.document, found) if found else None
        if buffer.complete_state:
            buffer.complete_next(disable_wrap_around=len(buffer.complete_state.completions) == 1)

    return bindings


def at_terminal() -> bool:
    """Whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()
