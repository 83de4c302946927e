"""`askless datasets`: what a person sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from askless.cli.datasets import app as datasets
from askless.cli.main import app, main
from askless.datasets.catalogue import DATASETS
from askless.errors import AsklessError

PAGE = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text(encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["datasets", *arguments])


def shown(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_every_data_set_is_listed_with_whether_it_is_here(tmp_path: Path) -> None:
    (tmp_path / "comqa.csv").write_text("text,label\na,b\n")
    result = run("list", "--data-dir", str(tmp_path))
    here = dict(re.findall(r"^│ (\S+) .* (yes|no) +│$", result.output, re.MULTILINE))
    assert list(here) == list(DATASETS)
    assert {name for name, value in here.items() if value == "yes"} == {"support-questions", "comqa"}
    assert "13,083" in result.output


def test_a_data_set_is_described(tmp_path: Path) -> None:
    text = shown("describe", "support-questions", "--data-dir", str(tmp_path))
    for words in ("863 texts under 33 labels", "licence: Apache-2.0", "citation:", "... 23 more"):
        assert words in text


def test_a_file_is_described_with_a_plot(tmp_path: Path) -> None:
    path, plot = tmp_path / "t.csv", tmp_path / "sizes.png"
    path.write_bytes("q;g\n[bold]été[/bold];a\ny;a\nz;b\nw;\n".encode("cp1252"))
    arguments = [str(path), "--text", "q", "--label", "g", "--encoding", "cp1252", "--plot", str(plot)]
    text = shown("describe", *arguments)
    assert "3 texts under 2 labels" in text
    assert "1 more have no label and are left out" in text
    assert "[bold]été[/bold]" in text  # what looks like markup is shown as it is
    assert "licence" not in text
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_file_is_described_with_the_separator_it_has(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text:label\na, b:x\nc, d:y\n")
    assert "2 texts under 2 labels" in shown("describe", str(tmp_path / "t.csv"), "--delimiter", ":")


def test_a_sheet_of_a_workbook_is_described_and_named(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    for row in (["text"], ["a note"]):
        book.active.append(row)
    sheet = book.create_sheet("Tickets")
    for row in (["text", "label"], ["abc", "x"], ["def", "y"]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    text = shown("describe", str(tmp_path / "t.xlsx"))
    assert "1 text without labels" in text
    assert "Of t.xlsx the sheet 'Notes' is read, and not 'Tickets'; --sheet names another." in text
    assert "2 texts under 2 labels" in shown("describe", str(tmp_path / "t.xlsx"), "--sheet", "Tickets")


def test_a_blank_text_is_no_text_of_the_description(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\nabc,a\n,a\nabcdef,b\n  ,c\n")
    text = shown("describe", str(tmp_path / "t.csv"))
    assert "2 texts under 2 labels" in text
    assert "2 more have a blank text and are not counted" in text
    assert "a text has 3 to 6 characters" in text
    (tmp_path / "t.csv").write_text("text,label\n,a\n ,b\n")
    with pytest.raises(AsklessError, match=r"Every text of t\.csv is blank"):
        raise run("describe", str(tmp_path / "t.csv")).exception  # type: ignore[misc]


def test_one_label_is_described(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\nabc,a\nde,a\n,\n")
    text = shown("describe", str(tmp_path / "t.csv"), "--plot", str(tmp_path / "sizes.svg"))
    assert "2 texts under 1 label 1 more" in text
    assert "1 more have no label and are left out" in text
    assert "a label has 2 to 2 texts" in text
    assert (tmp_path / "sizes.svg").exists()


@pytest.mark.parametrize("contents", ["question,when\nabc,1\ndefg,2\n,3\n", "text,label\nabc,\ndefg, \n,\n"])
def test_texts_without_labels_are_described(tmp_path: Path, contents: str) -> None:
    (tmp_path / "t.csv").write_text(contents)
    text = shown("describe", str(tmp_path / "t.csv"))
    assert "2 texts without labels" in text
    assert "a text has 3 to 4 characters" in text
    assert "1 more have a blank text and are not counted" in text
    assert "defg" in text
    assert "a label has" not in text
    plot = tmp_path / "sizes.svg"
    with pytest.raises(AsklessError, match="has no labels whose sizes --plot could draw"):
        raise run("describe", str(tmp_path / "t.csv"), "--plot", str(plot)).exception  # type: ignore[misc]
    assert not plot.exists()


def test_fetching_says_the_licence_and_what_is_here(tmp_path: Path) -> None:
    (tmp_path / "comqa.csv").write_text("text,label\na,b\n")
    text = shown("fetch", "comqa", "support-questions", "--data-dir", str(tmp_path))
    assert f"Licence: {DATASETS['comqa'].licence}" in text
    assert f"here already, in {tmp_path}" in text
    assert "comes with askless" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fetch", "bankin77"], "did you mean 'banking77'"),
        (["describe", "bankin77"], "did you mean banking77"),
        (["describe", "absent.csv", "--label", "x"], "No such file"),
        (["describe", "absent.csv"], "No such file"),
        (["describe", "support-questions", "--plot", "x.doc"], "--plot is a .png"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, AsklessError)
    assert words in str(result.exception)


def test_without_a_network_the_message_says_which_file_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    with pytest.raises(SystemExit) as caught:
        main(["datasets", "fetch", "clinc150", "--data-dir", str(tmp_path)])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"put it at {tmp_path}/clinc150/data_full.json" in error
    assert list(tmp_path.iterdir()) == []


def test_every_command_has_an_example() -> None:
    for command in ("list", "fetch", "describe"):
        assert "Example" in run(command, "--help").output


def test_the_page_has_every_option() -> None:
    commands = typer.main.get_command(datasets).commands.values()  # type: ignore[attr-defined]
    options = {name for command in commands for one in command.params for name in one.opts if name.startswith("--")}
    assert set(re.findall(r"^\| `(--[a-z-]+)`", PAGE, re.MULTILINE)) == options | {"--help"}


def test_the_page_names_every_data_set() -> None:
    for dataset in DATASETS.values():
        assert f"`{dataset.name}`" in PAGE
        for file in dataset.files:
            assert Path(file.path).name in PAGE
