"""`askless reproduce`: its commands, its report, its files, and what it says of mistakes."""

from __future__ import annotations

import csv
import html.parser
import importlib.util
import json
import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner

from askless.cli.main import app, main
from askless.cli.reproduce import app as reproduce_app
from askless.errors import InvalidInput, UnwritableFile
from askless.reproduce import report
from askless.reproduce.compare import Beside, Compared
from askless.reproduce.paper import Figure, Setting
from askless.reproduce.tables import FILE_TABLES, SUMMARY, SYNTHETIC_TABLES

SMALL = ["--rounds", "60", "--draws", "1", "--seeds", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def failure(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["reproduce", *arguments])
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert said.startswith("askless: ")
    assert said.count("\n") == 1
    return said


class Outside(html.parser.HTMLParser):
    """Collects every address that a page would fetch, and every tag left open."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self):
        super().__init__()
        self.addresses, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "srcset", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outside(page):
    parser = Outside()
    parser.feed(page)
    assert parser.open == []
    return [address for address in parser.addresses if not address.startswith(("data:image/", "#"))]


def test_every_table_is_listed():
    lines = run("list").splitlines()
    assert [line.split()[0] for line in lines] == [*SYNTHETIC_TABLES, SUMMARY, *FILE_TABLES]


@pytest.mark.parametrize("command", [["table"], ["all"], ["list"], []])
def test_help_has_an_example(command):
    said = run(*command, "--help")
    assert "Example" in said
    assert " ".join(["askless reproduce", *command]) in said


def test_a_table_its_report_and_its_files(folder):
    said = run("table", "cube-center", *SMALL, "--out", "out")
    assert "C=0.25" in said
    assert "d=50 mixture" in said
    assert "No verdicts" in said
    made = folder / "out" / "cube-center"
    assert sorted(path.name for path in made.iterdir()) == [
        "cells.csv",
        "cells.json",
        "ratios.svg",
        "report.html",
        "rows.csv",
        "rows.json",
    ]
    with open(made / "cells.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 64 == len(json.loads((made / "cells.json").read_text()))
    with open(made / "rows.csv", encoding="utf-8") as file:
        rows = {(r["dim"], r["distribution"], r["policy"]): r for r in csv.DictReader(file)}
    assert len(rows) == 64
    for line in lines:
        row = rows[line["dim"], line["distribution"], f"cc:{line['column'][2:]}"]
        for measure in ("calls", "mistakes", "regret"):
            assert float(line[f"{measure}_ours"]) == float(row[measure])
        assert float(row["regret"]) == 2 * int(row["all_calls"]) + 11 * int(row["mistakes"])
    page = (made / "report.html").read_text(encoding="utf-8")
    assert outside(page) == []
    for line in lines:
        assert f"<b>{float(line['regret_ours']):,.0f}</b>" in page  # one run has no deviation
        assert f"<span>{float(line['regret_paper']):,.0f} ± {float(line['regret_paper_deviation']):,.0f}</span>" in page
    assert "data:image/svg+xml;base64," in page
    assert "mean ± standard deviation" not in page


def test_several_runs_have_a_deviation(folder):
    run("table", "cube-center", *SMALL, "--seeds", "2", "--out", "out")
    cells = json.loads((folder / "out" / "cube-center" / "cells.json").read_text())
    page = (folder / "out" / "cube-center" / "report.html").read_text(encoding="utf-8")
    assert any(cell["regret_ours_deviation"] > 0.0 for cell in cells)
    assert "mean ± standard deviation" in page
    for cell in cells:
        assert f"<b>{cell['regret_ours']:,.0f} ± {cell['regret_ours_deviation']:,.0f}</b>" in page


def test_the_summary_alone_has_no_plot(folder):
    run("table", SUMMARY, "--rounds", "20", "--draws", "1", "--seeds", "1", "--out", "out")  # a warning is an error
    made = folder / "out" / SUMMARY
    assert not (made / "ratios.svg").exists()
    assert "<img" not in (made / "report.html").read_text(encoding="utf-8")


def test_a_second_run_runs_nothing_and_says_the_same(folder):
    first = run("table", "sphere-nearest", *SMALL)
    store = folder / "askless-reproduce" / "rows.sqlite"
    before = contents(store)
    assert run("table", "sphere-nearest", *SMALL) == first
    assert contents(store) == before
    run("table", "sphere-nearest", *SMALL, "--draws", "2")
    assert set(before) < set(contents(store))
    assert len(contents(store)) == 2 * len(before)


def contents(store):
    connection = sqlite3.connect(store)
    found = connection.execute("SELECT key, row FROM rows ORDER BY key").fetchall()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table", "cube"], "No table is named 'cube'"),
        (["table", "qqg"], "--file"),
        (["table", "cube-hull", "--rounds", "0"], "--rounds"),
        (["table", "cube-hull", "--draws", "0"], "--draws"),
        (["all", "--seeds", "0"], "--seeds"),
        (["all", "--jobs", "0"], "--jobs"),
        (["table", "cube-hull", "--out", "taken"], "Cannot use the folder 'taken'"),
        (["table", "qqg", "--file", "absent.csv", "--text", "a", "--label", "b"], "absent.csv"),
        (["table", "qqg", "--file", "absent.csv"], "Cannot read absent.csv: No such file or directory"),
        (["all", "--dask", "tcp://127.0.0.1:9"], "No Dask scheduler answers at 'tcp://127.0.0.1:9'"),
    ],
)
def test_a_mistake_is_one_line(capsys, folder, monkeypatch, arguments, words):
    monkeypatch.setattr("askless.reproduce.execute._SECONDS_TO_CONNECT", 1)
    (folder / "taken").write_text("mine")
    assert words in failure(capsys, *arguments)
    assert (folder / "taken").read_text() == "mine"
    assert not list(folder.rglob("report.html"))


def test_a_folder_that_cannot_be_written_is_named(capsys, folder):
    (folder / "locked").mkdir(mode=0o500)
    if os.access(folder / "locked", os.W_OK):  # the superuser may write anywhere, but not into a file
        (folder / "locked" / "rows.sqlite").mkdir()
    assert "locked" in failure(capsys, "table", "cube-center", *SMALL, "--out", "locked")


def test_a_damaged_store_is_one_line_and_left_alone(capsys, folder):
    (folder / "out").mkdir()
    store = folder / "out" / "rows.sqlite"
    store.write_bytes(b"these are not the rows" * 100)
    assert "is damaged" in failure(capsys, "table", "cube-center", *SMALL, "--out", "out")
    assert store.read_bytes() == b"these are not the rows" * 100


def test_damaged_rows_are_run_again_and_said(capsys, folder):
    first = run("table", "cube-center", *SMALL, "--out", "out")
    connection = sqlite3.connect(folder / "out" / "rows.sqlite")
    with connection:
        connection.execute("UPDATE rows SET row = replace(row, 'regret', 'regrets') WHERE rowid <= 3")
    connection.close()
    result = CliRunner().invoke(app, ["reproduce", "table", "cube-center", *SMALL, "--out", "out"])
    assert result.exit_code == 0
    assert result.stderr == "askless: 3 rows of out were damaged; those needed were run again.\n"
    assert result.stdout == first


def test_a_report_is_written_whole_or_not_at_all(folder, monkeypatch):
    target = folder / "report.html"
    target.write_text("the one before")

    def fails(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("askless.datasets.whole.os.replace", fails)
    with pytest.raises(UnwritableFile, match="No space left on device"):
        report.write_whole(target, b"new")
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    assert target.read_text() == "the one before"


def cell(verdict, mean):
    beside = Beside(Figure(100.0, 5.0), Figure(mean, 4.0), 40.0)
    return Compared("cube-hull", Setting("cube", 4, "uniform"), f"tau={mean}", beside, beside, beside, verdict, 1.0)


def test_the_report_shows_verdicts_and_plots_and_escapes_what_it_is_given(folder):
    (folder / "figure.png").write_bytes(b"\x89PNG\r\n")
    path = report.write_report(
        folder,
        cells=[cell("within", 101.0), cell("lower", 50.0), cell("higher", 200.0), cell("within", 99.0)],
        command="askless reproduce <all> & more",
        facts={"size": "<b>"},
        plots=[("A <figure>", folder / "figure.png")],
    )
    page = path.read_text(encoding="utf-8")
    assert outside(page) == []
    assert "askless reproduce &lt;all&gt; &amp; more" in page
    assert "A &lt;figure&gt;" in page
    assert "data:image/png;base64,iVBORw0K" in page
    assert "2 within, 1 lower, 1 higher" in page
    assert "(75.0 per cent within or lower)" in page
    assert page.count("▲ higher</em>") == page.count("▼ lower</em>") == 1
    with pytest.raises(InvalidInput, match=r"\.svg or \.png"):
        report.write_report(folder, command="", facts={}, plots=[("x", folder / "a.pdf")])
    with pytest.raises(InvalidInput, match="Cannot read the plot"):
        report.write_report(folder, command="", facts={}, plots=[("x", folder / "absent.svg")])


def test_every_option_and_table_is_in_the_documents():
    documents = Path(__file__).parents[1] / "docs" / "reproduction.md"
    text = documents.read_text(encoding="utf-8")
    commands = typer.main.get_command(reproduce_app).commands
    options = {o for name in ("table", "all") for p in commands[name].params for o in p.opts if o.startswith("--")}
    documented = set(re.findall(r"^\| `(--[a-z-]+)` \|", text, re.MULTILINE))
    assert documented == options
    for name in (*SYNTHETIC_TABLES, SUMMARY, *FILE_TABLES):
        assert f"`{name}`" in text
    for command in re.findall(r"^askless (reproduce table|reproduce all|reproduce list)(.*)$", text, re.MULTILINE):
        assert set(re.findall(r"--[a-z]+", command[1])) <= options


def test_the_figures_of_the_documents_are_written_from_a_run(folder):
    """The script beside the documents turns cells and rows into their section."""
    spec = importlib.util.spec_from_file_location("figures", Path(__file__).parents[1] / "docs" / "reproduction.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    cells = [cell("within", 101.0), cell("lower", 50.0), cell("higher", 200.0), cell("within", 99.0)]
    whole = [replace(cell("within", 101.0), table=SUMMARY, column="GHC", calls=None, mistakes=None)]
    rows = [{"kind": "synthetic", "draw": 1, "data_set": 2, "rounds": 5000, "seconds": 90.0}]
    report.write_report(folder, cells=cells + whole, rows=rows, command="", facts={})
    figures.PAGE = folder / "page.md"
    figures.PAGE.write_text("before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n")
    figures.main(folder)
    page = figures.PAGE.read_text(encoding="utf-8")
    assert page.startswith("before\n<!-- figures -->\nFrom 2 draws of the label seeds with 3 data sets each")
    assert "Of 4 cells 75.0 per cent are within or lower." in " ".join(page.split())
    assert page.endswith("<!-- /figures -->\nafter\n")
    assert "old" not in page
    assert "| `cube-hull` | 4 | 2 | 1 | 1 |" in page
    assert "| cube d=4 uniform |  |  | 101 ± 4 (100) |" in page
    assert "| `cube-hull` | cube d=4 uniform | tau=200.0 | 200 ± 4 (100) | 40 |" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table", "cube-center", "--text", "a", "--label", "b"], "name it with --file"),
        (["all", "--label", "b"], "name it with --file"),
        (["table", "cube-center", "--file", "a.csv"], "not made from a file"),
        (["table", "qqg", "--file", "v.npy", "--label", "gone.txt"], "Cannot read gone.txt"),
        (["table", "cube-center", *SMALL, "--dask", "garbage"], "No Dask scheduler answers at 'garbage'"),
        (["table", "cube-center", *SMALL, "--dask", "foo://x"], "No Dask scheduler answers at 'foo://x'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(arguments, says, capsys):
    np.save("v.npy", np.eye(4))
    assert says in failure(capsys, *arguments)


def test_a_dollar_sign_in_a_file_name_is_no_formula(tmp_path):
    Path("a$x_{b$c.csv").write_text("q,g\n" + "".join(f"hello you {k},{k % 3}\n" for k in range(12)), encoding="utf-8")
    run("figure", "group-sizes", "--file", "a$x_{b$c.csv", "--label", "g")
    assert (tmp_path / "askless-reproduce" / "figures" / "group-sizes.svg").exists()


def test_a_saved_plot_is_the_same_each_time(tmp_path):
    from matplotlib.figure import Figure as Drawing

    def drawing():
        figure = Drawing()
        figure.subplots().fill_between([0, 1], [1, 2], hatch="//")
        return figure

    first, second = (report.save_plot(drawing(), tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second
