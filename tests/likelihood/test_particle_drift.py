"""Drift of weighted particles: none in equilibrium, found when all of them lag behind."""

import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.particle_drift import block_marginals
from pymc_mrf.kernels.weighted_particles import edge_marginal
from pymc_mrf.likelihood.particles import WeightedParticles

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
HUBS = PairwiseGraph(range(16), [(0, 1), *((i, j) for i in (0, 1) for j in range(2, 16))])
ETA = 0.8


def engine(graph, rng, n=200, m=4000):
    x = rng.integers(2, size=(n, graph.n_nodes)).astype(np.int8)
    return WeightedParticles(x, graph, np.eye(2), np.zeros((graph.n_nodes, 2)), m, 2)


@pytest.mark.parametrize("graph", [SQUARE, HUBS], ids=["tabulated", "one by one"])
def test_blocks_add_up_to_the_marginal(graph, rng):
    likelihood = engine(graph, rng, m=100)
    z, W, eta = likelihood.get_state()
    z[:] = rng.integers(2, size=z.shape)
    W[:] = rng.gamma(2.0, size=100)
    W[:] /= W.mean()
    eta[:] = rng.normal(size=len(eta))
    out = np.empty(7)
    for e in range(0, graph.n_edges, 4):
        block_marginals(e, likelihood._particles, graph.arrays, out)
        one, _, _ = edge_marginal(e, likelihood._particles, graph.arrays)
        assert out.sum() == pytest.approx(one)
        assert np.all(out > 0.0)


def test_none_in_equilibrium_and_particles_stay_where_they_are(rng):
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.full(5, ETA), 200, rng)
    before = [a.copy() for a in likelihood.get_state()]
    drifts = [likelihood.drift(20, rng) for _ in range(5)]
    # the noise of 4,000 particles is about sqrt(200 / 4000) = 0.22 posterior standard deviations
    assert abs(np.mean(np.multiply(drifts, np.abs(drifts)))) < 0.15**2
    for a, b in zip(before, likelihood.get_state(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_copies_side_by_side_count_once(rng):
    """Each of 16 particles 250 times: what they move by chance passes for drift if they are mixed."""
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.full(5, ETA), 200, rng)
    z = likelihood.get_state()[0]
    drifts = np.empty((40, 2))
    for row in drifts:
        likelihood.move(rng, 20)
        copies = np.repeat(z[:, :: z.shape[1] // 16][:, :16], 250, axis=1)
        for k, order in enumerate((np.arange(4000), rng.permutation(4000))):
            likelihood.get_state()[0][:] = copies[:, order]
            row[k] = likelihood.drift(20, rng)
        z[:] = rng.integers(2, size=z.shape)
    beside, mixed = np.mean(drifts * np.abs(drifts), axis=0)
    assert abs(beside) < 0.4 * mixed


def test_particles_of_other_parameters_drift(rng):
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.zeros(5), 20, rng)
    likelihood.get_state()[2][:] = ETA
    assert likelihood.drift(20, rng) > 0.5
