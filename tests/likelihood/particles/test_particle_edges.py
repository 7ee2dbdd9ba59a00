"""The particle engine of the edge sampler: its state, its statistics, its way from a distant start."""

import itertools

import arviz as az
import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.particles.particle_edges import BURN_IN, ParticleEdges
from tests.reference import enumeration
from tests.reference.priors import normal, normals

EDGES = [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)]
GRAPH = PairwiseGraph(range(4), EDGES)


PRIOR = EdgePrior(np.full(6, -0.4), normal(1.0), normals(4, 2.0))


def data(n=60, seed=1):
    tables = (
        BOLTZMANN.edge_tables(np.array([2.0, 0.0, -1.0, 0.0, 1.0, 0.0])),
        BOLTZMANN.node_tables(np.zeros(4)),
    )
    p = enumeration.probabilities(EDGES, *tables)
    rows = np.random.default_rng(seed).choice(16, size=n, p=p)
    return enumeration.configurations(4, 2)[rows].astype(np.int8)


def engine(**options):
    return ParticleEdges(data(), GRAPH, BOLTZMANN, True, **options)


def test_default_number_of_particles():
    assert engine().n_particles == 500
    x = np.tile(data(), (4, 1))
    assert ParticleEdges(x, GRAPH, BOLTZMANN, True).n_particles == 5 * 240
    assert engine(n_particles=33).n_particles == 33


def test_state_round_trip(rng):
    first, second = engine(n_particles=100), engine(n_particles=100)
    w, b = np.zeros(6), np.zeros(4)
    for _ in range(3):
        first.sweep(w, b, PRIOR, rng)
        first.learn_sweep()
        first.joint(w, b, PRIOR, 0.3, 1, rng)
    second.set_state(*first.get_state())
    for one, other in zip(first.get_state(), second.get_state(), strict=True):
        np.testing.assert_array_equal(one, other)
    ends = []
    for this in (first, second):
        again = w.copy(), b.copy(), np.random.default_rng(5)
        for _ in range(5):
            this.sweep(*again[:2], PRIOR, again[2])
            this.joint(*again[:2], PRIOR, 0.3, 1, again[2])
        ends.append([*again[:2], *this.get_state(), *this.statistics().values()])
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_parameters_start_from_the_data(rng):
    this = engine(n_particles=100)
    starts = []
    start = this.start
    this.start = lambda w, b, n_sweeps, rng: starts.append(n_sweeps) or start(w, b, n_sweeps, rng)
    w, b = np.zeros(6), np.zeros(4)
    this.sweep(w, b, PRIOR, rng)
    this.joint(w, b, PRIOR, 0.3, 1, rng)
    this.sweep(w, b, PRIOR, rng)
    assert starts == [BURN_IN]
    this.sweep(w + 0.5, b, PRIOR, rng)
    this.forget()
    this.sweep(w + 0.5, b, PRIOR, rng)
    assert starts == [BURN_IN] * 3


def test_statistics(rng):
    this = engine(n_particles=200)
    w, b = np.zeros(6), np.zeros(4)
    n_proposed, n_accepted = this.sweep(w, b, PRIOR, rng)
    assert n_proposed >= n_accepted > 0
    few = []
    for m in (50, 5000):
        this = engine(n_particles=m)
        noise = []
        for _ in range(20):
            this.sweep(w, b, PRIOR, rng)
            noise.append(this.statistics()["noise"])
            assert 0 < this.statistics()["ess"] <= 1
        few.append(np.mean(noise))
    # the noise falls as 1 / sqrt(m)
    assert 5 < few[0] / few[1] < 20


def inclusion(this, rng, n_sweeps=4000):
    w, b = np.zeros(6), np.array([0.0, 0.0, 0.0, 0.0])
    present = np.zeros(6)
    for i in range(n_sweeps):
        this.sweep(w, b, PRIOR, rng)
        this.joint(w, b, PRIOR, 0.4, 4, rng)
        if i < 200:
            this.learn(0.1)
            if isinstance(this, ParticleEdges):
                this.learn_sweep()
        if i >= 200:
            present += w != 0.0
    return present / (n_sweeps - 200)


def test_expected_means_are_averages_over_the_draws(rng):
    this = engine(n_particles=400)
    w, b = np.zeros(6), np.zeros(4)
    seen = []
    for _ in range(30):
        this.sweep(w, b, PRIOR, rng)
        this.learn_sweep()
        seen.append(this.view.means.now.copy())
    average = seen[0]
    for k, now in enumerate(seen):
        average = average + (now - average) / (1 + k / 3)
    np.testing.assert_allclose(this.view.means.expected, average)
    kept = this.view.means.expected.copy()
    this.sweep(w, b, PRIOR, rng)
    np.testing.assert_array_equal(this.view.means.expected, kept)  # adaptation ends with tuning
    this.forget()
    assert np.isnan(this.view.means.expected).all()


def strong_data(n=200, seed=3):
    """Eight nodes in two groups of four, strongly coupled within, not between."""
    pairs = list(itertools.combinations(range(8), 2))
    J = np.array([0.7 if u // 4 == v // 4 else 0.0 for u, v in pairs])
    p = enumeration.probabilities(pairs, ISING.edge_tables(J), ISING.node_tables(np.zeros(8)))
    rows = np.random.default_rng(seed).choice(256, size=n, p=p)
    return PairwiseGraph(range(8), pairs), enumeration.configurations(8, 2)[rows].astype(np.int8)


def test_edges_that_compete_for_the_same_data_are_not_found_too_rarely(rng):
    """Sixteen edges between two groups, none of them likely: their number is that of the exact engine."""
    graph, x = strong_data()
    prior = EdgePrior(np.full(28, -0.85), normal(2.0), normals(8, 3.0))
    numbers = []
    for this in (
        ExactEdges(x, graph, ISING, True),
        ParticleEdges(x, graph, ISING, True, n_particles=800),
    ):
        w, b, counts = np.zeros(28), np.zeros(8), []
        for i in range(2500):
            this.sweep(w, b, prior, rng)
            this.joint(w, b, prior, 0.4, 4, rng)
            if i < 300 and isinstance(this, ParticleEdges):
                this.learn(0.1)
                this.learn_sweep()
            counts.append(np.count_nonzero(w))
        numbers.append(np.array(counts[300:], dtype=float))
    errors = [float(az.mcse(counts[None], method="mean")) for counts in numbers]
    assert max(errors) < 0.15
    assert abs(numbers[0].mean() - numbers[1].mean()) < 4.0 * np.hypot(*errors)


@pytest.mark.slow
@pytest.mark.compiled
def test_from_far_away_it_finds_the_posterior_of_the_exact_engine(rng):
    """Strong biases and edges, started from nothing: pieces of joint moves have to be shortened first."""
    x = data(300)
    exact = inclusion(ExactEdges(x, GRAPH, BOLTZMANN, True), rng)
    this = ParticleEdges(x, GRAPH, BOLTZMANN, True, n_particles=1500)
    assert np.abs(inclusion(this, rng) - exact).max() < 0.03 + 0.02  # Monte-Carlo error of two runs
