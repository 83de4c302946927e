"""The charts of the dashboard: what each is called, what it says, its numbers as a table, and how it is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlencode

from askless.desk.audits import ErrorRate
from askless.desk.live.over_time import Span
from askless.desk.live.statistics import Estimate
from askless.service.pages.dashboard import draw
from askless.service.pages.dashboard.data import Numbers, next_start, starts
from askless.service.pages.dashboard.tables import START, Chart, count, number, seconds, share, text
from askless.service.pages.dashboard.words import duration, number_of, percent, quantity, span_name

_FEW_AUDITS = 5  # below which the interval of a span is too wide to set the height of the chart


def charts(numbers: Numbers) -> tuple[Chart, ...]:
    """All that apply: a desk in shadow mode has given no guess, so it has no regret to compare."""
    compared = () if numbers.shadow else (regret(numbers),)
    return (automated(numbers), errors(numbers), calls(numbers), waits(numbers), *compared, labels(numbers))


def automated(numbers: Numbers) -> Chart:
    """The share of the queries that were guessed, or would have been."""
    filled, rows = _filled(numbers), []
    for span in numbers.spans:
        guesses = _guesses(numbers, span)
        rows.append((span.start, span.received, guesses, guesses / span.received))
    shares = {start: part for start, _, _, part in rows}
    said = [
        _said(numbers, start, f"{percent(shares[start])}: {_guesses(numbers, span):,} of {span.received:,}")
        if span
        else _said(numbers, start, None)
        for start, span in filled
    ]
    how = "that the desk would have guessed" if numbers.shadow else "that got a guess as its answer"
    says = f"The share of what came in {how}: {percent(rows[0][3])}"
    if len(rows) > 1:
        says += f" in the first {numbers.window.by}, {percent(rows[-1][3])} in the last"
    drawn = draw.line(_percentages(shares.get(start) for start, _ in filled), said, "--series-1", filled=True)
    return Chart(
        "automated",
        "Would be answered automatically" if numbers.shadow else "Answered automatically",
        f"{says}.",
        (START, count("received", "Came in"), count("guesses", "Guessed"), share("automated", "Share")),
        tuple(rows),
        draw.over_time(numbers, [drawn], percent=True),
    )


def calls(numbers: Numbers) -> Chart:
    """Experts' answers for each hour."""
    rows, said = [], []
    for start, span in _filled(numbers):
        answers, hours = span.calls if span else 0, _hours(start, numbers)
        rows.append((start, hours, answers, answers / hours))
        said.append(
            _said(numbers, start, f"{number_of(answers, 'answer', 'answers')}, {quantity(rows[-1][3])} an hour")
        )
    whole = sum(row[2] for row in rows) / sum(row[1] for row in rows)
    return Chart(
        "calls",
        "Calls per hour",
        f"How often experts were called: {quantity(whole)} answers an hour over all this time. An answer counts for "
        "the time at which its question came.",
        (START, number("hours", "Hours"), count("calls", "Answers"), number("calls_per_hour", "An hour")),
        tuple(rows),
        draw.over_time(numbers, [draw.bars([row[3] for row in rows], said, "--series-1")]),
    )


def waits(numbers: Numbers) -> Chart:
    """The median waiting time."""
    filled = _filled(numbers)
    found = [None if span is None else span.median_wait_seconds for _, span in filled]
    said = [
        _said(numbers, start, None if wait is None else f"half waited less than {duration(wait)}")
        for (start, _), wait in zip(filled, found, strict=True)
    ]
    size, unit = draw.unit_of(max((wait for wait in found if wait is not None), default=0.0))
    shown = [None if wait is None else wait / size for wait in found]
    wait = numbers.statistics.median_wait_seconds
    says = "Nothing was answered in this time yet." if wait is None else f"Half of them less than {duration(wait)}."
    return Chart(
        "waiting",
        "Waiting time",
        f"How long questions waited for an expert's answer, in the median. {says}",
        (START, seconds("median_wait_seconds", "Median")),
        tuple((span.start, span.median_wait_seconds) for span in numbers.spans),
        draw.over_time(numbers, [draw.line(shown, said, "--series-1")], unit=unit),
    )


