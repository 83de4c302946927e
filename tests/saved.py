"""What the tests of saving and loading share: things to save, and files in that format by other code."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from askless.persist import save
from askless.policies.base import PolicyBase
from askless.policies.named import make_policy

LABELS: list[str | int] = ["7", 7, "Zürich, \n\u2603"]


def taught(spec: str = "active-perceptron:tau=0.9", n: int = 30, space: str = "sphere") -> PolicyBase:
    """A policy that has seen a stream, with labels and ids of both types."""
    rng = np.random.default_rng(5)
    policy = make_policy(spec, space=space)
    assert isinstance(policy, PolicyBase)
    for i in range(n):
        label = LABELS[i % 3]
        x = np.eye(3)[i % 3] + 0.2 * rng.standard_normal(3)
        if i >= 3:
            policy.observe(x, policy.decide(x))
        policy.learn(x, label, None if i % 3 == 0 else (f"{i}" if i % 3 == 1 else 1000 + i))
    return policy


def queries(n: int = 60) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    rng = np.random.default_rng(6)
    return list(np.eye(3)[rng.integers(3, size=n)] + 0.4 * rng.standard_normal((n, 3)))


class Toy:
    """Not a policy, but what can be saved: it holds whatever state it is given."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self.held: dict[str, Any] = {}

    def params(self) -> dict[str, Any]:
        return {"size": self.size}

    def state(self) -> dict[str, Any]:
        return self.held

    def restore(self, state: dict[str, Any]) -> None:
        self.held = state


def toy(**state: Any) -> Toy:
    made = Toy()
    made.held = state
    return made


def small_file(folder: Path) -> bytes:
    save(toy(x=np.arange(3.0), note="n"), folder / "small")
    return (folder / "small").read_bytes()


def sealed(path: Path, header: Any, arrays: dict[str, Any] | None = None) -> Path:
    """A file in the format of `save`, written by other code, with any header."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in {"askless-policy": np.frombuffer(raw, np.uint8), **(arrays or {})}.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue())
        archive.comment = b"askless-policy sha256 " + b"0" * 64
    body = buffer.getvalue()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return path


HEADER: dict[str, Any] = {
    "format": "askless-policy",
    "version": 1,
    "askless": "0.1.0",
    "class": "ActivePerceptron",
    "module": "askless.policies.active_perceptron",
    "params": {"tau": 0.5},
    "state": {"x": {"$array": "x"}, "label": ["a"], "id": [0], "next_id": 1},
}
ARRAYS = {"x": np.array([[0.6, 0.8]])}
