"""Drift of particles: none in equilibrium, found when all of them lag behind."""

import numpy as np

from pymc_mrf.fields.families import agreement
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.particles.particle_groups import ParticleGroups

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
ETA = 0.8


def engine(graph, rng, n=200, m=4000):
    d, r = graph.n_nodes, graph.n_edges
    x = rng.integers(2, size=(n, d)).astype(np.int8)
    arguments = x, graph, agreement(), np.zeros((d, 2)), np.arange(r), r
    return ParticleGroups(*arguments, n_particles=m, n_sweeps=2)


def test_none_in_equilibrium_and_particles_stay_where_they_are(rng):
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.full(5, ETA), 200, rng)
    before = [a.copy() for a in likelihood.get_state()]
    drifts = [likelihood.drift(20, rng) for _ in range(5)]
    # the noise of 4,000 particles is about sqrt(200 / 4000) = 0.22 posterior standard deviations
    assert abs(np.mean(np.multiply(drifts, np.abs(drifts)))) < 0.2**2
    for a, b in zip(before, likelihood.get_state(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_copies_side_by_side_count_once(rng):
    """Each of 16 particles 250 times: what they move by chance passes for drift if they are mixed."""
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.full(5, ETA), 200, rng)
    drifts = np.empty((40, 2))
    for row in drifts:
        likelihood.start(np.full(5, ETA), 20, rng)
        z, *others = likelihood.get_state()
        copies = np.repeat(z[:, :: z.shape[1] // 16][:, :16], 250, axis=1)
        for k, order in enumerate((np.arange(4000), rng.permutation(4000))):
            likelihood.set_state(copies[:, order], *others)
            row[k] = likelihood.drift(20, rng)
    beside, mixed = np.mean(drifts * np.abs(drifts), axis=0)
    assert abs(beside) < 0.4 * mixed


def test_particles_of_other_parameters_drift(rng):
    likelihood = engine(SQUARE, rng)
    likelihood.start(np.zeros(5), 20, rng)
    z, weights, w, b = likelihood.get_state()
    likelihood.set_state(z, weights, np.full(5, ETA / likelihood.view(w).scale), b)
    assert likelihood.drift(20, rng) > 0.5
