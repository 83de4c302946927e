"""A small desk for tests: texts whose first letter is their label, and an embedder that puts equal ones together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.desk.desk import Desk
from askless.desk.settings import Settings
from askless.ledger.ledger import Ledger
from askless.policies.named import make_policy
from askless.types import Policy

LETTERS = "abcd"


class Letters:
    """A vector near the axis of the text's first letter; nothing is known of a text that begins with another sign."""

    id, dim = "letters/1", 4

    def __init__(self, spread: float = 0.45) -> None:
        self._spread = spread

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.full((len(texts), self.dim), np.nan, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text[0] in LETTERS:
                seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
                noise = np.random.default_rng(seed).standard_normal(self.dim)
                x = np.eye(self.dim)[LETTERS.index(text[0])] + self._spread * noise
                row[:] = x / np.linalg.norm(x)
        return rows


def some_texts(count: int, seed: int = 0) -> list[str]:
    """Texts in a mixed order, one in fifteen of them unknown to the embedder."""
    rng = np.random.default_rng(seed)
    letters = [*LETTERS] * 3 + [*LETTERS[:2], "?"]
    return [f"{letters[rng.integers(len(letters))]}{k}" for k in range(count)]


def policy_of(settings: Settings) -> Policy:
    return make_policy(settings.policy, space="sphere", costs=settings.costs)


def open_toy(
    path: Path | None,
    texts: Sequence[str],
    policy: str = "ghc:0.8",
    audit_rate: float = 0.0,
    spread: float = 0.45,
    **others: Any,
) -> Desk:
    """A desk with these texts: a new one, or one that goes on with the ledger at that path."""
    ledger = Ledger(path)
    row = ledger.desk("toy") or ledger.add_desk("toy", Letters.id)
    settings = Settings(policy, "letters", audit_rate=audit_rate)
    desk = Desk(ledger, row, settings, policy_of, who="tester", **others)
    desk.receive(texts, lambda: Letters(spread))
    desk.attend(id for text in texts if (id := desk.id_of(text)) is not None)
    return desk


def ledger_of(desk: Desk) -> Ledger:
    return desk.book._ledger


def standing_of(desk: Desk) -> list[tuple[Any, ...]]:
    """All that a user could see of the desk."""
    return [
        (c.query.text, c.status, c.label, c.guess, c.probability, c.evidence, c.skips, c.why, c.reviewed)
        for c in desk.cases()
    ]
