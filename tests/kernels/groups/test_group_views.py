"""Views of likelihoods: one edge's likelihood as a function of its parameter, by enumeration."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, agreement, ordinal, potts
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.edge_terms import (
    allocate_level_terms,
    allocate_terms,
    clear,
    log_likelihood,
)
from pymc_mrf.kernels.groups.edgewise_groups import describe_edgewise, follow_edgewise
from pymc_mrf.kernels.groups.group_labels import describe_fixed, follow_fixed
from pymc_mrf.kernels.groups.grouped_particles import fill_level_shares
from pymc_mrf.kernels.views import particle_edges
from pymc_mrf.likelihood.exact.exact_edges import ExactGroups, ForestGroups
from pymc_mrf.likelihood.particles.particle_groups import ParticleGroups
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoGroups
from tests.marks import slow
from tests.reference import edge_views as reference
from tests.reference import enumeration
from tests.statistics import assert_mean_close

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
AGREE, PRODUCT = np.eye(2), np.array([[0.0, 0.0], [0.0, 1.0]])
# natural parameters that are logarithms of whole numbers: a few copies of configurations are exact
CASES = {
    "agreement": (AGREE, False),
    "three states": (np.eye(3), False),
    "product with biases": (PRODUCT, True),
    "three states with node terms": (np.eye(3), True),
    "scores, and a node of two states": (np.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]), True),
}
FEW_CASES = pytest.mark.parametrize(
    "name",
    [name if name in ("agreement", "three states with node terms") else slow(name) for name in CASES],
)
FAMILIES = {
    "agreement": agreement(),
    "three states": agreement(3),
    "product with biases": BOLTZMANN,
    "three states with node terms": potts(3),
    "scores, and a node of two states": ordinal((3, 2, 3, 3)),
}
GRID = np.array([-2.5, -0.4, 0.0, 0.9, 3.0])


def case(name, rng, n=30):
    statistic, biased = CASES[name]
    x = rng.integers(len(statistic), size=(n, 4)).astype(np.int8)
    x[: n // 2, 1] = x[: n // 2, 0]
    node_tables = np.zeros((4, len(statistic)))
    if biased:
        # on more than one node: by symmetry a field on one would not change agreements
        copies = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0], [1.0, 3.0, 2.0], [2.0, 1.0, 1.0]])
        node_tables = np.log(copies[:, : len(statistic)])
    if name.startswith("scores"):
        x[:, 1], node_tables[1, 2] = x[:, 1] % 2, -np.inf
    return x, statistic, node_tables


def room_for_terms(likelihood):
    if likelihood.is_binary:
        return allocate_terms(likelihood.n_terms)
    return allocate_level_terms(likelihood.n_terms, likelihood.n_levels)


ENGINES = {
    "exact": (ExactGroups, reference.log_likelihood),
    "pseudo": (PseudoGroups, reference.log_pseudo_likelihood),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ENGINES)
def test_one_edge_at_a_time(kind, name, rng):
    """Six parameters for five edges, in another order; changes are followed."""
    engine, log_density = ENGINES[kind]
    x, statistic, node_tables = case(name, rng)
    entries = np.array([4, 1, 5, 0, 3])
    likelihood = engine(x, SQUARE, FAMILIES[name], node_tables, entries, 6)
    eta = rng.normal(size=6)
    view, terms = likelihood.view(eta), room_for_terms(likelihood)
    gaps = []
    for edge, value in ((0, -1.3), (2, 2.0), (0, 0.4), (4, 0.7)):
        e = entries[edge]
        for other in range(5):
            clear(terms)
            describe_edgewise(view, entries[other], eta[entries[other]], terms)
            assert not terms.more[: terms.size[0]].any()
            expected = np.empty(len(GRID))
            for k, moved in enumerate(GRID):
                there = eta.copy()
                there[entries[other]] = moved
                expected[k] = log_density(x, SQUARE.edges, there[entries], statistic, node_tables)
            got = [log_likelihood(terms, moved) for moved in GRID]
            np.testing.assert_allclose(np.diff(got), np.diff(expected), atol=1e-8)
            gaps.append(np.diff(got))
        assert not follow_edgewise(view, e, eta[e], value)
        eta[e] = value
    # what the others are matters: the same edge before and after changes of others
    assert np.abs(gaps[1] - gaps[16]).max() > 1e-3
    clear(terms)
    describe_edgewise(view, 2, 0.3, terms)  # an entry that is no edge of this field
    assert terms.size[0] == 0 and terms.total[0] == 0.0
    assert not follow_edgewise(view, 2, 0.3, 5.0)


@pytest.mark.parametrize("K", [2, 3])
def test_forests_in_closed_form(K, rng):
    graph = builders.chain(4)
    x = rng.integers(K, size=(20, 4)).astype(np.int8)
    arguments = x, graph, agreement(K), np.zeros((4, K)), np.array([2, 0, 1]), 4
    likelihood, eta = ForestGroups(*arguments), rng.normal(size=4)
    view, terms = likelihood.view(eta), allocate_terms(1)
    for edge, e in enumerate((2, 0, 1)):
        clear(terms)
        describe_fixed(view, e, eta[e], terms)
        expected = []
        for moved in GRID:
            there = eta[[2, 0, 1]]
            there[edge] = moved
            expected.append(reference.log_likelihood(x, graph.edges, there, np.eye(K), np.zeros((4, K))))
        got = [log_likelihood(terms, moved) for moved in GRID]
        np.testing.assert_allclose(np.diff(got), np.diff(expected), atol=1e-9)
        assert not follow_fixed(view, e, 0.0, 1.0)
    clear(terms)
    describe_fixed(view, 3, 0.0, terms)  # no edge: a likelihood that is constant
    assert log_likelihood(terms, -3.0) == log_likelihood(terms, 4.0) == 0.0


def particles(x, graph, family, node_tables, m):
    r = graph.n_edges
    return ParticleGroups(x, graph, family, node_tables, np.arange(r), r, n_particles=m, n_sweeps=1)


def stand_for(engine, z, eta):
    """Let equal particles `z` (d, m) stand for the parameters `eta`."""
    view = engine.view(eta)
    engine.set_state(np.asarray(z, dtype=np.int8), 1.0, eta / view.scale, view.edges.beta.copy())


def described(engine, edge, eta):
    """Terms of an edge, for its present value."""
    terms = room_for_terms(engine)
    clear(terms)
    describe_edgewise(engine.view(eta), edge, eta[edge], terms)
    return terms


@FEW_CASES
@pytest.mark.ordinary("agreement")
def test_exhaustive_particles_are_exact(name, rng):
    """Particles that are all configurations, as often as their probabilities say: no sampling error."""
    x, statistic, node_tables = case(name, rng)
    eta = np.log([2.0, 1.0, 3.0, 1.0, 2.0])
    if len(statistic) == 3 and node_tables.any():  # fewer copies
        node_tables[2:] = 0.0
        eta[2] = 0.0 if statistic.max() > 1.0 else eta[2]
    configs = enumeration.configurations(4, len(statistic))
    tables = eta[:, None, None] * statistic
    copies = np.exp(enumeration.log_potentials(configs, SQUARE.edges, tables, node_tables))
    np.testing.assert_allclose(copies, np.rint(copies))
    z = np.repeat(configs, np.rint(copies).astype(int), axis=0).T
    engine = particles(x, SQUARE, FAMILIES[name], node_tables, z.shape[1])
    stand_for(engine, z, eta)
    pairs = enumeration.marginals(SQUARE.edges, tables, node_tables)[1]
    expected = np.stack([pairs[:, statistic == f].sum(axis=1) for f in np.unique(statistic)], axis=1)
    shares = np.empty(expected.shape)
    fill_level_shares(engine.view(eta), np.arange(5), shares)
    np.testing.assert_allclose(shares, expected, atol=1e-10)
    mores = []
    for e in range(5):
        terms = described(engine, e, eta)
        with np.errstate(divide="ignore"):
            lam = np.log(expected[e]) - engine.levels * eta[e]
        lam = lam[1] - lam[0] if engine.is_binary else lam - lam[0]
        found = terms.lam[0] if engine.is_binary else terms.lam[:, 0] - terms.lam[0, 0]
        np.testing.assert_allclose(found, lam, atol=1e-8)
        _, spread, variance, _ = reference.particle_marginal(
            z, e, SQUARE.edges, eta, eta, statistic, node_tables
        )
        more = engine.n * (particle_edges.sharpening(engine.n * variance / spread) - 1.0)
        assert terms.more[0] == pytest.approx(more, abs=1e-9)
        mores.append(more)
    assert max(mores) > 0.01


@FEW_CASES
@pytest.mark.ordinary("agreement")
def test_particles_follow_changes(name, rng):
    """Changes of own, touching and far edges, one by one, by weights and pairs that are drawn anew."""
    x, statistic, node_tables = case(name, rng)
    m, eta = 40_000, 0.5 * rng.normal(size=5)
    engine = particles(x, SQUARE, FAMILIES[name], node_tables, m)
    engine.start(eta, 30, rng)
    engine.change(eta, rng)
    view, shares = engine.view(eta), np.empty((5, engine.n_levels))
    for e, value in ((0, -0.4), (2, 0.9), (4, 0.1), (0, 0.6)):
        described(engine, e, eta)
        follow_edgewise(view, e, eta[e], value)
        eta[e] = value
    pairs = enumeration.marginals(SQUARE.edges, eta[:, None, None] * statistic, node_tables)[1]
    expected = np.stack([pairs[:, statistic == f].sum(axis=1) for f in engine.levels], axis=1)
    fill_level_shares(view, np.arange(5), shares)
    # 4.5 standard errors without Rao-Blackwellisation, at the effective size
    error = 4.5 * 0.5 / np.sqrt(engine.least_size * m)
    assert np.abs(shares - expected).max() < error
    # control: the same particles, of equal weights, taken to stand for what came before
    stand_for(engine, engine.get_state()[0], eta + 1.0)
    fill_level_shares(view, np.arange(5), shares)
    assert np.abs(shares - expected).max() > error


@pytest.mark.parametrize("eta", [300.0, -300.0])
def test_forced_edges_keep_a_finite_logit(eta):
    """Two states, all three edges strong: the others force the first, in either direction."""
    triangle = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
    anchor = 300.0 * np.array([1.0, 1.0, np.sign(eta)])
    x = np.zeros((4, 3), dtype=np.int8)
    engine = particles(x, triangle, agreement(), np.zeros((3, 2)), 4)
    stand_for(engine, np.zeros((3, 4)) if eta > 0 else np.array([[0], [0], [1]]).repeat(4, 1), anchor)
    for e in range(3):
        terms = described(engine, e, anchor)
        assert np.isfinite(terms.lam[0])
        assert terms.more[0] < 1e-6


def test_uneven_weights_ask_for_new_particles(rng):
    graph = builders.chain(8)
    x = rng.integers(2, size=(30, 8)).astype(np.int8)
    engine = particles(x, graph, agreement(), np.zeros((8, 2)), 2000)
    eta = np.zeros(7)
    engine.start(eta, 20, rng)
    engine.change(eta, rng)
    view = engine.view(eta)
    described(engine, 0, eta)
    assert not follow_edgewise(view, 0, 0.0, 0.1)
    assert engine.least_size > 0.9
    asked = False
    for e in range(1, 7):
        described(engine, e, eta)
        asked |= follow_edgewise(view, e, 0.0, 2.0)
    assert engine.least_size < 1.0
    # on a chain both ends of an edge are drawn anew exactly: nothing else depends on it
    assert not asked
    loop = builders.grid(2, 2)
    engine = particles(x[:, :4], loop, agreement(), np.zeros((4, 2)), 2000)
    engine.start(np.zeros(4), 20, rng)
    engine.change(np.zeros(4), rng)
    view, asked = engine.view(np.zeros(4)), []
    for e in range(4):
        described(engine, e, np.zeros(4))
        asked.append(follow_edgewise(view, e, 0.0, 5.0 if e < 3 else -5.0))
    assert asked[-1]
    assert engine.least_size < 0.5


def test_noise_correction_is_a_deconvolution(rng):
    """Sharpened, then blurred by the noise, a Gaussian likelihood is itself."""
    ratio, eta = 0.3, np.linspace(-2.0, 2.0, 5)
    power = particle_edges.sharpening(ratio)
    errors = np.sqrt(ratio) * rng.normal(size=(200_000, 1))
    blurred = np.exp(-0.5 * power * (eta - errors) ** 2) * np.sqrt(power)
    assert_mean_close(blurred, np.exp(-0.5 * eta**2))
    assert particle_edges.sharpening(0.9) == particle_edges.sharpening(particle_edges.MAX_NOISE)
