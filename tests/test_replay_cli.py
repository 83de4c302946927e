"""`askless replay`: what it prints and writes, counted again from the decisions; bad input."""

from __future__ import annotations

import re
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest

from askless.cli.main import main
from askless.datasets.sample import support_questions

FILES = {"rows.csv", "summary.csv", "decisions.csv", "curves.svg", "report.html", "rows.sqlite"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the sample in it, and a cache of its own."""
    texts, labels = support_questions()
    pd.DataFrame({"question": texts, "topic": labels}).to_csv(tmp_path / "desk.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(["replay", *arguments])
    return left.value.code


def test_the_files_agree_with_a_count_of_the_decisions(folder, capsys):
    policies = ["--policy", "ghc:0.8", "--policy", "always-ask"]
    assert run("desk.csv", "--text", "question", "--label", "topic", *policies, "--seeds", "2", "--seed", "3") == 0
    out = capsys.readouterr().out
    made = folder / "askless-replay"
    assert {path.name for path in made.iterdir()} == FILES
    decisions = pd.read_csv(made / "decisions.csv", keep_default_na=False)
    rows, summary = pd.read_csv(made / "rows.csv"), pd.read_csv(made / "summary.csv").set_index("policy")
    texts, labels = support_questions()
    for _, row in rows.iterrows():
        own = decisions[(decisions.policy == row.policy) & (decisions.seed == row.seed)]
        assert own.row.tolist() == np.random.default_rng(row.seed).permutation(len(texts)).tolist()
        assert own.text.tolist() == [texts[k] for k in own.row]
        assert own.truth.tolist() == [labels[k] for k in own.row]
        asked = own.guess == ""
        calls, mistakes = int(asked.sum()), int((~asked & (own.guess != own.truth)).sum())
        assert (row.calls, row.mistakes, row.regret) == (calls, mistakes, 2 * calls + 11 * mistakes)
        assert row.rounds == len(texts)
    own = rows[rows.policy == "ghc:0.8"]
    assert 0 < own.calls.iloc[0] < len(texts)
    assert own.seed.tolist() == [3, 4]
    assert summary.regret["ghc:0.8"] == own.regret.mean()
    assert summary.regret_deviation["ghc:0.8"] == pytest.approx(own.regret.std(), abs=1e-4)
    assert summary.regret["always-ask"] == 2 * len(texts)
    shown = f"{own.regret.mean():,.0f} ± {own.regret.std():,.0f}"
    assert shown in out
    page = (made / "report.html").read_text(encoding="utf-8")
    assert shown in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "the examples that carried the guess" in page
    wrong = {  # by policy, in the first table
        name: cells.split("<td>")[4].removesuffix("</td>")
        for name, cells in re.findall(r"<tr><th>(\S+?)</th>\n(.*?)</tr>", page)
    }
    assert re.fullmatch(r"\d+\.\d ± \d+\.\d %", wrong["ghc:0.8"])
    assert wrong["always-ask"] == ""  # what never guesses has no share of wrong guesses
    heads = re.findall(r"<th( class=\"text\")?>([a-z ]+)</th>", page.split("</style>")[1])
    assert {name for text, name in heads if text} == {
        "policy",
        "label",
        "most often taken for",
        "text",
        "guessed",
        "right",
        "because of",
    }


def test_without_a_policy_it_compares_the_usual_ones(folder, capsys):
    assert run("desk.csv", "--label", "topic", "--rounds", "200", "--first-examples", "--known-labels") == 0
    out = capsys.readouterr().out
    assert "always-ask" in out
    assert "best of 13 in hindsight" in out
    rows = pd.read_csv(folder / "askless-replay" / "rows.csv")
    swept = rows[rows.family == "GHC"]
    assert len(swept) == 13
    assert swept[swept.shown].regret.tolist() == [swept.regret.min()]
    assert set(rows.rounds) == {200 - support_labels_among(200)}


def support_labels_among(rounds):
    _, labels = support_questions()
    return len({labels[k] for k in np.random.default_rng(0).permutation(len(labels))[:rounds]})


def test_guesses_of_askless_label_are_no_truth(folder, capsys):
    texts, labels = support_questions()
    sources = ["guess" if k % 3 == 0 else "expert" for k in range(60)]
    given = [("wrong" if source == "guess" else label) for source, label in zip(sources, labels[:60], strict=True)]
    frame = pd.DataFrame({"text": texts[:60], "label": given, "source": sources, "confidence": "", "support": ""})
    frame.to_csv("labelled.csv", index=False)
    assert run("labelled.csv", "--policy", "always-ask") == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "askless wrote this file: of its labels those with the source expert or given" in err
    assert "20 guesses not." in err
    decisions = pd.read_csv(folder / "askless-replay" / "decisions.csv", keep_default_na=False)
    assert sorted(decisions.text) == sorted(text for k, text in enumerate(texts[:60]) if k % 3)
    assert "wrong" not in set(decisions.truth)


def test_the_second_time_nothing_is_run(folder, capsys):
    command = ["desk.csv", "--text", "question", "--label", "topic", "--policy", "ghc:0.7", "--rounds", "100"]
    assert run(*command) == 0
    made = folder / "askless-replay"
    before = contents(made / "rows.sqlite")
    first = capsys.readouterr().out
    assert run(*command) == 0
    assert capsys.readouterr().out == first  # the seconds too: they are those of the run
    assert contents(made / "rows.sqlite") == before
    assert run(*command, "--delay", "5") == 0
    assert len(contents(made / "rows.sqlite")) == len(before) + 1


def contents(store):
    connection = sqlite3.connect(store, timeout=10)
    try:
        return connection.execute("SELECT key, row FROM rows ORDER BY key").fetchall()
    except sqlite3.OperationalError:  # the table is not there yet
        return []
    finally:
        connection.close()


def test_hostile_texts_and_labels_stay_text(folder, capsys):
    evil = "<script>alert('x')</script> [bold]card[/bold] {{ 7 * 7 }}"
    texts, labels = support_questions()
    frame = pd.DataFrame({"text": [f"{evil} {text}" for text in texts], "label": labels})
    frame["label"] = frame["label"].replace({labels[0]: "<img src=x onerror=alert(1)>[/red]"})
    frame.to_csv(folder / "[red]evil.csv", index=False)
    assert run("[red]evil.csv", "--label", "label", "--policy", "ghc:0.9", "--out", "out") == 0
    assert "[red]evil.csv" in capsys.readouterr().out
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert" in page
    assert "{{ 7 * 7 }}" in page


def test_rows_without_label_and_texts_without_token_are_said(folder, capsys):
    frame = pd.read_csv("desk.csv")
    frame.loc[3, "topic"] = ""
    frame.loc[5, "question"] = ""
    frame.to_csv("gaps.csv", index=False)
    assert run("gaps.csv", "--text", "question", "--label", "topic", "--policy", "ghc:0.9") == 0
    said = capsys.readouterr().err
    assert "askless: Rows left out because they have no known label: 1.\n" in said
    assert re.search(r"Texts of which wordllama/\S+ knows no token, so that every policy asks them: 1\.\n", said)
    decisions = pd.read_csv(folder / "askless-replay" / "decisions.csv", keep_default_na=False)
    assert decisions[decisions.text == ""].action.tolist() == ["ask"]
    assert len(decisions) == len(frame) - 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv", "--label", "topic"], "nothing.csv"),
        (["bankin77"], "did you mean banking77"),
        (["desk.csv"], "holds the labels? Name it with --label; its columns are question, topic"),
        (["desk.csv", "--label", "topics"], "did you mean 'topic'"),
        (["desk.csv", "--label", "topic", "--policy", "gch:0.9"], "Did you mean 'ghc'"),
        (["desk.csv", "--label", "topic", "--policy", "skm"], "n_labels"),
        (["desk.csv", "--label", "topic", "--costs", "1,2"], "three numbers"),
        (["desk.csv", "--label", "topic", "--rounds", "0"], "--rounds"),
        (["desk.csv", "--label", "topic", "--seeds", "0"], "--seeds"),
        (["desk.csv", "--label", "topic", "--jobs", "0", "--policy", "chc"], "--jobs"),
        (["desk.csv", "--label", "topic", "--error-rate", "2"], "--error-rate"),
        (["desk.csv", "--label", "topic", "--embedder", "wordlama"], "Did you mean 'wordllama'"),
        (["desk.csv", "--label", "topic", "--out", "desk.csv"], "Choose another with --out"),
        (["one.csv", "--label", "topic"], "at least two different labels are needed"),
    ],
)
def test_a_mistake_is_one_line(folder, capsys, arguments, words):
    (folder / "one.csv").write_text("text,topic\nhello,greeting\ngood day,greeting\n", encoding="utf-8")
    before = (folder / "desk.csv").read_bytes()
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("askless: ")
    assert said.err.count("\n") == 1
    assert words in said.err
    assert (folder / "desk.csv").read_bytes() == before
    assert not (folder / "askless-replay" / "report.html").exists()


COMMAND = ["desk.csv", "--label", "topic", "--policy", "ghc:0.7", "--rounds", "60", "--out", "out"]


@pytest.mark.parametrize("there", [["rows.csv"], ["report.html", "curves.svg"]])
def test_files_that_no_replay_wrote_are_not_written_over(folder, capsys, there):
    (folder / "out").mkdir()
    for name in there:
        (folder / "out" / name).write_text("mine")
    assert run(*COMMAND) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--force" in said
    assert all(name in said for name in there)
    assert {path.name: path.read_text() for path in (folder / "out").iterdir()} == dict.fromkeys(there, "mine")
    assert run(*COMMAND, "--force") == 0
    assert all("mine" not in (folder / "out" / name).read_text().split() for name in there)
    assert run(*COMMAND) == 0  # from now on they are the replay's own


def test_a_store_of_another_program_is_left_alone(folder, capsys):
    (folder / "out").mkdir()
    store = folder / "out" / "rows.sqlite"
    connection = sqlite3.connect(store)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = store.read_bytes()
    assert run(*COMMAND) == 2
    assert "has rows.sqlite, which no replay wrote" in capsys.readouterr().err
    assert [path.name for path in store.parent.iterdir()] == ["rows.sqlite"]
    assert store.read_bytes() == before
    (folder / "out" / "notes.txt").write_text("mine")
    store.unlink()
    assert run(*COMMAND) == 0
    assert (folder / "out" / "notes.txt").read_text() == "mine"


def test_a_column_called_label_is_taken_by_itself(folder, capsys):
    pd.read_csv("desk.csv").rename(columns={"topic": " Label", "question": "wording"}).to_csv("named.csv", index=False)
    options = ["--policy", "ghc:0.7", "--rounds", "60", "--out"]
    assert run("named.csv", *options, "found") == 0
    assert run("named.csv", "--text", "wording", "--label", " Label", *options, "named") == 0
    found, named = (pd.read_csv(folder / out / "decisions.csv") for out in ("found", "named"))
    pd.testing.assert_frame_equal(found, named)
