"""Rows of a file that are no examples since their text or their label is blank."""

from __future__ import annotations

from collections.abc import Iterable

from askless.desk.live.exchange import GivenExample
from askless.desk.texts import normal


def without_blanks(examples: Iterable[GivenExample]) -> list[GivenExample]:
    """The examples with a text and a label, each with its row as it was; `give` refuses the others."""
    return [example for example in examples if normal(example.text) and normal(example.label)]
