"""Langevin steps: moments of packed chains, the leapfrog of the twin, invariance with an accept step."""

import numpy as np
import pytest
from scipy import stats

from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import density_of
from pymc_mrf.kernels.simulation import packed_states
from pymc_mrf.papers.engines.chen_welling import ExactChenWelling
from pymc_mrf.papers.kernels import persistent_langevin as kernels
from pymc_mrf.steps.edges.edge_prior import closed_form, flat
from tests.reference import reversible_jump as twin
from tests.reference.priors import normal
from tests.statistics import Z

EDGES = [(0, 1), (1, 2), (0, 2)]
BIAS = np.array([0.4, -0.3, 0.2])
SIGMA = 0.9


def case(states=(0, 1)):
    family = BOLTZMANN if states == (0, 1) else ISING
    x = np.random.default_rng(4).choice(states, size=(30, 3))
    field = twin.EnumeratedField(x, EDGES, states, 0.4, SIGMA, BIAS)
    graph = PairwiseGraph(range(3), EDGES)
    engine = ExactChenWelling(family.encode(x, n_nodes=3), graph, family, moves_biases=False)
    return field, engine, EdgePrior(np.zeros(3), normal(SIGMA), flat(3))


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
@pytest.mark.parametrize("m", [2, 70, 600])
def test_moments_of_packed_chains(states, m, rng):
    x = rng.integers(2, size=(m, 5)).astype(np.int8)
    z = np.zeros((5, packed_states.n_words(m)), dtype=np.uint64)
    packed_states.pack(x, z)
    edges = np.array([(0, 1), (3, 2), (4, 0)])
    mean, variance = np.empty((2, 8))
    kernels.feature_moments(z, m, edges, np.array(states, dtype=float), mean, variance)
    y = np.array(states)[x]
    f = np.column_stack([*(y[:, u] * y[:, v] for u, v in edges), y])
    np.testing.assert_allclose(mean, f.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(variance, f.var(axis=0, ddof=1), atol=1e-12)


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_two_steps_are_the_leapfrog_of_the_twin(states, rng):
    """With alpha nearly 1 and exact expectations: the second half of a step comes with the next one."""
    field, _, prior = case(states)
    w, b = np.array([0.5, 0.0, -0.7]), BIAS.copy()
    H = np.array([3.0, 5.0, 9.0, 1.0, 1.0, 1.0])
    p, moved = rng.standard_normal(6), np.array([True, False, True, False, False, False])
    step, alpha = 0.2, 1.0 - 1e-16
    C = 1 / np.sqrt(H[:3])
    # p as it is half a step before w
    expected_p = np.where(w != 0, p[:3] + step / 2 * C * field.gradient(w), p[:3])
    expected = w.copy()
    for _ in range(3):
        mean = field.moments(w)[0]
        dynamics = kernels.Langevin(H, p, moved, step, alpha)
        kernels.langevin_step(w, b, field.s, 30.0, mean, prior, False, dynamics, rng)
        expected, expected_p = twin.leapfrog(field, expected, expected_p, H[:3], step)
        np.testing.assert_allclose(w, expected, atol=1e-6)
    np.testing.assert_array_equal(b, BIAS)
    np.testing.assert_array_equal(moved, [True, False, True, False, False, False])
    half = p[:3] + step / 2 * C * field.gradient(w)
    np.testing.assert_allclose(half[[0, 2]], expected_p[[0, 2]], atol=1e-6)


def test_a_new_edge_has_a_new_momentum(rng):
    field, _, prior = case()
    mean, H = field.moments(np.zeros(3))[0], np.ones(6)
    momenta = []
    for _ in range(2000):
        w, p, moved = np.array([1e-9, 0.0, 0.0]), np.full(6, 50.0), np.zeros(6, dtype=bool)
        dynamics = kernels.Langevin(H, p, moved, 1e-9, 0.9)
        square = kernels.langevin_step(w, BIAS.copy(), field.s, 30.0, mean, prior, False, dynamics, rng)
        assert square == 1.0
        assert w[1] == w[2] == 0.0
        momenta.append(p[0])
    assert stats.kstest(momenta, "norm").pvalue > 1e-5


def test_slopes_are_not_smoothed():
    laplace = density_of(closed_form(_op("Laplace"), [0.2, 0.7], 1), 0)
    for x in (-1.0, 0.19, 0.21, 3.0):
        assert kernels.log_slope(laplace, x) == pytest.approx(-np.sign(x - 0.2) / 0.7)
    student = density_of(closed_form(_op("StudentT"), [3.0, 0.2, 0.7], 1), 0)
    h = 1e-6
    for x in (-1.0, 0.25, 3.0):
        up, down = stats.t(3.0, 0.2, 0.7).logpdf([x + h, x - h])
        assert kernels.log_slope(student, x) == pytest.approx((up - down) / (2 * h), rel=1e-6)


def _op(name):
    import pymc as pm

    return {"Laplace": pm.Laplace.dist(0, 1), "StudentT": pm.StudentT.dist(nu=3, mu=0, sigma=1)}[
        name
    ].owner.op


def chain_of(engine, prior, step, k, rng, negate):
    """States of a chain of k exact moves of two edges."""
    w, p, moved = np.array([0.5, 0.0, -0.7]), np.zeros(6), np.zeros(6, dtype=bool)
    H, b, rows = np.full(6, 5.0), BIAS.copy(), np.empty((k, 3))
    for i in range(k):
        before = w.copy()
        engine.langevin(w, b, prior, kernels.Langevin(H, p, moved, step, 0.9), rng)
        if not negate and np.array_equal(w, before):
            p *= -1.0  # undoes the turn
        rows[i] = w
    return rows


@pytest.mark.parametrize("negate", [True, False])
@pytest.mark.ordinary("True")
def test_exact_moves_leave_the_posterior_of_the_values_invariant(negate, rng):
    """Two present edges against a sum over a grid; without the turn at rejections it fails."""
    field, engine, prior = case()
    axis = np.linspace(-3.5, 3.5, 50)  # without 0
    grid = np.array([[a, 0.0, c] for a in axis for c in axis])
    log_density = np.array([field.log_posterior(w) for w in grid])
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    rows = chain_of(engine, prior, 1.2, 30_000, rng, negate)  # steps so long that many are rejected
    assert np.all(rows[:, 1] == 0.0)
    assert 0.1 < np.mean(np.all(rows[1:] == rows[:-1], axis=1)) < 0.6
    quantities = [[w[0], w[2], w[0] ** 2, w[2] ** 2, w[0] * w[2]] for w in grid]
    a, c = rows[:, 0], rows[:, 2]
    draws = np.column_stack([a, c, a**2, c**2, a * c])
    batches = draws.reshape(100, -1, 5).mean(axis=1)
    gaps = (draws.mean(axis=0) - mass @ quantities) / (batches.std(axis=0, ddof=1) / 10)
    assert (max(np.abs(gaps)) < Z) == negate, gaps
