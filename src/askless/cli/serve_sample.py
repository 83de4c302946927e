"""The desk of `askless serve --sample`, and the lines to paste that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askless.desk.sample import ANSWERS, LEFT_OUT, sample_examples

if TYPE_CHECKING:
    from askless.desk.live.desk import LiveDesk
    from askless.desk.live.desks import Desks

DESK = "support"

# What the lines to paste say: a question that is asked, the expert's answer, and one like it, which is guessed then.
ASKED = "Do you ship to Norway?"
((LABEL, ANSWER),) = LEFT_OUT.items()
GUESSED = "Do you ship to Sweden?"


def fill(desks: Desks, who: str | None) -> None:
    """Give the desk its labels with their answers, and its examples."""
    from askless.cli.progress import bar
    from askless.desk.live.exchange import GivenExample
    from askless.desk.live.give import give
    from askless.desk.live.labels import create

    def make_labels(live: LiveDesk) -> None:
        for label, answer in ANSWERS.items():
            create(live, label, answer, who)

    examples = [GivenExample(text, label) for text, label in sample_examples()]
    with bar("making the sample desk", len(examples)) as show:
        desks.run(DESK, make_labels).result()
        give(desks, DESK, examples, who, progress=show)
