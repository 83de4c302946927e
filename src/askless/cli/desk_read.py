"""What stands about a desk, for the commands that show it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askless.desk.live.desks import Desks
    from askless.desk.live.settings import LiveSettings
    from askless.desk.live.statistics import Prices, Statistics
    from askless.desk.live.types import LabelRow


def settings_of(desks: Desks, desk: str) -> LiveSettings:
    """What the desk is set to."""
    return desks.run(desk, lambda live: live.settings).result()


def figures_of(
    desks: Desks,
    desk: str,
    settings: LiveSettings,
    prices: Prices | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    by: str = "day",
) -> Statistics:
    """Its counts and what they cost, at its own costs."""
    from askless.desk.live.statistics import statistics

    row = desks.row(desk)
    return statistics(desks.database, row.id, settings.costs, prices=prices, since=since, until=until, bucket=by)


def labels_of(desks: Desks, desk: str) -> list[LabelRow]:
    """Its labels with their examples."""
    from askless.desk.live.labels import rows

    with desks.database.read() as connection:
        return rows(connection, desks.row(desk).id)
