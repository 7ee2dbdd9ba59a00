"""Marginals of fixed fields from independent chains, with their Monte Carlo errors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_BYTES = 2**28
"""How much memory sums of the chains moved together may take, if there is a choice."""

MOST_CHAINS = 512
"""Chains moved together."""

Estimates = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Two arrays of means, and their standard errors."""


class ChainMoments(NamedTuple):
    """Means over `n` chains, and sums of squared deviations from them: two arrays of one shape."""

    n: int
    mean: np.ndarray
    squares: np.ndarray

    def standard_error(self) -> np.ndarray:
        return np.sqrt(self.squares / (self.n * (self.n - 1)))


TwoMoments = tuple[ChainMoments, ChainMoments]
"""Moments of both kinds of marginals."""


def moments(sums: np.ndarray, n_sweeps: int, axis: int) -> ChainMoments:
    """Moments of averages over sweeps, by their sums, whose chains lie along an axis; these are used up."""
    sums /= n_sweeps
    mean = sums.mean(axis=axis, keepdims=True)
    sums -= mean
    squares = np.square(sums, out=sums).sum(axis=axis)
    return ChainMoments(sums.shape[axis], mean.squeeze(axis), squares)


def pooled(a: ChainMoments, b: ChainMoments) -> ChainMoments:
    """Moments of two batches of chains together (Chan, Golub & LeVeque, 1983)."""
    n, apart = a.n + b.n, b.mean - a.mean
    squares = a.squares + b.squares + apart**2 * (a.n * b.n / n)
    return ChainMoments(n, a.mean + apart * (b.n / n), squares)


def estimates(
    start: Callable[[int], np.ndarray],
    run: Callable[[np.ndarray], TwoMoments],
    n_bytes: int,
    n_chains: int,
) -> Estimates:
    """Two kinds of marginals and their standard errors, from the variation between chains.

    `start`: makes the states (m, d) of m chains. `run`: runs chains from such states, and gives the
    moments of both kinds of marginals. `n_bytes`: of what it keeps for each chain.
    """
    size = min(MOST_CHAINS, max(1, MOST_BYTES // max(1, n_bytes)), n_chains)
    batches = [min(size, n_chains - done) for done in range(0, n_chains, size)]
    first, second = run(start(batches[0]))
    for m in batches[1:]:
        more = run(start(m))
        first, second = pooled(first, more[0]), pooled(second, more[1])
    return (first.mean, second.mean), (first.standard_error(), second.standard_error())
