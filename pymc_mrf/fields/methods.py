"""Methods of fixed fields: their options, defaults and checks, and marginals from chains.

Those from independent chains have Monte Carlo errors, by the variation between chains.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import check_option, number, whole_number

CHAINS = ("n_chains", "n_sweeps", "n_burn_in", "rng")
TREES = ("partition", "n_partitions")
MARGINALS: dict[str, tuple[str, ...]] = {
    "exact": (),
    "bp": ("damping", "tolerance", "max_iterations"),
    "tree": CHAINS + TREES,
    "gibbs": CHAINS,
}
DRAWS: dict[str, tuple[str, ...]] = {"exact": (), "tree": ("n_sweeps", *TREES), "gibbs": ("n_sweeps",)}
MODES: dict[str, tuple[str, ...]] = {"auto": (), "exact": ()}
"""Options of each method of `FixedField.marginals`, `FixedField.sample` and `FixedField.mode`."""

DEFAULTS: dict[str, Any] = {
    "n_sweeps": 200,
    "n_chains": 64,
    "n_burn_in": 100,
    "n_partitions": 1,
    "partition": None,
    "damping": 0.5,
    "tolerance": 1e-8,
    "max_iterations": 1000,
    "max_sweeps": None,
    "rng": None,
}

SMALLEST = {"n_sweeps": 1, "n_chains": 2, "n_burn_in": 0, "n_partitions": 1, "max_iterations": 1}

MOST_BYTES = 2**28
"""How much memory sums of the chains moved together may take, if there is a choice."""

MOST_CHAINS = 512
"""Chains moved together."""


def method_options(
    method: str, allowed: Mapping[str, tuple[str, ...]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Options of a method, defaults for those that are None.

    `allowed`: names of the options of each method. `given`: option values; None means not given. Raises
    a ValueError if the method is unknown, an option belongs to another method, or a value is out of
    range.
    """
    check_option(method, "method", allowed)
    for name, value in given.items():
        if value is not None and name not in allowed[method]:
            owners = " or ".join(f'"{m}"' for m, options in allowed.items() if name in options)
            where = f"an option of method={owners}, not" if owners else "no option"
            raise ValueError(f'{name} is {where} of method="{method}"')
    options = {
        name: DEFAULTS[name] if given.get(name) is None else given[name] for name in allowed[method]
    }
    for name, smallest in SMALLEST.items():
        if name in options:
            options[name] = whole_number(options[name], name, smallest)
    if "damping" in options:
        options["damping"] = number(options["damping"], "damping", 0.0, 1.0, closed=True)
    if "tolerance" in options:
        options["tolerance"] = number(options["tolerance"], "tolerance", 0.0)
    if given.get("partition") is not None and given.get("n_partitions") is not None:
        raise ValueError(
            "n_partitions is the number of partitions to be found, and partition gives one; pass one "
            "of the two"
        )
    return options


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
