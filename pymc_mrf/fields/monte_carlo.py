"""Marginals of fixed fields from independent chains, with their Monte Carlo errors."""

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_NUMBERS = 2**22
"""Numbers that the sums of the chains moved together may take."""

Estimates = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Two arrays of means, and their standard errors."""


class ChainMoments:
    """Mean over chains, and its standard error, of arrays that come in batches of chains."""

    def __init__(self) -> None:
        self.n = 0
        self.origin: Any = 0.0
        self.total: Any = 0.0
        self.squares: Any = 0.0

    def add(self, values: np.ndarray) -> None:
        """Take in one array per chain, the chains along the first axis."""
        if self.n == 0:
            # sums of squares about a nearby point: no cancellation
            self.origin = values.mean(axis=0)
        shifted = values - self.origin
        self.n += len(values)
        self.total = self.total + shifted.sum(axis=0)
        self.squares = self.squares + (shifted**2).sum(axis=0)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean, and standard error of the mean."""
        shift = self.total / self.n
        variance = np.maximum(self.squares / self.n - shift**2, 0.0) * self.n / (self.n - 1)
        return self.origin + shift, np.sqrt(variance / self.n)


def estimates(
    start: Callable[[int], np.ndarray],
    burn_in: Callable[[np.ndarray], None],
    sums: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    n_numbers: int,
    n_chains: int,
    n_sweeps: int,
) -> Estimates:
    """Two kinds of marginals and their standard errors, from the variation between chains.

    Parameters
    ----------
    start : callable
        Makes the states (m, d) of m chains.
    burn_in : callable
        Moves such states in place.
    sums : callable
        Moves them by `n_sweeps` sweeps; returns the sums over the sweeps of both kinds of marginals, the
        chains along the first axis.
    n_numbers : int
        Numbers in the sums of one chain.
    n_chains, n_sweeps : int
    """
    first, second = ChainMoments(), ChainMoments()
    size = min(64, max(1, MOST_NUMBERS // max(1, n_numbers)), n_chains)
    for m in (min(size, n_chains - done) for done in range(0, n_chains, size)):
        x = start(m)
        burn_in(x)
        of_first, of_second = sums(x)
        first.add(of_first / n_sweeps)
        second.add(of_second / n_sweeps)
    (mean, error), (other_mean, other_error) = first.result(), second.result()
    return (mean, other_mean), (error, other_error)
