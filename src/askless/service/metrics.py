"""Prometheus metrics: counted as requests go by, and read from the ledger when they are asked for."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import Connection, func, select

from askless.desk.live.desk import live_desks
from askless.ledger import events, schema

if TYPE_CHECKING:
    from askless.desk.live.types import Outcome

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_COUNTED = (events.ANSWERED, events.AUDITED)


class Metrics:
    """The metrics of one service, in a registry of its own.

    With several processes (PROMETHEUS_MULTIPROC_DIR is set before they start) any one of them gives the sum of all.
    What the ledger holds is the same whichever process is asked.
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "askless_requests", "Requests by route and status.", ["method", "route", "status"], registry=registry
        )
        self._latency = Histogram(
            "askless_request_seconds", "Seconds for a request.", ["route"], registry=registry, buckets=_SECONDS
        )
        self._decisions = Counter(
            "askless_decisions", "Queries by what the desk did with them.", ["desk", "action"], registry=registry
        )
        self._ledger = LedgerCounts()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        method = method if method in ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT") else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def decided(self, desk: str, outcomes: Sequence[Outcome]) -> None:
        """Count the outcomes of queries that were submitted."""
        for status, count in collections.Counter(outcome.status.value for outcome in outcomes).items():
            self._decisions.labels(desk, status).inc(count)

    def exposed(self, connection: Connection, heard: Mapping[int, int]) -> bytes:
        """Everything, in Prometheus's text format; `heard` is the newest event of each desk that the process knows."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        now = CollectorRegistry()
        now.register(_Given(self._ledger.read(connection, heard)))
        return generate_latest(registry) + generate_latest(now)


class LedgerCounts:
    """Counts of the ledger. The first look counts all events once; later ones only those that came since."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        self._counts: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()

    def read(self, connection: Connection, heard: Mapping[int, int]) -> list[Metric]:
        """Waiting tickets, answers, audits, events and deliveries of each desk."""
        with self._lock:  # two who ask at once count nothing twice
            return self._read(connection, heard)

    def _read(self, connection: Connection, heard: Mapping[int, int]) -> list[Metric]:
        names = {row.id: row.name for row in connection.execute(live_desks())}
        waiting = _by_desk(connection, schema.tickets.c.desk, schema.tickets.c.status == "open")
        tickets = GaugeMetricFamily("askless_waiting_tickets", "Open tickets.", labels=["desk"])
        last = GaugeMetricFamily("askless_last_event", "The number of the desk's last event.", labels=["desk"])
        lag = GaugeMetricFamily("askless_event_lag", "Newest events that are not heard of yet.", labels=["desk"])
        answers = CounterMetricFamily("askless_answers", "Answers of experts.", labels=["desk"])
        audits = CounterMetricFamily("askless_audits", "Guesses that an expert looked at as well.", labels=["desk"])
        for desk, name in names.items():
            self._count_new(connection, desk)
            tickets.add_metric([name], waiting.get(desk, 0))
            newest = self._last.get(desk, 0)
            last.add_metric([name], newest)
            lag.add_metric([name], max(0, newest - heard.get(desk, 0)))
            answers.add_metric([name], self._counts.get((desk, events.ANSWERED), 0))
            audits.add_metric([name], self._counts.get((desk, events.AUDITED), 0))
        return [tickets, last, lag, answers, audits, _deliveries(connection, names)]

    def _count_new(self, connection: Connection, desk: int) -> None:
        e = schema.events.c
        newest = connection.execute(select(func.max(e.id)).where(e.desk == desk)).scalar()
        before = self._last.get(desk, 0)
        if newest is None or newest == before:
            return
        new = select(e.kind, func.count()).where(e.desk == desk, e.id > before, e.id <= newest, e.kind.in_(_COUNTED))
        for kind, count in connection.execute(new.group_by(e.kind)):
            self._counts[desk, kind] = self._counts.get((desk, kind), 0) + count
        self._last[desk] = newest


class _Given:
    """A collector of metrics that were read before."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _by_desk(connection: Connection, desk: Any, condition: Any) -> dict[int, int]:
    return {row[0]: row[1] for row in connection.execute(select(desk, func.count()).where(condition).group_by(desk))}


def _deliveries(connection: Connection, names: dict[int, str]) -> Metric:
    found = GaugeMetricFamily("askless_deliveries", "Webhook deliveries by status.", labels=["desk", "status"])
    d = schema.deliveries.c
    for desk, status, count in connection.execute(select(d.desk, d.status, func.count()).group_by(d.desk, d.status)):
        if desk in names:
            found.add_metric([names[desk], status], count)
    return found
