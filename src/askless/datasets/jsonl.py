"""JSON lines: one object a line."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, TextIO

from askless.datasets.delimited import LEFT_OUT, Broken
from askless.errors import UnreadableFile


class Objects(NamedTuple):
    """The objects, the line each is on, and what was set aside."""

    objects: list[dict[str, Any]]
    lines: list[int]
    broken: list[Broken]


def read_objects(text: TextIO, name: str, skip_broken: bool) -> Objects:
    """All objects of a text; blank lines are left out. Keys that only some objects have are the caller's to fill."""
    objects: list[dict[str, Any]] = []
    lines: list[int] = []
    broken: list[Broken] = []
    seen = False
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        seen = True
        found, problem = _parsed(line)
        if found is not None:
            objects.append(found)
            lines.append(number)
        elif skip_broken:
            broken.append(Broken(number, line))
        else:
            raise UnreadableFile(f"Cannot read line {number} of {name}: {problem}")
    if not seen:
        raise UnreadableFile(f'{name} is empty: expected one JSON object a line, such as {{"text": "hello"}}.')
    return Objects(objects, lines, broken)


def _parsed(line: str) -> tuple[dict[str, Any] | None, str]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        if line.strip() in ("[", "{"):
            return None, "the file seems to be one JSON value over many lines; write one object a line (JSON lines)."
        return None, f"it is not JSON ({error.msg} at character {error.colno}); mend it, or {LEFT_OUT}."
    except RecursionError:
        return None, f"it nests too deeply; {LEFT_OUT}."
    if isinstance(found, dict):
        return found, ""
    return None, f'expected a JSON object such as {{"text": "hello"}}; found {_kind(found)}; mend it, or {LEFT_OUT}.'


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
