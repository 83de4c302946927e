"""The oblivious adversary that bisects a boundary drawn at random, in dimension one."""

from __future__ import annotations

import numpy as np

from askless.errors import InvalidInput
from askless.streams.stream import Stream, as_generator, as_whole

MOST_ROUNDS = 53  # the binary digits of a float64: the query of round t has t of them


def bisection(rounds: int, *, rng: np.random.Generator) -> Stream:
    """Queries that close in on a boundary phi, drawn uniformly from [0, 1], by halving the interval around it.

    Label 0 lies below phi, label 1 above it. Each query is the middle of the interval that holds phi, and the
    next interval is the half that holds it. The stream is drawn before the first round and answers no decision
    of the policy. Still, given all that came before, phi lies above the middle with probability 1/2, so that
    any guess is wrong with probability at least 1/2 and every policy's expected regret is, in every round, at
    least the smaller of the price of a question and half the price of a mistake: 2 with the paper's rewards.

    The binary digits of phi are fair coins, and every query is exact in float64.
    [Réveillard et al. 2026, remark on the adversarial setting]
    """
    if as_whole(rounds, 1, "rounds") > MOST_ROUNDS:
        raise InvalidInput(
            f"A bisection has at most {MOST_ROUNDS} rounds: float64 has no digits for further ones; found {rounds}."
        )
    above = as_generator(rng).integers(2, size=rounds)  # digit t of phi: whether phi lies above the query of round t
    half = 0.5 ** np.arange(1, rounds + 1)
    low = np.cumsum(above * half) - above * half
    return Stream((low + half)[:, None], 1 - above, "euclidean")
