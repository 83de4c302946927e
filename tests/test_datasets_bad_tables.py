"""A table that cannot be read is refused in one sentence, with the file, the line and what to do; nothing is lost."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from askless.datasets.source import read_source
from askless.datasets.tables import read_table
from askless.errors import AsklessError, InvalidInput, UnreadableFile

PASSWORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)  # the container of old, and of encrypted, Office files


def refused(path: Path, contents: bytes | None = None, **options: object) -> str:
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises((InvalidInput, UnreadableFile)) as caught:
        read_table(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", ["is empty", "expected"]),
        (b"\xef\xbb\xbf", ["is empty"]),
        (b" \n\r\n", ["is empty"]),
        (b"text,label\n", ["a header but no rows"]),
        (b"text,label\na,b\nc\n", ["Line 3 ", "has 1 field where the header has 2", "commas"]),
        (b"text;label\na;b\nc;d;e\n", ["Line 3 ", "has 3 fields where the header has 2", "semicolons"]),
        (b'text,label\n"two\nlines",b\nc,d,e\n', ["Line 4 ", "has 3 fields"]),
        (b'text,label\na,b\n"open,c\nd,e\n', ["Line 3 ", "a quote that is never closed"]),
        (b'text,label\n"he "said" it",c\n', ["Line 2 ", "a quote inside a quoted field"]),
        (b"text,label\na,b\nc\0d,e\n", ["Line 3 ", "NUL"]),
        ("text\nabc\n".encode("utf-16-le"), ["NUL", "--encoding utf-16"]),
        ("text\né\n".encode("utf-16-le"), ["--encoding utf-16"]),
        (b"PK\x03\x04 and so on", ["Excel", ".xlsx"]),
        (PASSWORD, ["old or protected Excel"]),
        (b"PAR1 and so on", ["Parquet"]),
        (b"%PDF-1.7", ["PDF"]),
        (gzip.compress(b"text\n" + b"a\n" * 9999, mtime=0)[:-9], ["truncated"]),
        (b"\x1f\x8b\x08 no gzip at all", ["Cannot unpack"]),
    ],
    ids=lambda value: str(value[:24]),
)
def test_a_bad_csv(tmp_path: Path, contents: bytes, words: list[str]) -> None:
    message = refused(tmp_path / "bad.csv", contents, text="text")
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe über Straße", "cp1252"),
        ("été à la fête", "cp1252"),
        ("“smart” quotes and a café", "cp1252"),
        ("привет как ваши дела сегодня", "cp1251"),
        ("日本語のテキストです、よろしくお願いします", "shift_jis"),
    ],
)
def test_another_encoding_is_named_and_then_works(tmp_path: Path, text: str, encoding: str) -> None:
    contents = f"text,n\nplain,1\n{text},2\n".encode(encoding)
    message = refused(tmp_path / "bad.csv", contents)
    assert "line 3 " in message
    assert f"--encoding {encoding}" in message
    assert read_table(tmp_path / "bad.csv", encoding=encoding).texts == ["plain", text]


def test_an_encoding_that_is_none_or_not_the_one(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes("text\né\n".encode())
    with pytest.raises(InvalidInput, match="no encoding 'klingon'"):
        read_table(tmp_path / "bad.csv", encoding="klingon")
    assert "line 2" in refused(tmp_path / "bad.csv", encoding="ascii")


def test_the_line_is_right_far_into_a_file(tmp_path: Path) -> None:
    lines = [b"text,n"] + [b"plain text,1"] * 50_000
    lines[40_000] = "é".encode("latin-1") + b",1"
    assert "line 40001 " in refused(tmp_path / "bad.csv", b"\n".join(lines))
    lines[40_000] = b"a,b,c"
    assert "Line 40001 " in refused(tmp_path / "bad.csv", b"\n".join(lines))


def test_rows_that_do_not_fit_are_kept_aside(tmp_path: Path) -> None:
    good = "".join(f"text {k},x\n" for k in range(3))
    contents = f'text,label\n{good}alone\na,b,c\n"two\nlines",x,y\n"he "said",x\nlast,x\n"never closed,x\nafter,x\n'
    (tmp_path / "bad.csv").write_text(contents)
    found = read_table(tmp_path / "bad.csv", label="label", on_bad_rows="skip")
    assert found.texts == ["text 0", "text 1", "text 2", "last", "after"]
    assert found.broken == [
        (5, "alone\n"),
        (6, "a,b,c\n"),
        (7, '"two\nlines",x,y\n'),
        (9, '"he "said",x\n'),
        (11, '"never closed,x\n'),
    ]
    kept = sorted("".join(raw for _, raw in found.broken).splitlines() + [f"{text},x" for text in found.texts])
    assert kept == sorted(contents.splitlines()[1:])  # every line is somewhere


@pytest.mark.parametrize(
    ("name", "contents", "skippable"),
    [
        ("bad.csv", "text,n\na,1\nb\n", True),
        ("bad.csv", 'text,n\na,1\n"he "said,2\n', True),
        ("bad.csv", 'text,n\na,1\n"open,2\n', True),
        ("bad.csv", 'text,"n\na,1\n', False),  # the header: no row can be read without it
        ("bad.jsonl", '{"text": "a"}\n{"text": }\n', True),
        ("bad.jsonl", '{"text": "a"}\n7\n', True),
        ("bad.jsonl", '{"text": "a"}\n{"txt": "b"}\n', True),
        ("bad.jsonl", '{\n"text": "a"}\n', False),
    ],
)
def test_the_option_is_named_where_it_helps(tmp_path: Path, name: str, contents: str, skippable: bool) -> None:
    message = refused(tmp_path / name, contents.encode())
    assert message.endswith(".")
    assert ("askless label does with --skip-bad-rows" in message) == skippable
    if skippable:
        assert read_table(tmp_path / name, on_bad_rows="skip").texts == ["a"]


def test_one_column_of_texts_with_commas_is_told_its_cure(tmp_path: Path) -> None:
    contents = b"text\nplease, block my card\nwhere is it\n"
    message = refused(tmp_path / "bad.csv", contents)
    assert "has 2 fields where the header has 1 (commas separate them)" in message
    assert "say --delimiter tab if the file has but one column" in message
    assert read_table(tmp_path / "bad.csv", separator="\t").texts == ["please, block my card", "where is it"]
    assert "--delimiter tab" not in refused(tmp_path / "bad.csv", contents.replace(b", ", b"\t"), separator="\t")


def test_columns_that_an_unusual_sign_separates_are_told_their_cure(tmp_path: Path) -> None:
    message = refused(tmp_path / "bad.csv", b"text:label\na, b, my parcel:track\n")
    assert "name what separates the columns with --delimiter" in message
    assert read_table(tmp_path / "bad.csv", label="label", separator=":").texts == ["a, b, my parcel"]


def test_many_quotes_that_never_close_are_no_trap(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("text,label\n" + 'a,"b\n' * 20_001 + "c,d\n")
    found = read_table(tmp_path / "bad.csv", on_bad_rows="skip")
    assert found.texts[-1] == "c"


def test_skipping_everything_is_said(tmp_path: Path) -> None:
    assert "no rows that fit (2 do not)" in refused(tmp_path / "bad.csv", b"text,n\na\nb\n", on_bad_rows="skip")
    with pytest.raises(InvalidInput, match="'error' or 'skip'"):
        read_table(tmp_path / "bad.csv", on_bad_rows="warn")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", ["is empty"]),
        (b'{"text": "a"}\n{"text": }\n', ["line 2 ", "not JSON", "character 10"]),
        (b'{"text": "a"}\n["b"]\n', ["line 2 ", "found a list"]),
        (b'{"text": "a"}\n\n"b"\n', ["line 3 ", "found a string"]),
        (b'[\n{"text": "a"}\n]\n', ["line 1 ", "one object a line"]),
        (b'{"text": "a"}\n{"txt": "b", "n": 1}\n', ["Line 2 ", "no 'text'", "txt, n"]),
        (b"[" * 100_000, ["line 1 "]),
    ],
    ids=lambda value: str(value[:24]),
)
def test_bad_json_lines(tmp_path: Path, contents: bytes, words: list[str]) -> None:
    message = refused(tmp_path / "bad.jsonl", contents)
    for word in words:
        assert word in message


def test_bad_json_lines_are_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"txt": "b"}\n{"text"\n{"text": "c"}\n')
    found = read_table(tmp_path / "bad.jsonl", on_bad_rows="skip")
    assert found.texts == ["a", "c"]
    assert found.broken == [(2, '{"txt": "b"}'), (3, '{"text"\n')]
    assert list(found.frame["text"]) == ["a", "c"]


def test_bad_parquet_files(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra askless[files]")
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": ["a"] * 1000}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 1):
        assert "truncated" in refused(tmp_path / "bad.parquet", whole[:cut])
    assert "is empty" in refused(tmp_path / "bad.parquet", b"")
    parquet.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "bad.parquet")
    assert "no rows" in refused(tmp_path / "bad.parquet")


def test_bad_excel_files(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl comes with the extra askless[files]")
    book = openpyxl.Workbook()
    book.save(tmp_path / "bad.xlsx")
    assert "first sheet, 'Sheet', has no cells" in refused(tmp_path / "bad.xlsx")
    book.active.append(["text", "n"])
    book.save(tmp_path / "bad.xlsx")
    assert "no rows" in refused(tmp_path / "bad.xlsx")
    whole = (tmp_path / "bad.xlsx").read_bytes()
    assert "damaged" in refused(tmp_path / "bad.xlsx", whole[: len(whole) // 2])
    assert "damaged" in refused(tmp_path / "bad.xlsx", b"text,n\na,1\n")
    assert "password" in refused(tmp_path / "bad.xlsx", PASSWORD)
    assert "is empty" in refused(tmp_path / "bad.xlsx", b"")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("old.xls", "save it as .xlsx"),
        ("list.json", "one object a line"),
        ("notes.txt", "first line the name of its column"),
        ("noend", "Expected a .csv"),
        ("sheet.ods", "save it as"),
    ],
)
def test_a_format_that_is_not_read_says_what_to_do(tmp_path: Path, name: str, words: str) -> None:
    assert words in refused(tmp_path / name, b"x")


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path, tmp_path / "folder.csv"):
        assert "it is a folder" in refused(folder)


# -- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contents", "options", "words"),
    [
        (b"Text ,n\na,1\n", {"text": "text"}, "did you mean 'Text '? Its columns are 'Text ', n"),
        (b"question,n\na,1\n", {"text": "qestion"}, "did you mean 'question'?"),
        (b"a,b\n1,2\n", {"text": "zzz"}, "no column 'zzz'; its columns are a, b"),
        (b"text,b\n1,2\n", {"label": "group"}, "no column 'group'"),
        (b"text,b,text\n1,2,3\n", {"text": "text"}, "2 columns 'text'; rename"),
        (b"text,b,b\n1,2,3\n", {"label": "b"}, "2 columns 'b'"),
        (b"text,b\n1,2\n", {"text": "text", "label": "text"}, "both the texts and the labels"),
        (b"a,b\n1,2\n", {}, "Name it with --text; its columns are a, b"),
        (b"text,query\n1,2\n", {}, "Name it with --text"),
        (b"text,text\n1,2\n", {}, "2 columns 'text'; rename"),
        (b"text,b,text\n1,2,3\n", {"label": "b"}, "2 columns 'text'; rename"),
        (b"x,x\n1,2\n", {}, "2 columns 'x'; rename"),
        (b"text,text,query\n1,2,3\n", {}, "Name it with --text"),
        (b"text,group\n1,2\n", {"find_label": True}, "Name it with --label; its columns are text, group"),
        (b"text,label,LABEL\n1,2,3\n", {"find_label": True}, "Name it with --label"),
        (b"text,label,label\n1,2,3\n", {"find_label": True}, "Name it with --label"),
        (b"n,label\n1,2\n", {"text": "label", "find_label": True}, "Name it with --label; its columns are n, label"),
    ],
)
def test_a_column_that_cannot_be_told(tmp_path: Path, contents: bytes, options: dict[str, object], words: str) -> None:
    (tmp_path / "bad.csv").write_bytes(contents)
    with pytest.raises(InvalidInput) as caught:
        read_table(tmp_path / "bad.csv", **options)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_two_columns_of_a_name_nobody_asks_for_are_kept(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,b,b\n1,2,3\n")
    assert read_table(tmp_path / "t.csv").frame.to_numpy().tolist() == [["1", "2", "3"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"text": 0}, "text is the name of a column, as in text='question'; found 0"),
        ({"label": ["label"]}, "label is the name of a column, as in label='topic'; found ['label']"),
        ({"header": "no"}, "header is True or False; found 'no'"),
        ({"find_label": 1}, "find_label is True or False; found 1"),
    ],
)
def test_options_of_another_type_are_named(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,y\n")
    with pytest.raises(InvalidInput) as caught:
        read_table(tmp_path / "t.csv", **options)
    assert words in str(caught.value)


# -- labels, where they are needed ----------------------------------------------------------------------------------


def test_rows_without_a_label_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,\nc,y\nd, \n")
    found = read_source(str(tmp_path / "t.csv"), label="label")
    assert (found.texts, found.labels, found.unlabelled, found.name) == (["a", "c"], ["x", "y"], 2, "t.csv")


def test_a_column_called_label_is_found(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("wording, LABEL \na,x\nb,y\n")
    found = read_source(str(tmp_path / "t.csv"))
    assert (found.texts, found.labels) == (["a", "b"], ["x", "y"])


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ("text,label\na,x\nb,x\n", "one label, 'x', on all its rows"),
        ("text,label\na,x\nb,\n", "one label, 'x', on all its rows that have one"),
        ("text,label\na,\nb,\n", "no labels in the column 'label'"),
    ],
)
def test_fewer_than_two_labels_are_refused(tmp_path: Path, contents: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(contents)
    with pytest.raises(InvalidInput) as caught:
        read_source(str(tmp_path / "t.csv"), label="label")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("bankin77", {}, "did you mean banking77"),
        ("nothing-like-it", {}, "no file and no data set"),
        ("absent.csv", {"label": "x"}, "No such file"),
        ("absent.csv", {}, "No such file"),
        ("support-questions", {"text": "text"}, "is a data set"),
    ],
)
def test_a_source_that_is_none(spec: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(AsklessError) as caught:
        read_source(spec, **options)  # type: ignore[arg-type]
    assert words in str(caught.value)
