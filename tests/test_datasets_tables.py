"""A user's table: every format read as it was typed, and written whole."""

from __future__ import annotations

import datetime
import gzip
import importlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from askless.datasets.delimited import separator_named
from askless.datasets.tables import Table, read_table, write_table
from askless.errors import InvalidInput, MissingExtra, UnwritableFile

AWKWARD = [
    "NA",
    "007",
    "1e5",
    "2024-01-31",
    "true",
    "=1+1",
    "é 漢字 🎉",
    'a "quoted", text',
    "two\nlines",
    "null",
    " x ",
]
FORMATS = ["csv", "tsv", "jsonl", "parquet", "xlsx", "csv.gz", "jsonl.gz"]


def needs(suffix: str) -> None:
    library = {"parquet": "pyarrow", "xlsx": "openpyxl"}.get(suffix)
    if library:
        pytest.importorskip(library, reason=f"{library} comes with the extra askless[files]")


def table_of(path: Path, contents: bytes | str, **options: object) -> Table:
    path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return read_table(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_as_it_was(tmp_path: Path, suffix: str) -> None:
    needs(suffix)
    frame = pd.DataFrame({"text": AWKWARD, "label": [f"{k:03}" for k in range(len(AWKWARD))]}, dtype=object)
    write_table(frame, tmp_path / f"t.{suffix}")
    found = read_table(tmp_path / f"t.{suffix}", label="label")
    assert found.texts == AWKWARD
    assert found.labels == list(frame["label"])
    assert found.frame.equals(frame)
    assert (found.text_column, found.label_column, found.broken) == ("text", "label", [])
    assert found.format == {"xlsx": "excel"}.get(suffix, suffix.removesuffix(".gz"))
    assert [path.name for path in tmp_path.iterdir()] == [f"t.{suffix}"]  # no temporary file is left


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_separators_line_ends_and_marks(tmp_path: Path, separator: str, end: str, mark: bytes) -> None:
    rows = [["Text", "a, b; c|d", "n"], ['"x, y; z|w\t"', '"two' + end + 'lines"', "3"], ["é", "", "4"]]
    rows[0][1] = '"a, b; c|d"'  # a name with every separator in it
    contents = mark + end.join(separator.join(row) for row in rows).encode() + end.encode()
    found = table_of(tmp_path / "t.csv", contents)
    assert list(found.frame.columns) == ["Text", "a, b; c|d", "n"]
    assert found.texts == ["x, y; z|w\t", "é"]
    assert list(found.frame["a, b; c|d"]) == [f"two{end}lines", ""]
    assert found.separator == separator


def test_a_line_that_names_the_separator_is_no_header(tmp_path: Path) -> None:
    found = table_of(tmp_path / "t.csv", "sep=;\ntext;b\nx,y;2\n")
    assert (found.texts, list(found.frame["b"])) == (["x,y"], ["2"])


@pytest.mark.parametrize(
    ("contents", "separator"),
    [
        ("Text;Notes, internal\nmy parcel;late\nmy card, please;\n", ";"),
        ("Text;Notes, internal\nmy parcel\nmy card, please;x\nmine;y\n", ";"),  # one row is broken
        ("text,a;b\nmy parcel,x\nmy card;now,y\n", ","),
        ("text|a,b|c\nmine, his|x|y\n", "|"),
        ('text;"a,b,c"\n"mine, his";"two\nlines"\n', ";"),
    ],
)
def test_the_separator_is_the_one_that_fits_the_rows(tmp_path: Path, contents: str, separator: str) -> None:
    found = table_of(tmp_path / "t.csv", contents, on_bad_rows="skip")
    assert found.separator == separator


def test_a_separator_can_be_named(tmp_path: Path) -> None:
    found = table_of(tmp_path / "t.csv", "text:n\na,b:1\n", separator=separator_named(":"))
    assert (found.texts, found.separator) == (["a,b"], ":")
    assert [separator_named(given) for given in ("tab", r"\t", "\t", None)] == ["\t", "\t", "\t", None]
    for given in ("", ";;", '"', "\n"):
        with pytest.raises(InvalidInput, match="--delimiter is one character"):
            separator_named(given)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx"])
def test_a_file_without_names_loses_no_row(tmp_path: Path, suffix: str) -> None:
    needs(suffix)
    frames = {1: pd.DataFrame({"first text": ["b"]}), 2: pd.DataFrame({"first text": ["b"], "7": ["8"]})}
    for count, frame in frames.items():
        write_table(frame, tmp_path / f"t.{suffix}")
        found = read_table(tmp_path / f"t.{suffix}", text=None if count == 1 else "column 1", header=False)
        assert found.texts == ["first text", "b"]
        assert found.lines == [1, 2]
        assert list(found.frame.columns) == (["text"] if count == 1 else ["column 1", "column 2"])


def test_the_line_of_each_row_is_known(tmp_path: Path) -> None:
    assert table_of(tmp_path / "t.csv", 'text,n\n\n"two\nlines",1\n\nb,2\n').lines == [3, 6]
    assert table_of(tmp_path / "t.jsonl", '{"text": "a"}\n\n{"text": "b"}\n').lines == [1, 3]


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    book.active.append(["text of the first sheet"])
    for name, text in (("Tickets", "my parcel"), ("Old", "my card")):
        sheet = book.create_sheet(name)
        sheet.append([])
        sheet.append(["text"])
        sheet.append([text])
    book.save(tmp_path / "t.xlsx")
    found = read_table(tmp_path / "t.xlsx", sheet="Tickets")
    assert (found.texts, found.lines, found.sheet, found.other_sheets) == (
        ["my parcel"],
        [3],
        "Tickets",
        ("Read me", "Old"),
    )
    assert found.remarks == ["Of t.xlsx the sheet 'Tickets' is read, and not 'Read me', 'Old'; --sheet names another."]
    write_table(found.frame, tmp_path / "copy.xlsx", like=found)
    assert openpyxl.load_workbook(tmp_path / "copy.xlsx").sheetnames == ["Tickets"]
    assert read_table(tmp_path / "copy.xlsx").remarks == []
    with pytest.raises(InvalidInput, match="no sheet 'tickets'; its sheets are 'Read me', 'Tickets', 'Old'"):
        read_table(tmp_path / "t.xlsx", sheet="tickets")
    with pytest.raises(InvalidInput, match="leave --sheet out"):
        table_of(tmp_path / "t.csv", "text\na\n", sheet="Tickets")
    with pytest.raises(InvalidInput, match="leave --no-header out"):
        table_of(tmp_path / "t.jsonl", '{"text": "a"}\n', header=False)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    marked = encoding in ("utf-16", "utf-32", "utf-8-sig")
    found = table_of(
        tmp_path / "t.csv", "text;n\nété à la fête;1\n".encode(encoding), encoding=None if marked else encoding
    )
    assert found.texts == ["été à la fête"]


def test_blank_lines_go_and_blank_cells_stay(tmp_path: Path) -> None:
    found = table_of(tmp_path / "t.csv", "\n\ntext,label\n\na,x\n,y\n  \nb,\nc,  \n,\n", label="label")
    assert found.texts == ["a", "", "b", "c", ""]
    assert found.labels == ["x", "y", None, None, None]
    assert list(found.frame["label"]) == ["x", "y", "", "  ", ""]


def test_a_separator_too_many_at_the_end_is_no_harm(tmp_path: Path) -> None:
    assert table_of(tmp_path / "t.csv", "text,n\na,1,\nb,2,,\n").texts == ["a", "b"]


def test_json_lines_with_other_keys_and_kinds(tmp_path: Path) -> None:
    lines = [
        {"text": "a", "n": 3, "f": 3.0, "b": True},
        {"text": None, "list": [1, "é"]},
        {"text": 3.0, "n": None, "f": 2.5},
    ]
    found = table_of(tmp_path / "t.jsonl", "\n".join(map(json.dumps, lines)), label="f")
    assert found.texts == ["a", "", "3"]
    assert found.labels == ["3", None, "2.5"]
    assert list(found.frame.columns) == ["text", "n", "f", "b", "list"]
    assert found.frame["n"].tolist() == [3, None, None]
    assert found.frame["list"].tolist() == [None, [1, "é"], None]
    write_table(found.frame, tmp_path / "again.jsonl")
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [{key: row.get(key) for key in found.frame} for row in lines] == again


def test_half_a_character_is_neither_lost_nor_passed_on(tmp_path: Path) -> None:
    found = table_of(tmp_path / "t.jsonl", '{"text": "a \\ud83d b"}\n')
    assert found.texts == ["a ? b"]
    write_table(found.frame, tmp_path / "again.jsonl")
    assert json.loads((tmp_path / "again.jsonl").read_text(encoding="utf-8")) == {"text": "a \ud83d b"}


def test_numbers_and_dates_of_a_sheet_are_what_a_person_sees(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    book = openpyxl.Workbook()
    day = datetime.datetime(2024, 1, 31)
    rows = [("text", "label", None), (3.0, 7, None), (None, None, None), (day, 1.5, None), ("=1+1", True, "note")]
    for row in rows:
        book.active.append(row)
    book.active["A5"].data_type = "s"  # a text, not a formula
    book.save(tmp_path / "t.xlsx")
    found = read_table(tmp_path / "t.xlsx", text="text", label="label")
    assert found.texts == ["3", "2024-01-31", "=1+1"]
    assert found.labels == ["7", "1.5", "true"]
    assert list(found.frame.columns) == ["text", "label", ""]


def test_integers_of_parquet_stay_integers_beside_missing_ones(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra askless[files]")
    parquet = importlib.import_module("pyarrow.parquet")
    table = pa.table(
        {"text": ["a", None], "label": pa.array([2**53 + 1, None]), "day": [datetime.date(2024, 1, 31)] * 2}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", text="text", label="label")
    assert (found.texts, found.labels) == (["a", ""], ["9007199254740993", None])
    write_table(found.frame, tmp_path / "again.parquet")
    assert parquet.read_table(tmp_path / "again.parquet").to_pydict() == table.to_pydict()


def test_mixed_kinds_go_into_parquet_as_text(tmp_path: Path) -> None:
    needs("parquet")
    frame = pd.DataFrame({"text": ["a", 3, None, 2.5]}, dtype=object)
    write_table(frame, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame["text"].tolist() == ["a", "3", None, "2.5"]


# -- which column ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "label", "column"),
    [
        ("anything", None, "anything"),
        ("id,Question", None, "Question"),
        ("MESSAGE,id", None, "MESSAGE"),
        ("words,group", "group", "words"),
        ("a,utterance,group", "group", "utterance"),
    ],
)
def test_the_texts_column_is_found(tmp_path: Path, header: str, label: str | None, column: str) -> None:
    row = ",".join(["x"] * len(header.split(",")))
    assert table_of(tmp_path / "t.csv", f"{header}\n{row}\n", label=label).text_column == column


def test_ten_thousand_labels_and_a_hundred_thousand_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,label\n" + "".join(f"the text of row {k},label {k % 10_000}\n" for k in range(100_000)))
    found = read_table(path, label="label")
    write_table(found.frame, tmp_path / "again.csv")
    assert (len(found), len(set(found.labels or ()))) == (100_000, 10_000)
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_long_texts_are_whole(tmp_path: Path) -> None:
    long = "word " * 200_000
    assert table_of(tmp_path / "t.csv", f'text\n"{long}"\nb\n').texts == [long, "b"]


def test_the_standard_input_is_csv() -> None:
    code = "from askless.datasets.tables import read_table; print(read_table('-').texts)"
    done = subprocess.run([sys.executable, "-c", code], input="text;n\na,b;1\n", capture_output=True, text=True)
    assert done.stdout == "['a,b']\n", done.stderr


# -- writing --------------------------------------------------------------------------------------------------------


def test_a_copy_opens_where_the_original_did(tmp_path: Path) -> None:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"", "utf-16")):
        found = table_of(tmp_path / "t.csv", mark + "text;n\né;1\n".encode(encoding))
        write_table(found.frame, tmp_path / "copy.csv", like=found)
        assert (tmp_path / "copy.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()
    found = table_of(tmp_path / "t.csv", "text;n\né;1\n".encode("cp1252"), encoding="cp1252")
    write_table(found.frame, tmp_path / "copy.csv", like=found)
    assert (tmp_path / "copy.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_what_the_encoding_has_not_makes_it_utf8_with_a_mark(tmp_path: Path) -> None:
    found = table_of(tmp_path / "t.csv", "text;n\né;1\n".encode("cp1252"), encoding="cp1252")
    write_table(found.frame.assign(n=["\u65e5"]), tmp_path / "copy.csv", like=found)
    assert (tmp_path / "copy.csv").read_bytes() == b"\xef\xbb\xbf" + "text;n\né;\u65e5\n".encode()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(suffix)
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("askless.datasets.whole.os.replace", full)
    with pytest.raises(UnwritableFile, match=r"Cannot write .*No space left"):
        write_table(pd.DataFrame({"text": ["a"]}), path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(path.name, b"old")]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="No such file"):
        write_table(pd.DataFrame({"text": ["a"]}), tmp_path / "absent" / "t.csv")


def test_a_link_stays_a_link_and_a_file_its_rights(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(pd.DataFrame({"text": ["a"]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "text\na\n"
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o640


def test_what_a_format_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    needs("xlsx")
    with pytest.raises(InvalidInput, match="longer than a cell"):
        write_table(pd.DataFrame({"text": ["x" * 40_000]}), tmp_path / "t.xlsx")
    twice = pd.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(InvalidInput, match="two columns of one name"):
        write_table(twice, tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []
    write_table(twice, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "text,text\na,b\n"


@pytest.mark.parametrize(("suffix", "library"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_a_library_that_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, suffix: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library] + [library]:
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / f"t.{suffix}").write_bytes(b"x")
    with pytest.raises(MissingExtra, match=rf"{library}.*askless\[files\]"):
        read_table(tmp_path / f"t.{suffix}")
    with pytest.raises(MissingExtra, match=r"askless\[files\]"):
        write_table(pd.DataFrame({"text": ["a"]}), tmp_path / f"t.{suffix}")
    assert (tmp_path / f"t.{suffix}").read_bytes() == b"x"


def test_a_gzip_file_is_unpacked_whatever_its_name(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with gzip.open(packed, "wb") as file:
        file.write(b"text\na\n")
    assert table_of(tmp_path / "t.csv", packed.getvalue()).texts == ["a"]
