"""`askless label` at a pseudo-terminal, driven by a test."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect

ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[=>])")
PROMPT_BEGINS, PROMPT_ENDS = r"\x1b\[\?2004h", r"\x1b\[\?2004l"  # bracketed paste, on and off
DRAWN = r"\x1b\[\?25h"  # the cursor is shown again
ASKLESS = ["-c", "from askless.cli.main import main; main()", "label"]


class Terminal:
    """A child at a pseudo-terminal, and all that it has shown."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        env = os.environ | {
            "ASKLESS_CACHE": str(folder / "cache"),
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody is there to say where the cursor is
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.child = pexpect.spawn(
            sys.executable,
            [*ASKLESS, *arguments],
            cwd=str(folder),
            env=env,
            encoding="utf-8",
            timeout=60,
            dimensions=(45, 120),
        )
        self.raw = ""

    def wait(self, pattern: str) -> str:
        """Wait for this on the screen; what was shown up to it."""
        self.child.expect(pattern)
        self.raw += self.child.before + self.child.after
        return ANSI.sub("", self.child.before).replace("\r", "")

    def prompt(self) -> str:
        """Wait until a label is asked for; what was shown since the last answer."""
        shown = self.wait(PROMPT_BEGINS)
        self.wait("label>")
        self.wait(DRAWN)
        return shown

    def wait_shown(self, text: str) -> None:
        """Wait until the screen has drawn this text, in whatever colours."""
        shown = ""
        while text not in ANSI.sub("", shown):
            self.wait(DRAWN)
            shown += self.child.before

    def type(self, line: str) -> None:
        self.child.send(f"{line}\r")
        self.wait(PROMPT_ENDS)

    def answer(self, line: str) -> str:
        """Wait for a question, and answer it; what was shown before it."""
        shown = self.prompt()
        self.type(line)
        return shown

    def end(self) -> tuple[str, int | None]:
        """Wait for the end; what was shown, and the exit code."""
        self.child.expect(pexpect.EOF)
        self.raw += self.child.before
        self.child.close()
        return ANSI.sub("", self.child.before).replace("\r", ""), self.child.exitstatus
