"""What is typed is understood, what is shown is safe."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.cli.label_reply import Act, Reply, close_label, doubtful, understood
from askless.cli.label_text import visible

CHOICES = ["track order", "2", ":s"]


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("1\n", Reply(Act.LABEL, "track order", exact=True)),
        (" 2 ", Reply(Act.LABEL, "2", exact=True)),
        ("3", Reply(Act.LABEL, ":s", exact=True)),
        ("=2", Reply(Act.LABEL, "2", exact=True)),
        ("=4", Reply(Act.LABEL, "4", exact=True)),
        ("=:s", Reply(Act.LABEL, ":s", exact=True)),
        ("=?", Reply(Act.LABEL, "?", exact=True)),
        ("== x", Reply(Act.LABEL, "= x", exact=True)),
        ("return item", Reply(Act.LABEL, "return item")),
        ("skip", Reply(Act.LABEL, "skip")),
        ("cafe\u0301", Reply(Act.LABEL, "café")),
        ("return\nitem", Reply(Act.LABEL, "return item")),
        ("=return \t  item\u00a0now", Reply(Act.LABEL, "return item now", exact=True)),
        (":s", Reply(Act.SKIP)),
        (":SKIP", Reply(Act.SKIP)),
        (":u", Reply(Act.UNDO)),
        (":undo", Reply(Act.UNDO)),
        (":q", Reply(Act.QUIT)),
        ("?", Reply(Act.HELP)),
        ("", Reply(Act.HELP)),
        ("  \n", Reply(Act.HELP)),
    ],
)
def test_a_line_is_understood(line: str, reply: Reply) -> None:
    assert understood(line, CHOICES) == reply


@pytest.mark.parametrize(("line", "word"), [("4", "=4"), ("0", "=0"), (":x", "=:x"), ("=", "After =")])
def test_what_is_unclear_says_what_to_type(line: str, word: str) -> None:
    reply = understood(line, CHOICES)
    assert reply.act is Act.UNCLEAR
    assert word in reply.message


@pytest.mark.parametrize("typed", ["return item", "return  item", "return\nitem"])
def test_a_known_label_that_differs_by_white_space_alone_is_meant(typed: str) -> None:
    assert understood(typed, [], ["x", "return\u00a0item"]).label == "return\u00a0item"
    assert understood(f"={typed}", [], ["x", "return\u00a0item", "return item"]).label == "return item"


@given(st.text())
def test_every_label_can_be_typed(label: str) -> None:
    from askless.desk.texts import normal

    wanted = " ".join(normal(label).split())
    reply = understood(f"={label}", [])
    assert reply.act is (Act.LABEL if wanted else Act.UNCLEAR)
    assert reply.label == wanted


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("card not arived", "card not arrived"),
        ("Card Not Arrived", "card not arrived"),
        ("crdarr", "card not arrived"),
        ("card not arrived", None),
        ("refund", None),
        ("ca", None),
    ],
)
def test_a_slip_is_noticed(typed: str, meant: str | None) -> None:
    assert close_label(typed, ["card not arrived", "block card", "change pin"]) == meant


@pytest.mark.parametrize("typed", ["fee", "late", "pin", "iban", "transfer", "arrived", "card", "note", "rate", "cat"])
def test_a_short_new_label_is_not_taken_for_a_slip(typed: str) -> None:
    known = ["failed_transfer", "card not arrived", "activate my card", "pending transfer", "exchange rate fee charged"]
    assert close_label(typed, known) is None


@pytest.mark.parametrize(
    ("typed", "meant"), [("failtrans", "failed_transfer"), ("clacc", "close account"), ("refnd", "refund")]
)
def test_an_abbreviation_is_noticed(typed: str, meant: str) -> None:
    assert close_label(typed, ["failed_transfer", "close account", "refund"]) == meant


def test_long_labels_stay_quick() -> None:
    """Quadratic work on labels of this length would take minutes."""
    assert close_label("a" * 30_000 + "b", ["a" * 60_000, "a " * 30_000]) is None


def test_what_was_chosen_or_marked_is_not_doubted() -> None:
    known = ["card not arrived", "2"]
    for line, meant in (("card not arived", "card not arrived"), ("=card not arived", None), ("1", None), (":s", None)):
        assert doubtful(understood(line, ["a choice"]), known) == meant


def test_ten_thousand_labels() -> None:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from askless.cli.label_prompt import completer

    rng = random.Random(0)
    labels = [f"{rng.choice('abcdefgh') * 3} number {k}" for k in range(10_000)]
    assert close_label("aaa numbr 9", labels) is not None
    assert close_label("something quite different", labels) is None
    words = completer(lambda: labels)
    for typed in ("a", "aaa number 77", "num 9999"):
        found = list(words.get_completions(Document(typed), CompleteEvent()))
        assert found
        assert all(option.start_position == -len(typed) for option in found)


@given(st.text())
def test_nothing_shown_can_command_the_terminal(text: str) -> None:
    shown = visible(text)
    assert not [sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cs")]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


def test_ordinary_text_is_shown_as_it_is() -> None:
    for text in ("naïve café", "日本語 👩‍👩‍👧 🏳️‍🌈", "שלום עולם", "[bold]not markup[/bold] :smile:"):
        assert visible(text) == text
    assert visible("a\nb\tc") == "a b c"
    assert visible("\x1b[31mred\x07") == r"\x1b[31mred\x07"
    assert visible("x" * 50, 10) == "x" * 9 + "…"
