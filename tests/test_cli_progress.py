"""Bars and spinners: on the standard error of a terminal, gone at the end, and nowhere else."""

from __future__ import annotations

import re
import subprocess
import sys

import pexpect
import pytest

CODE = """
import sys, time
from askless.cli.progress import bar, working
with working("loading the model"):
    time.sleep(0.3)
with bar("embedding", 40) as show:
    for done in range(1, 41):
        show(done)
        time.sleep(0.01)
with bar("unknown") as show:
    for done in range(1, 6):
        show(done, 5)
        time.sleep(0.05)
print("the result")
"""


def test_nothing_is_shown_where_there_is_no_terminal():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("the result\n", "")


def test_a_terminal_sees_how_far_it_is_and_keeps_none_of_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CODE, encoding="utf-8")
    child = pexpect.spawn(sys.executable, [str(script)], dimensions=(24, 100), encoding="utf-8", timeout=30)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    seen = child.before
    assert "loading the model" in seen
    assert re.search(r"embedding.*\d+/40", seen)
    assert "40/40" in seen
    assert "5/5" in seen
    # The last thing on the screen is the result, on a line that was wiped clean before it.
    assert re.search(r"\x1b\[2K(\x1b\[\?25h)?the result\r\n$", seen), repr(seen[-200:])


def test_an_error_inside_leaves_the_bar(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(CODE.replace("show(done, 5)", "raise KeyError('inside')"), encoding="utf-8")
    child = pexpect.spawn(sys.executable, [str(script)], dimensions=(24, 100), encoding="utf-8", timeout=30)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
    assert "KeyError: 'inside'" in child.before
    assert child.before.rfind("\x1b[?25h") > child.before.rfind("\x1b[?25l")  # the cursor is back


def test_a_progress_of_embed_texts_fits(monkeypatch):
    import numpy as np

    from askless.cli.progress import bar
    from askless.embed.run import embed_texts

    class One:
        id, dim = "one", 1

        def embed(self, texts):
            return np.ones((len(texts), 1), dtype=np.float32)

    with bar("embedding", 3) as show:
        assert embed_texts(One(), ["a", "b", "c"], progress=show).tolist() == [[1.0]] * 3
    with pytest.raises(TypeError):
        show("a", "b", "c")
