"""Streams and runs for the tests of the policies that the paper compares with."""

from __future__ import annotations

import numpy as np

from askless.types import Ask, Guess

SPACES = ("sphere", "euclidean")


def clusters(space, dim=6, n_labels=4, rounds=300, noise=0.15, seed=0):
    """Queries around random centres, and the label of the nearest centre, as text."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_labels, dim))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    X = centers[rng.integers(n_labels, size=rounds)] + noise * rng.normal(size=(rounds, dim))
    if space == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return X, [f"label {i}" for i in y]


def run(policy, X, y):
    """Decide, act, and learn the answer to each question, as a desk does."""
    decisions = []
    for x, label in zip(X, y, strict=True):
        decision = policy.decide(x)
        policy.observe(x, decision)
        if isinstance(decision, Ask):
            policy.learn(x, label)
        decisions.append(decision)
    return decisions


def learn_all(policy, X, y):
    for x, label in zip(X, y, strict=True):
        policy.learn(x, label)
    return policy


def kind(decision):
    """What "the same decision" compares."""
    return decision.label if isinstance(decision, Guess) else type(decision.reason)


def kinds(policy, X):
    return [kind(policy.decide(x)) for x in X]


def means(X, y):
    return {label: X[[i for i, other in enumerate(y) if other == label]].mean(axis=0) for label in dict.fromkeys(y)}


def nearest_label(centers, x):
    return min(centers, key=lambda label: np.linalg.norm(x - centers[label]))
