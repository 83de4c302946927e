"""A chart of the dashboard with the numbers it is drawn from, which are a table on the page and a file as well."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from askless.desk.live.exchange import cell
from askless.service.pages.dashboard.words import duration, percent, quantity


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a chart's numbers: its name in a file, its heading on the page, and how a value is said there."""

    name: str
    heading: str
    said: Callable[[Any], str]

    def shown(self, value: Any) -> str:
        """A value as the page shows it; a dash where there is none."""
        return "\N{EN DASH}" if value is None else self.said(value)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart and its numbers. `links` are the pages that its bars lead to, where they do, seen from the dashboard."""

    name: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    options: dict[str, Any]
    links: tuple[str, ...] = ()

    def csv(self) -> str:
        """The numbers as a file: shares of one, times in UTC, lengths of time in seconds."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        writer.writerows([cell(value) for value in row] for row in self.rows)
        return text.getvalue()


START = Column("start", "From (UTC)", lambda start: f"{start:%Y-%m-%d %H:%M}")


def count(name: str, heading: str) -> Column:
    """Whole numbers."""
    return Column(name, heading, lambda value: f"{value:,}")


def number(name: str, heading: str) -> Column:
    """Numbers that need not be whole."""
    return Column(name, heading, quantity)


def share(name: str, heading: str) -> Column:
    """Shares of one."""
    return Column(name, heading, percent)


def seconds(name: str, heading: str) -> Column:
    """Lengths of time."""
    return Column(name, heading, duration)


def text(name: str, heading: str) -> Column:
    """Words."""
    return Column(name, heading, str)
