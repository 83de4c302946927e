"""Small labelled data for the tests of replay: clusters on the sphere, with texts that name them."""

from __future__ import annotations

import numpy as np

from askless.replay.data import Vectored


def clusters(rows=240, labels=6, dim=8, noise=0.35, seed=0, unknown=()):
    """Rows around one centre a label; the rows in `unknown` have no vector."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(labels, dim))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    index = rng.integers(labels, size=rows)
    X = centres[index] + noise * rng.normal(size=(rows, dim))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    X[list(unknown)] = np.nan
    names = [f"label {k}" for k in index]
    return Vectored("clusters", "made/1", [f"text {k} of {name}" for k, name in enumerate(names)], names, X)