def errors(numbers: Numbers) -> Chart:
    """The measured error rate with its interval, against what the desk expected of itself."""
    filled = _filled(numbers)
    rates = [None if span is None else _rate(numbers, span) for _, span in filled]
    middle, low, _ = zip(*(_interval(rate) for rate in rates), strict=True)
    wide = [None if rate is None else rate.high - rate.low for rate in rates]
    expected = [None if span is None else _expected(span) for _, span in filled]
    said = [_said(numbers, start, _errors_said(numbers, span) if span else None) for start, span in filled]
    series = [draw.bars(_percentages(low), said, "transparent", stack="band")]
    if any(rates):
        series.append(draw.bars(_percentages(wide), [], "--band", stack="band", name="95 % interval"))
        found = "answers" if numbers.shadow else "audits"
        series.append(draw.points(_percentages(middle), "--series-2", name=f"found by {found}"))
    if any(one is not None for one in expected):
        series.append(draw.dashed(_percentages(expected), "--series-1", name="expected by the desk"))
    counts = (count("guesses", "Guessed"), count("audited", "Checked"), count("audited_wrong", "Wrong"))
    shares = (share("error_rate", "Rate"), share("low", "From"), share("high", "To"))
    return Chart(
        "errors",
        "Wrong guesses",
        _errors_say(numbers),
        (START, *counts, *shares, share("expected_error_rate", "Expected")),
        tuple(
            (span.start, _guesses(numbers, span), *_checked(rate), *_interval(rate), _expected(span))
            for span, rate in ((span, _rate(numbers, span)) for span in numbers.spans)
        ),
        draw.over_time(numbers, series, percent=True, top=_errors_top(rates, expected), legend=True),
    )


def regret(numbers: Numbers) -> Chart:
    """What the desk has cost so far, beside the two plain ways."""
    found, costs = numbers.statistics, numbers.settings.costs
    asking = Estimate(*(found.regret_of_asking,) * 3)
    ways = (("this desk", found.regret), ("ask everything", asking), ("guess everything", numbers.guessing))
    says = (
        f"Regret is what experts' answers ({quantity(costs.question)} each, by this desk's costs) and wrong guesses "
        f"({quantity(costs.mistake)} each) cost together: less is better. To guess everything is shown too cheap: it "
        "takes the labels that this desk held likeliest, which it learned by asking. "
    )
    says += (
        "What wrong guesses cost is not known without audits."
        if found.regret is None
        else "The lines across are how far the audits leave it open."
    )
    return Chart(
        "regret",
        "Regret, against asking and guessing everything",
        says,
        (text("way", "Way"), number("regret", "Regret"), number("low", "From"), number("high", "To")),
        tuple((way, *_parts(estimate)) for way, estimate in ways),
        draw.ways([(way, _parts(estimate), _regret_said(way, estimate)) for way, estimate in ways]),
    )


def labels(numbers: Numbers) -> Chart:
    """The labels with most calls."""
    loads, total = numbers.statistics.labels, numbers.statistics.calls
    says = "The labels that experts were asked about most."
    says += " A click on one leads to its past questions." if loads else " Nothing was answered in this time yet."
    shown = [(load.label, load.calls, f"{load.label}\n{_of_all(load.calls, total)}") for load in loads]
    return Chart(
        "labels",
        "Labels that cause most questions",
        says,
        (text("label", "Label"), count("calls", "Answers"), share("share", "Of all answers")),
        tuple((load.label, load.calls, load.calls / total) for load in loads),
        draw.ranked(shown),
        tuple(f"history?{urlencode({'label': load.label})}" for load in loads),
    )


