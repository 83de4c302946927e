"""A file that is truncated, damaged, foreign or newer is refused in one clear sentence."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askless.errors import UnreadableFile
from askless.persist import load
from saved import ARRAYS, HEADER, Toy, sealed, small_file


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "another"},
        {"version": "1"},
        {"version": None},
        {"params": {"tau": 7}},
        {"params": {"no such": 1}},
        {"params": ["tau"]},
        {"state": {"x": {"$array": "y"}}},
        {"state": {}},
        {"state": None},
        {"class": None},
        {"class": ["ActivePerceptron"]},
    ],
    ids=str,
)
def test_a_header_that_makes_no_policy_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as caught:
        load(sealed(tmp_path / "policy", {**HEADER, **changes}, ARRAYS))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["format", "version", "class", "module", "params", "state"])
def test_a_header_with_a_key_missing_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        load(sealed(tmp_path / "policy", {k: v for k, v in HEADER.items() if k != key}, ARRAYS))


@pytest.mark.parametrize("header", [b"", b"{", b"\xff\xfe", b"[]", b"3", b"null"])
def test_a_header_that_is_not_one_is_refused(header: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="not a policy"):
        load(sealed(tmp_path / "policy", header, ARRAYS))


def test_a_newer_format_is_refused_by_its_version(tmp_path: Path) -> None:
    header = {"format": "askless-policy", "version": 2, "askless": "9.1.0", "body": "unheard of"}
    with pytest.raises(UnreadableFile, match=r"askless 9\.1\.0 in format 2.*Upgrade"):
        load(sealed(tmp_path / "policy", header))


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = small_file(tmp_path)
    broken = tmp_path / "broken"
    for size in range(len(whole)):
        broken.write_bytes(whole[:size])
        with pytest.raises(UnreadableFile):
            load(broken, kind=Toy)
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        load(broken, kind=Toy)


def test_every_changed_byte_is_refused(tmp_path: Path) -> None:
    whole = small_file(tmp_path)
    broken = tmp_path / "broken"
    for i in range(len(whole)):
        broken.write_bytes(whole[:i] + bytes([whole[i] ^ 0x21]) + whole[i + 1 :])
        with pytest.raises(UnreadableFile):
            load(broken, kind=Toy)
    broken.write_bytes(whole)
    assert load(broken, kind=Toy).held["note"] == "n"


def test_bytes_at_the_end_or_in_the_middle_are_refused(tmp_path: Path) -> None:
    whole = small_file(tmp_path)
    for changed in (whole + b"\0", whole + whole, whole[:300] + b"\0" + whole[300:]):
        (tmp_path / "broken").write_bytes(changed)
        with pytest.raises(UnreadableFile, match="truncated or damaged"):
            load(tmp_path / "broken", kind=Toy)


def other_archive() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(3))
    return buffer.getvalue()


FOREIGN = {
    "empty": b"",
    "text": b"label,text\nrefund,where is my money\n",
    "json": json.dumps(HEADER).encode(),
    "array": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n",
    "pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94K\x01a.",
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "archive": other_archive(),
    "empty archive": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(UnreadableFile, match="other is not a policy that askless saved"):
        load(tmp_path / "other")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing here", tmp_path):
        with pytest.raises(UnreadableFile, match="Cannot read"):
            load(path)
