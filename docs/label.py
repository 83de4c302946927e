"""Run the sittings of docs/label.md at a pseudo-terminal, and write what they show: python docs/label.py

A sitting is a block that begins with `$ askless`. What stands there behind a prompt is typed again, the rest is
written anew. Where the policy asks about other texts than before, look at the answers and mend them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pexpect

PAGE = Path(__file__).parent / "label.md"
SAMPLE = Path(__file__).parents[1] / "src" / "askless" / "datasets" / "support_questions.csv"
BLOCK = re.compile(r"(?<=^```text\n)\$ askless.*?(?=^```$)", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^(?:label|.*undo the last answer|.*back)>(.*)$", re.MULTILINE)
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[=>])")
_BEGINS, _ENDS, _DRAWN = r"\x1b\[\?2004h", r"\x1b\[\?2004l", r"\x1b\[\?25h"


def main() -> None:
    """Replace every sitting by what it shows now."""
    PAGE.write_text(played(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def played(page: str) -> str:
    """The page with its sittings as they go now, one after the other in one folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tickets = re.search(r"^```csv\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        if tickets is not None:
            (folder / "tickets.csv").write_text(tickets[1], encoding="utf-8")
        shutil.copy(SAMPLE, folder)
        return BLOCK.sub(lambda block: _sitting(block[0], folder), page)


def _sitting(block: str, folder: Path) -> str:
    """What one command shows, with the same lines typed; Ctrl-D where there are no more."""
    command = block.split("\n", 1)[0]
    replies = [typed.strip() for typed in TYPED.findall(block)]
    env = os.environ | {"ASKLESS_CACHE": str(folder / "cache"), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    env |= {"COLUMNS": "120", "LINES": "60"}
    child = pexpect.spawn(
        sys.executable,
        ["-c", "from askless.cli.main import main; main()", *shlex.split(command)[2:]],
        cwd=str(folder),
        env=env,
        encoding="utf-8",
        timeout=120,
        dimensions=(60, 120),
    )
    shown = [command, *_shown(child, iter(replies))]
    child.close()
    lines = "\n".join(shown).split("\n")
    kept = [line.rstrip() for line in lines if not re.match(r"^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] |.*━", line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).rstrip() + "\n"


def _shown(child: pexpect.spawn, replies: Iterator[str]) -> Iterator[str]:
    while child.expect([_BEGINS, pexpect.EOF]) == 0:
        before = _plain(child.before)
        child.expect(_DRAWN)
        prompt = re.split(r"[\r\n]", _ANSI.sub("", child.before).strip())[0].rstrip()
        reply = next(replies, "^D")
        yield f"{before}{prompt} {reply}".rstrip()
        if reply in ("^C", "^D"):
            child.sendcontrol(reply[1].lower())
        else:
            child.send(f"{reply}\r")
        child.expect(_ENDS)
    yield _plain(child.before)


def _plain(text: str) -> str:
    """Without colours, cursor movements and what the next sign overwrites."""
    return re.sub(
        r"^.*\r(?!\n)", "", _ANSI.sub("", text).replace("\r\n", "\n").replace("\r\r", "\r"), flags=re.MULTILINE
    )


if __name__ == "__main__":
    main()
