"""Texts of endless combining marks, and where queries are made ready to be kept."""

from __future__ import annotations

import threading
import time
import unicodedata
from concurrent.futures import wait

import numpy as np
import pytest

from askless.desk.live import intake
from askless.desk.live.embedding import EmbeddingThread
from askless.desk.live.intake import Submission, ready
from askless.desk.live.types import NewQuery
from askless.desk.texts import key_of, normal
from askless.errors import AsklessError, InvalidInput
from askless.ledger.database import Database
from live_admin import NAME, toy
from toy_desk import Letters

MARKS = "\u0315\u0300\u0344\u0f73\u0323\u3099\U0001d165"  # some stand for two, some have other classes, one is no BMP


def longest_run(text: str) -> int:
    longest = run = 0
    for c in "".join(unicodedata.normalize("NFD", c) for c in text):
        run = run + 1 if unicodedata.combining(c) else 0
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize("marks", ["\u0315\u0300", "\u0344\u0315", "\u0f73", MARKS], ids=ascii)
def test_a_long_run_of_marks_takes_no_more_time_than_other_text(marks: str) -> None:
    """Sorting so many at once would take many minutes."""
    text = "a" + marks * (400_000 // len(marks))
    began = time.monotonic()
    found = normal(text)
    assert time.monotonic() - began < 10
    assert longest_run(found) == 30
    assert normal(found) == found


def test_equal_texts_stay_equal_and_usual_ones_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    letters = [
        "a",
        "e\u0301",
        "\u00e9",
        "\u1f82",
        "\u0b95\u0bcb",
        "\uac01",
        "\u1112\u1161\u11ab",
        "\U0001f642",
        " ",
        "\u3002",
    ]
    for _ in range(300):
        runs = rng.integers(0, 40, size=6)
        text = "".join(rng.choice(letters) + "".join(rng.choice(list(MARKS), size=run)) for run in runs)
        apart = "".join(unicodedata.normalize("NFD", c) for c in text)
        found = normal(text)
        assert normal(apart) == found == normal(found)
        assert key_of(apart) == key_of(text)
        assert longest_run(found) <= 30
        if longest_run(text) <= 30:
            assert found == unicodedata.normalize("NFC", text).strip()


def test_rows_of_signs_without_marks_are_left_alone() -> None:
    for text in ("\u2500" * 40, "\U0001f642" * 40, "\u3002\u2026" * 20, "caf\u00e9 " * 20 + "x"):
        assert normal(text) == text
    assert normal("\ud800x" + "\u2500" * 20) == "?x" + "\u2500" * 20
    assert normal(" plain\n") == "plain"


def test_a_query_is_made_ready_by_the_embedder_s_thread_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noted(text: str) -> str:
        threads.append(threading.current_thread().name)
        return normal(text)

    monkeypatch.setattr(intake, "normal", noted)
    thread = EmbeddingThread(Letters)
    forwarded: list[Submission] = []
    good, bad = (
        Submission([NewQuery("a", " apple ")], "me"),
        Submission([NewQuery("b", "bear"), NewQuery("c", " ")], "me"),
    )
    for submission in (bad, good):
        thread.put(submission, forwarded.append)
    thread.close()
    (query,) = good.queries
    assert forwarded == [good]
    assert query.text == "apple"
    assert query.vector is not None
    assert float(query.vector @ query.vector) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="'c' is blank"):
        bad.future.result(0)
    assert ready(query) is query
    assert threads == ["askless-embedder"] * 3


def test_a_thread_to_which_only_bad_queries_came_lives_on() -> None:
    def gone() -> Letters:
        raise AsklessError("There is no such embedder.")

    thread = EmbeddingThread(gone)
    found = []
    for text in (" ", "apple"):
        submission = Submission([NewQuery("a", text)], "me")
        thread.put(submission, lambda submission: None)
        assert not wait([submission.future], timeout=20).not_done
        found.append(str(submission.future.exception()))
    thread.close()
    assert "blank" in found[0]
    assert found[1] == "There is no such embedder."


def test_a_desk_makes_each_query_ready_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(intake, "normal", lambda text: seen.append(text) or normal(text))
    with toy(database) as desks:
        (outcome,) = desks.submit(NAME, [NewQuery("a", " apple")], "me").result()
        (again,) = desks.submit(NAME, [NewQuery("a", "apple ")], "me").result()
        with pytest.raises(InvalidInput, match="blank"):
            desks.submit(NAME, [NewQuery("b", "\n")], "me").result()
    assert outcome == again
    assert seen == [" apple", "apple ", "\n"]
