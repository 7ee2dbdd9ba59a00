"""Joint moves of a likelihood that is not trusted everywhere."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.hamiltonian import allocate_coordinates, draw_momentum, hamiltonian_move
from pymc_mrf.kernels.priors.densities import FLAT, Densities, Density
from pymc_mrf.kernels.views import questions

N, END = 40_000, 0.5


class OneWeight(NamedTuple):
    """A standard normal log-likelihood of one weight, which is trusted below `END` only."""

    w: np.ndarray
    beta: np.ndarray
    n_biases: int


@questions.set_parameters.register(OneWeight)
def set_weight(view, active, place):
    view.w[0] = place[0]


@questions.without_slab.register(OneWeight)
def normal_without_slab(view, active, bias, slope):
    slope[0] = -view.w[0]
    return -0.5 * view.w[0] ** 2


@questions.is_trusted.register(OneWeight)
def is_below(view):
    return view.w[0] < END


def moved(starts: np.ndarray, enters: Any, rng: np.random.Generator) -> np.ndarray:
    """Weights after one joint move from each of `starts` (N,)."""
    none = np.zeros(0)
    prior = EdgePrior(
        np.zeros(1), Density(FLAT, 0.0, 1.0, 1.0, 0.0), Densities(np.zeros(0, np.int64), *[none] * 4)
    )
    view, x, ends = OneWeight(np.zeros(1), none, 0), allocate_coordinates(np.ones(1)), starts.copy()
    for i, start in enumerate(starts):
        view.w[0] = start
        draw_momentum(x, rng)
        hamiltonian_move(view, np.zeros(1, np.int64), prior, x, 0.6, 2, rng, enters)
        ends[i] = view.w[0]
    return ends


def test_moves_that_would_cross_the_end_of_trust_are_refused(rng):
    """Both ways, so that the density is left as it is on both sides."""
    starts = rng.standard_normal(N)
    ends = moved(starts, np.bool_(False), rng)
    np.testing.assert_array_equal(ends < END, starts < END)
    assert np.mean(ends != starts) > 0.3
    for power in (1, 2):
        for side in (starts < END, starts >= END):
            gap = ends[side] ** power - starts[side] ** power
            assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(side.sum())


def test_in_tuning_moves_come_back_only(rng):
    """It is not reversible: the density is another one then."""
    starts = rng.standard_normal(N)
    ends = moved(starts, np.bool_(True), rng)
    assert np.all(ends[starts < END] < END)
    assert np.mean(ends < END) - np.mean(starts < END) > 0.05
    with pytest.raises(AssertionError):
        gap = ends - starts
        assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(N)
