"""Run the tour of docs/service.md against a real server, and write what it shows: python docs/service.py

Blocks marked `bash` and `python` are run, in their order, in one folder; what stands in the `text` block below each is
what it printed. A block that begins with `askless serve` is started in the background, on a free port in place of 8400.
So that the page stays the same from run to run, and short, JSON is shown indented, with numbers of two digits and long
lists cut; a key is `ask_...`, another secret or a request id `...`; every day, time, duration and size is the same one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from askless.cli.serve_sample import GUESSED

PAGE = Path(__file__).parent / "service.md"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```\n(?:```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
_PORT = 8400
_KEY, _SHOWN_KEY = re.compile(r"ask_[\w-]{20,}"), "ask_..."
_SAME = (  # what changes from run to run, and what stands for it; of the same length where it may be in a table
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), "2026-11-16T09:00:00Z"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2026-11-16 09:00"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "2026-11-16"),
    (re.compile(r"\d+\.\d seconds"), "0.1 seconds"),
    (re.compile(r"\([\d,.]+ [kM]B\)"), "(900 kB)"),
)
_SECRET = ("secret", "request_id")
_LONGEST_LIST = 3
_START_SECONDS = 120


def main() -> None:
    """Replace what every block shows by what it shows now."""
    PAGE.write_text(played(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def played(page: str) -> str:
    """The page with its blocks as they go now, one after the other, in one folder with one server."""
    with tempfile.TemporaryDirectory() as name:
        tour = _Tour(Path(name))
        try:
            return BLOCK.sub(tour.block, page)
        finally:
            tour.stop()


class _Tour:
    """The folder, the server and the variables of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = _SHOWN_KEY
        self.variables = folder / "variables"
        self.names: dict[str, Any] = {"__name__": "tour"}
        self.server: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        tools = folder / "bin"
        tools.mkdir()
        askless = tools / "askless"
        askless.write_text(f"#!{sys.executable}\nfrom askless.cli.main import main\nmain()\n", encoding="utf-8")
        askless.chmod(0o755)
        self.work = folder / "work"
        self.work.mkdir()
        self.environment = os.environ | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "ASKLESS_CACHE": str(folder / "cache"),
            "COLUMNS": "100",
        }

    def block(self, match: re.Match[str]) -> str:
        """One block with what it prints below it."""
        kind, code = match[1], match[2]
        real = code.replace(f":{_PORT}", f":{self.port}").replace(_SHOWN_KEY, self.key)
        if code.startswith("askless serve"):
            printed = self._serve(real)
        else:
            printed = self._python(real) if kind == "python" else self._bash(real)
        shown = self._shown(printed)
        return f"```{kind}\n{code}```\n" + (f"```text\n{shown}```\n" if shown else "")

    def _bash(self, code: str) -> str:
        """What the shell prints; its variables live on from block to block."""
        self.variables.touch()
        script = f"set -a; . {self.variables}\n{code}\nexport -p > {self.variables}\n"
        return self._called(["bash", "-e", "-c", script])

    def _python(self, code: str) -> str:
        """What Python prints; names live on from block to block, and the shell's variables are its environment."""
        pairs = self._called(["bash", "-c", f". {self.variables}; env -0"]).split("\0")
        environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        printed = io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.chdir(self.work), contextlib.redirect_stdout(printed):
            exec(compile(code, f"<{PAGE.name}>", "exec", dont_inherit=True), self.names)  # noqa: S102
        return printed.getvalue()

    def _called(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise RuntimeError(f"this failed: {command[-1]}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def _serve(self, code: str) -> str:
        """Start the server, and wait until it has said what it has to say."""
        said = self.folder / "said"
        command = f"exec {code.strip()} --port {self.port}"
        with said.open("wb") as out, (self.folder / "log").open("wb") as log:
            self.server = subprocess.Popen(
                ["bash", "-c", command], cwd=self.work, env=self.environment, stdout=out, stderr=log
            )
        end = time.monotonic() + _START_SECONDS
        while f"{GUESSED}\"}}'\n" not in said.read_text(encoding="utf-8"):  # the end of the last line to paste
            if self.server.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        printed = said.read_text(encoding="utf-8")
        found = _KEY.search(printed)
        self.key = found[0] if found else _SHOWN_KEY
        return printed

    def _shown(self, printed: str) -> str:
        text = _KEY.sub(_SHOWN_KEY, printed).replace(f":{self.port}", f":{_PORT}")
        text = "".join(_indented(part) for part in _parts(text))
        for changing, same in _SAME:
            text = changing.sub(same, text)
        lines = [line.rstrip() for line in text.strip("\n").split("\n")]
        return "\n".join(lines) + "\n" if any(lines) else ""

    def stop(self) -> None:
        """Stop the server as Ctrl-C does."""
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            self.server.wait(timeout=60)


def _parts(text: str) -> list[str]:
    """Lines, with one JSON value of curl's, which ends no line, apart from the next."""
    return [part if part.endswith("\n") else f"{part}\n" for part in re.split(r"(?<=\n)|(?<=\})(?=\{)", text) if part]


def _indented(line: str) -> str:
    if not line.startswith(("{", "[")):
        return line
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return json.dumps(_rounded(value), indent=2, ensure_ascii=False) + "\n"


def _rounded(value: Any) -> Any:
    """The value with what is too long, too exact or secret left out."""
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, dict):
        return {name: "..." if name in _SECRET else _rounded(held) for name, held in value.items()}
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        return [*map(_rounded, value[: _LONGEST_LIST - 1]), f"... {len(value) - _LONGEST_LIST + 1} more"]
    return [_rounded(held) for held in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
