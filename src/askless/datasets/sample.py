"""A small support desk to try things on: questions that customers of a shop and its bank card might send."""

from __future__ import annotations

import csv
from importlib.resources import files


def support_questions() -> tuple[list[str], list[str]]:
    """The texts and their labels, label by label.

    863 short questions under 33 labels, written for askless: plain, polite, angry and misspelt, common ones
    more often than rare ones, with labels among them that differ by one word ("block card", "unblock card").
    """
    text = (files("askless.datasets") / "support_questions.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return [row["text"] for row in rows], [row["label"] for row in rows]
