"""How a desk does: statistics with the measured error rate, and where experts contradict each other."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BeforeValidator
from sqlalchemy import Connection

from askless.desk.audits import ErrorRate
from askless.desk.live import conflicts
from askless.desk.live.statistics import Prices, Statistics, statistics
from askless.errors import InvalidInput
from askless.service.errors import contradictions, problems
from askless.service.guard import Expert, TheService
from askless.service.insight_results import ConflictsOut, StatisticsOut
from askless.service.shown import evidence_shown, moment

router = APIRouter(prefix="/desks/{desk}", tags=["insights"])

_MOST_CONFLICTS = 50  # of which the causes are worked out in one request


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _whole_time(given: Any) -> Any:
    """A time with its zone, and no number of seconds; a plus that an address has turned into a space is put back."""
    if isinstance(given, str):
        given = given.replace(" ", "+")
        if not _RFC3339.fullmatch(given):
            raise ValueError("Give a time with its zone, as in 2026-01-31T12:00:00Z.")
    return given


def _in_utc(at: datetime | None) -> datetime | None:
    try:
        return None if at is None else at.astimezone(UTC)
    except OverflowError:
        raise ValueError("This time is outside of the years that can be counted.") from None


Price = Annotated[float | None, Query(ge=0, le=1e9, allow_inf_nan=False)]
Moment = Annotated[datetime | None, BeforeValidator(_whole_time), AfterValidator(_in_utc), Query()]


@router.get("/statistics", summary="Show statistics", response_model=StatisticsOut, responses=problems(409))
async def show_statistics(
    service: TheService,
    at: Expert,
    call_price: Price = None,
    mistake_price: Price = None,
    since: Moment = None,
    until: Moment = None,
    bucket: Annotated[Literal["hour", "day", "week", "month"], Query()] = "day",
) -> Response:
    """Calls, guesses, the share automated over time, the audited error rate with its interval, regret, money saved.

    The money needs `call_price`, what an expert's answer costs, and `mistake_price`, what a wrong guess costs.
    """
    with contradictions():
        prices = _prices(call_price, mistake_price)
    settings = await service.change(at.desk, lambda desk: desk.settings)

    def counting() -> Statistics:
        desk = service.desks.row(at.desk).id
        return statistics(
            service.database, desk, settings.costs, prices=prices, since=since, until=until, bucket=bucket
        )

    with contradictions():
        return JSONResponse(_statistics_shown(await service.work(counting)))


@router.get("/conflicts", summary="List conflicts", response_model=ConflictsOut)
async def show_conflicts(service: TheService, at: Expert) -> Response:
    """Queries that wait because they lie in two hulls, the examples that cause it, and equal examples that disagree."""
    return JSONResponse(await service.read_desk(at.desk, _conflicts_shown))


def _prices(call: float | None, mistake: float | None) -> Prices | None:
    """Both prices, or none: a caller who gives one wants the money, which cannot be told without the other."""
    if call is None and mistake is None:
        return None
    if call is None or mistake is None:
        raise InvalidInput("The money saved needs both prices: call_price and mistake_price.")
    return Prices(call, mistake)


def _conflicts_shown(connection: Connection, desk: int) -> dict[str, Any]:
    items = []
    for found in conflicts.conflicts(connection, desk, limit=_MOST_CONFLICTS):
        sides = conflicts.causes(connection, desk, found.query, found.labels)
        items.append(
            {
                "id": found.key,
                "text": found.text,
                "labels": list(found.labels),
                "ticket": found.ticket,
                "received_at": moment(found.received_at),
                "sides": [
                    {
                        "label": side.label,
                        "distance": side.distance,
                        "inside": bool(side.inside),
                        "examples": evidence_shown(side.examples),
                    }
                    for side in sides
                ],
            }
        )
    groups = conflicts.contradictions(connection, desk, limit=_MOST_CONFLICTS)
    return {"items": items, "contradictions": [evidence_shown(group.examples) for group in groups]}


def _statistics_shown(found: Statistics) -> dict[str, Any]:
    return {
        **asdict(found),
        "since": moment(found.since),
        "until": moment(found.until),
        "automated": found.automated,
        "audits": _rate_shown(found.audits),
        "shadow": _rate_shown(found.shadow),
        "buckets": [
            {**asdict(bucket), "start": moment(bucket.start), "automated": bucket.automated} for bucket in found.buckets
        ],
    }


def _rate_shown(rate: ErrorRate | None) -> dict[str, Any] | None:
    return None if rate is None else {**asdict(rate), "rate": rate.rate}
