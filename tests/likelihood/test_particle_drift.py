"""Drift of particles: none in equilibrium, found when all of them lag behind."""

import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.particle_groups import edge_marginal, edge_means
from pymc_mrf.likelihood.groups.particle_groups import ParticleLikelihood

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
HUBS = PairwiseGraph(range(9), [(0, 1), *((i, j) for i in (0, 1) for j in range(2, 9))])
ETA = 0.8


def engine(graph, rng, n=200, m=4000):
    d, r = graph.n_nodes, graph.n_edges
    x = rng.integers(2, size=(n, d)).astype(np.int8)
    arguments = x, graph, np.eye(2), np.zeros((d, 2)), np.arange(r), r
    return ParticleLikelihood(*arguments, n_particles=m, n_sweeps=2)


@pytest.mark.parametrize("graph", [SQUARE, HUBS], ids=["tabulated", "one by one"])
def test_means_average_to_the_marginal(graph, rng):
    likelihood = engine(graph, rng, m=100)
    eta = rng.normal(size=graph.n_edges)
    likelihood.set_state(rng.integers(2, size=(graph.n_nodes, 100)), eta, np.zeros((graph.n_nodes, 2)))
    means, view = np.empty(100), likelihood.view(eta)
    for e in range(0, graph.n_edges, 4):
        edge_means(view, e, means)
        shares = view.share.copy()
        edge_marginal(view, e)
        np.testing.assert_allclose(shares, view.share)
        assert means.mean() == pytest.approx(shares[1])
        assert means.std() > 0.0
        assert np.all((means > 0.0) & (means < 1.0))


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
    likelihood.set_state(likelihood.get_state()[0].copy(), np.full(5, ETA), np.zeros((4, 2)))
    assert likelihood.drift(20, rng) > 0.5