# -- parts ---------------------------------------------------------------------------------------------------------
def _filled(numbers: Numbers) -> list[tuple[datetime, Span | None]]:
    """All spans of the window, None where nothing came in."""
    found = {span.start: span for span in numbers.spans}
    return [(start, found.get(start)) for start in starts(numbers)]


def _hours(start: datetime, numbers: Numbers) -> float:
    """How many hours of the span have passed; at least one, so that a few minutes do not count as a rush."""
    end = min(next_start(start, numbers.window.by), numbers.now)
    return max(1.0, (end - start).total_seconds() / 3600)


def _said(numbers: Numbers, start: datetime, what: str | None) -> str:
    """What is said of a span when the mouse is over it."""
    return f"{span_name(start, numbers.window.by)}\n{what or 'nothing'}"


def _percentages(shares: Iterable[float | None]) -> list[float | None]:
    return [None if share is None else 100 * share for share in shares]


def _expected(span: Span) -> float | None:
    return None if span.mean_probability is None else 1.0 - span.mean_probability


def _interval(rate: ErrorRate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if rate is None else (rate.rate, rate.low, rate.high)


def _guesses(numbers: Numbers, span: Span) -> int:
    """The guesses that were given, or in shadow mode those that were recorded."""
    return span.shadow_guesses if numbers.shadow else span.guesses


def _rate(numbers: Numbers, span: Span) -> ErrorRate | None:
    return span.shadow if numbers.shadow else span.audits


def _checked(rate: ErrorRate | None) -> tuple[int, int]:
    return (0, 0) if rate is None else (rate.audited, rate.wrong)


def _errors_top(rates: Iterable[ErrorRate | None], expected: Iterable[float | None]) -> float | None:
    """The share at which the chart ends; None where only few audits could say."""
    known = [rate for rate in rates if rate is not None]
    tops = [rate.high for rate in known if rate.audited >= _FEW_AUDITS]
    if not known:
        tops = [one for one in expected if one is not None]
    return max(0.1, *tops) if tops else None


def _parts(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)


def _errors_said(numbers: Numbers, span: Span) -> str:
    rate, expected, guesses = _rate(numbers, span), _expected(span), _guesses(numbers, span)
    how = "answered" if numbers.shadow else "audited"
    lines = [number_of(guesses, "guess", "guesses")]
    if rate is not None:
        lines.append(f"{rate.wrong:,} of {rate.audited:,} {how} wrong: {percent(rate.rate)}")
        lines.append(f"true rate from {percent(rate.low)} to {percent(rate.high)}")
    elif guesses:
        lines.append(f"none {how}")
    if expected is not None:
        lines.append(f"expected by the desk: {percent(expected)}")
    return "\n".join(lines)


def _errors_say(numbers: Numbers) -> str:
    found, dashed = numbers.statistics, " The dashed line is what the desk itself expected."
    if numbers.shadow:
        return (
            "Points are how many of the recorded guesses were not the experts' answer; the bars hold the true rate "
            "with 95 % confidence, and are long where there were few."
        )
    if found.audits is None:
        return (
            "How often guesses were wrong is not measured yet: an audit sends a guess to an expert as well."
            f"{dashed if found.mean_probability is not None else ''}"
        )
    return (
        "Points are how many of the audited guesses were wrong; the bars hold the true rate with 95 % confidence, and "
        f"are long where audits were few.{dashed if found.mean_probability is not None else ''}"
    )


def _regret_said(way: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return f"{way}\nnot known without audits"
    if estimate.low == estimate.high:
        return f"{way}\n{quantity(estimate.value)}"
    return f"{way}\n{quantity(estimate.value)}, from {quantity(estimate.low)} to {quantity(estimate.high)}"


def _of_all(calls: int, total: int) -> str:
    return f"{number_of(calls, 'answer', 'answers')}, {percent(calls / total)} of all"
