"""What the dashboard says, and the windows of time it looks at: without a browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from scipy.stats import binomtest

pytest.importorskip("nicegui", reason="needs nicegui: pip install 'askless[serve]'")

from askless.desk.audits import error_rate
from askless.errors import InvalidInput
from askless.service.pages.dashboard.data import next_start, start_of, window
from askless.service.pages.dashboard.tables import START, Chart, count, text
from askless.service.pages.dashboard.words import duration, money, number_of, percent, quantity, trust

NOW = datetime(2026, 3, 4, 15, 20, 30, tzinfo=UTC)  # a Wednesday


def plain(said: str) -> str:
    return said.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3_600, "1 h"),
        (3_601, "1 h"),
        (7_500, "2 h 5 min"),
        (90_061, "1 d 1 h"),
    ],
)
def test_lengths_of_time_have_two_units_at_most(seconds: float, said: str) -> None:
    assert plain(duration(seconds)) == said


def test_shares_never_claim_to_be_all_or_nothing() -> None:
    said = [plain(percent(share)) for share in (0.0, 0.0004, 0.1234, 0.9996, 1.0)]
    assert said == ["0.0 %", "0.04 %", "12.3 %", "99.96 %", "100.0 %"]


def test_amounts_have_cents_where_they_are_small() -> None:
    assert money(12.5, "€") == "€12.50"
    assert money(-1234.6, "€") == "\N{MINUS SIGN}€1,235"
    assert plain(money(12, "EUR", beside=5000)) == "EUR 12"
    assert money(-0.001, "€") == "€0.00"
    assert money(5, "") == "5.00"


def test_numbers_have_separators() -> None:
    assert [quantity(number) for number in (0, 0.04, 2, 2.25, 12_345.6)] == ["0", "0.04", "2", "2.2", "12,346"]
    assert number_of(1, "answer", "answers") == "1 answer"
    assert number_of(1_200, "answer", "answers") == "1,200 answers"


def test_trust_sets_what_audits_found_beside_what_was_said() -> None:
    rate = error_rate(112, 4)
    assert rate is not None
    exact = binomtest(4, 112).proportion_ci(0.95, method="exact")
    found = (
        f"4 of 112 audited guesses were wrong; the true rate lies between {100 * exact.low:.1f} % and "
        f"{100 * exact.high:.1f} %, with 95 % confidence."
    )
    assert plain(trust(rate, None)) == found
    assert plain(trust(rate, 0.971)) == f"{found} By the probabilities that it gave, the desk expected 2.9 %."
    one = error_rate(1, 1)
    assert one is not None
    assert trust(one, None).startswith("1 of 1 audited guess was wrong")


@pytest.mark.parametrize(
    ("by", "start", "after"),
    [
        ("hour", datetime(2026, 3, 4, 15, tzinfo=UTC), datetime(2026, 3, 4, 16, tzinfo=UTC)),
        ("day", datetime(2026, 3, 4, tzinfo=UTC), datetime(2026, 3, 5, tzinfo=UTC)),
        ("week", datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)),
        ("month", datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)),
    ],
)
def test_spans_begin_where_those_of_the_database_do(by: str, start: datetime, after: datetime) -> None:
    assert (start_of(NOW, by), next_start(start, by)) == (start, after)


def test_a_window_begins_with_a_whole_span() -> None:
    found = window("7d", "", NOW, NOW - timedelta(days=90))
    assert (found.by, found.since) == ("day", datetime(2026, 2, 25, tzinfo=UTC))
    assert window("24h", "", NOW, None).since == datetime(2026, 3, 3, 15, tzinfo=UTC)
    assert window("30d", "week", NOW, None).since == datetime(2026, 2, 2, tzinfo=UTC)


def test_all_time_is_counted_so_that_a_chart_can_show_it() -> None:
    for days, by in ((1, "hour"), (20, "day"), (300, "week"), (3_000, "month")):
        found = window("all", "", NOW, NOW - timedelta(days=days))
        assert (found.by, found.since) == (by, None)
        assert by in found.choices
    assert "hour" not in window("all", "", NOW, NOW - timedelta(days=300)).choices


@pytest.mark.parametrize(("span", "by"), [("9y", ""), ("24h", "month"), ("all", "minute")])
def test_what_cannot_be_shown_is_refused(span: str, by: str) -> None:
    with pytest.raises(InvalidInput, match="found"):
        window(span, by, NOW, NOW - timedelta(days=3))


def test_a_file_keeps_spreadsheets_from_running_a_label() -> None:
    rows = ((NOW, "=1+1", 3), (NOW, "a,b", None))
    file = Chart("x", "X", "", (START, text("label", "Label"), count("calls", "Calls")), rows, {}).csv()
    assert file.splitlines() == ["start,label,calls", f"{NOW.isoformat()},'=1+1,3", f'{NOW.isoformat()},"a,b",']
