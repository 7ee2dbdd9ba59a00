"""Views of likelihoods: one edge's likelihood as a function of its parameter, by enumeration."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups import particle_groups as particle_kernels
from pymc_mrf.kernels.groups.edge_terms import (
    allocate_level_terms,
    allocate_terms,
    clear,
    log_likelihood,
)
from pymc_mrf.kernels.groups.exact_groups import (
    describe_exact,
    describe_fixed,
    follow_exact,
    follow_fixed,
)
from pymc_mrf.kernels.groups.particle_groups import describe_particles, edge_marginal, follow_particles
from pymc_mrf.kernels.groups.pseudo_groups import describe_pseudo, follow_pseudo
from pymc_mrf.kernels.views import noise
from pymc_mrf.likelihood.groups.exact_groups import ExactLikelihood, ForestLikelihood
from pymc_mrf.likelihood.groups.particle_groups import ParticleLikelihood
from pymc_mrf.likelihood.groups.pseudo_groups import PseudoLikelihood
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
    "exact": (ExactLikelihood, describe_exact, follow_exact, reference.log_likelihood),
    "pseudo": (PseudoLikelihood, describe_pseudo, follow_pseudo, reference.log_pseudo_likelihood),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ENGINES)
def test_one_edge_at_a_time(kind, name, rng):
    """Six parameters for five edges, in another order; changes are followed."""
    engine, describe, follow, log_density = ENGINES[kind]
    x, statistic, node_tables = case(name, rng)
    entries = np.array([4, 1, 5, 0, 3])
    likelihood = engine(x, SQUARE, statistic, node_tables, entries, 6)
    eta = rng.normal(size=6)
    view, terms = likelihood.view(eta), room_for_terms(likelihood)
    gaps = []
    for edge, value in ((0, -1.3), (2, 2.0), (0, 0.4), (4, 0.7)):
        e = entries[edge]
        for other in range(5):
            clear(terms)
            describe(view, entries[other], eta[entries[other]], terms)
            assert not terms.more[: terms.size[0]].any()
            expected = np.empty(len(GRID))
            for k, moved in enumerate(GRID):
                there = eta.copy()
                there[entries[other]] = moved
                expected[k] = log_density(x, SQUARE.edges, there[entries], statistic, node_tables)
            got = [log_likelihood(terms, moved) for moved in GRID]
            np.testing.assert_allclose(np.diff(got), np.diff(expected), atol=1e-8)
            gaps.append(np.diff(got))
        assert not follow(view, e, eta[e], value)
        eta[e] = value
    # what the others are matters: the same edge before and after changes of others
    assert np.abs(gaps[1] - gaps[16]).max() > 1e-3
    clear(terms)
    describe(view, 2, 0.3, terms)  # an entry that is no edge of this field
    assert terms.size[0] == 0 and terms.total[0] == 0.0
    assert not follow(view, 2, 0.3, 5.0)


@pytest.mark.parametrize("K", [2, 3])
def test_forests_in_closed_form(K, rng):
    graph = builders.chain(4)
    x = rng.integers(K, size=(20, 4)).astype(np.int8)
    arguments = x, graph, np.eye(K), np.zeros((4, K)), np.array([2, 0, 1]), 4
    likelihood, eta = ForestLikelihood(*arguments), rng.normal(size=4)
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


def exhaustive(x, graph, statistic, node_tables, anchor):
    """Engine whose particles are all configurations, as often as their probabilities at `anchor` say."""
    d, K = node_tables.shape
    configs = enumeration.configurations(d, K)
    tables = anchor[:, None, None] * statistic
    copies = np.exp(enumeration.log_potentials(configs, graph.edges, tables, node_tables))
    np.testing.assert_allclose(copies, np.rint(copies))
    z = np.repeat(configs, np.rint(copies).astype(int), axis=0).T
    r = graph.n_edges
    arguments = x, graph, statistic, node_tables, np.arange(r), r
    engine = ParticleLikelihood(*arguments, n_particles=z.shape[1], n_sweeps=1)
    engine.set_state(z, anchor, node_tables)
    return engine


def enumerated_shares(graph, eta, statistic, node_tables):
    """Probabilities of the values of f, (edges, L)."""
    pairs = enumeration.marginals(graph.edges, eta[:, None, None] * statistic, node_tables)[1]
    return np.stack([pairs[:, statistic == f].sum(axis=1) for f in np.unique(statistic)], axis=1)


def estimated_shares(view, edge):
    edge_marginal(view, edge)
    return view.share.copy()


@pytest.mark.parametrize("name", CASES)
def test_exhaustive_particles_are_exact(name, rng):
    """Changes of near, touching and own edges, one by one: no sampling error, and nothing left out."""
    x, statistic, node_tables = case(name, rng)
    anchor = np.log([2.0, 1.0, 3.0, 1.0, 2.0])
    if len(statistic) == 3 and node_tables.any():  # fewer copies
        node_tables[2:] = 0.0
        anchor[2] = 0.0 if statistic.max() > 1.0 else anchor[2]
    engine = exhaustive(x, SQUARE, statistic, node_tables, anchor)
    view, eta, terms = engine.view(anchor), anchor.copy(), room_for_terms(engine)
    variances = []
    for e, value in ((0, -0.8), (2, 1.7), (4, 0.2), (0, 2.5)):
        expected = enumerated_shares(SQUARE, eta, statistic, node_tables)
        for edge in range(5):
            spread, variance, size = edge_marginal(view, edge)
            np.testing.assert_allclose(view.share, expected[edge], atol=1e-10)
            mean = expected[edge] @ engine.levels
            assert spread == pytest.approx(expected[edge] @ (engine.levels - mean) ** 2)
            assert 0.0 < size <= 1.0 + 1e-12
            clear(terms)
            describe_particles(view, edge, eta[edge], terms)
            with np.errstate(divide="ignore"):
                lam = np.log(expected[edge]) - engine.levels * eta[edge]
            lam = lam[1] - lam[0] if engine.is_binary else lam
            np.testing.assert_allclose(terms.lam[..., 0], lam, atol=1e-8)
            assert (terms.more[0] > 0.0) == (variance > 1e-20)
            variances.append(variance)
        follow_particles(view, e, eta[e], value)
        eta[e] = value
    assert np.mean(np.array(variances) > 1e-20) > 0.5
    np.testing.assert_array_equal(view.anchor, anchor)
    # control: the same particles, taken to stand for the new parameters
    engine.set_state(view.z.copy(), eta, node_tables)
    unweighted = np.array([estimated_shares(view, edge) for edge in range(5)])
    assert np.abs(unweighted - enumerated_shares(SQUARE, eta, statistic, node_tables)).max() > 0.01


SCORES = np.outer([-1.0, 0.5, 2.0], [-1.0, 0.5, 2.0])
HUBS = PairwiseGraph(range(9), [(0, 1), *((i, j) for i in (0, 1) for j in range(2, 9))])


@pytest.mark.parametrize(
    ("graph", "statistic", "tabulated"),
    [
        (SQUARE, AGREE, True),
        (SQUARE, PRODUCT, True),
        (SQUARE, np.eye(3), True),
        (HUBS, AGREE, False),
        (HUBS, np.eye(3), False),
        (SQUARE, SCORES, True),
        (HUBS, SCORES, False),
    ],
    ids=[
        "agreement",
        "product",
        "three states",
        "hubs",
        "hubs of three states",
        "scores",
        "hubs of scores",
    ],
)
@pytest.mark.parametrize("changed", ["nothing", "own", "near", "all"])
def test_marginal_is_the_weighted_mean_of_conditionals(graph, statistic, tabulated, changed, rng):
    """Tabulated by configurations of the neighbours, or particle by particle where those are many."""
    d, r, K, m = graph.n_nodes, graph.n_edges, len(statistic), 60
    x, node_tables = rng.integers(K, size=(5, d)).astype(np.int8), rng.normal(size=(d, K))
    arguments = x, graph, statistic, node_tables, np.arange(r), r
    engine = ParticleLikelihood(*arguments, n_particles=m, n_sweeps=1)
    anchor = rng.normal(size=r)
    engine.set_state(rng.integers(K, size=(d, m)), anchor, node_tables)
    view = engine.view(anchor)
    assert (particle_kernels.n_configurations(view, 0) > 0) == tabulated
    chunk_of = np.argsort(engine.order) // engine.chunk
    shifts = 0.7 * rng.normal(size=r)
    for e in {0, r - 1}:
        # between chunks the particles move: only edges of one chunk can have changed
        moved = {
            "nothing": [],
            "own": [0],
            "near": [r - 3],
            "all": np.flatnonzero(chunk_of == chunk_of[e]),
        }
        view.eta[:] = anchor
        view.eta[moved[changed]] += shifts[moved[changed]]
        found = edge_marginal(view, e)
        shares, *expected = reference.particle_marginal(
            view.z, e, graph.edges, view.eta, view.anchor, statistic, node_tables
        )
        np.testing.assert_allclose(view.share, shares, atol=1e-10)
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("eta", [300.0, -300.0])
def test_forced_edges_keep_a_finite_logit(eta):
    """Two states, all three edges strong: the others force the first, in either direction."""
    triangle = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
    anchor = 300.0 * np.array([1.0, 1.0, np.sign(eta)])
    x = np.zeros((4, 3), dtype=np.int8)
    arguments = x, triangle, AGREE, np.zeros((3, 2)), np.arange(3), 3
    engine = ParticleLikelihood(*arguments, n_particles=4, n_sweeps=1)
    z = np.zeros((3, 4)) if eta > 0 else np.array([0, 0, 1])[:, None] * np.ones((3, 4))
    engine.set_state(z, anchor, np.zeros((3, 2)))
    terms = allocate_terms(1)
    for e in range(3):
        _, variance, size = edge_marginal(engine.view(anchor), e)
        share = engine.view(anchor).share
        assert share.min() >= 0.0 and share.sum() == pytest.approx(1.0)
        assert variance == 0.0 and size == pytest.approx(1.0)
        clear(terms)
        describe_particles(engine.view(anchor), e, anchor[e], terms)
        assert np.isfinite(terms.lam[0])


def test_uneven_weights_ask_for_new_particles(rng):
    graph = builders.chain(8)
    x = rng.integers(2, size=(30, 8)).astype(np.int8)
    engine = exhaustive(x, graph, AGREE, np.zeros((8, 2)), np.zeros(7))
    view, terms = engine.view(np.zeros(7)), allocate_terms(3)
    describe_particles(view, 0, 0.0, terms)
    assert not follow_particles(view, 0, 0.0, 0.1)
    for e in range(7):
        follow_particles(view, e, 0.0, 8.0)
    describe_particles(view, 0, 8.0, terms)
    assert edge_marginal(view, 0)[2] < 0.1
    assert follow_particles(view, 0, 8.0, 7.0)
    assert engine.least_size < 0.1


def test_nearby_edges_of_a_grid():
    graph = builders.grid(5, 6)
    edges = graph.edges
    distances = dict(nx.all_pairs_shortest_path_length(nx.Graph(edges.tolist())))

    def distance(e, f):
        return min(distances[u][v] for u in edges[e] for v in edges[f])

    everything = np.zeros(graph.n_edges, dtype=np.int64)
    for most, chunk_of in ((6, everything), (1000, everything), (4, np.arange(graph.n_edges) % 3)):
        ptr, near = particle_kernels.nearby_edges(graph.arrays, chunk_of, most)
        for e in range(graph.n_edges):
            found = near[ptr[e] : ptr[e + 1]].tolist()
            apart = {f for f in range(graph.n_edges) if f != e and distance(e, f) > 0}
            apart = {f for f in apart if chunk_of[f] == chunk_of[e]}
            assert set(found) <= apart and len(set(found)) == len(found) == min(most, len(apart))
            reach = [distance(e, f) for f in found]
            assert reach == sorted(reach)
            assert all(distance(e, f) >= reach[-1] for f in apart - set(found))


def test_resampling_is_systematic(rng):
    weights = rng.gamma(2.0, size=50)
    expected, counts = 50 * weights / weights.sum(), []
    for _ in range(2000):
        z = np.tile(np.arange(50, dtype=np.int8), (2, 1))  # states that name the particle
        particle_kernels.resample(z, weights, rng)
        np.testing.assert_array_equal(z[0], np.sort(z[1]))  # copies side by side, all nodes alike
        counts.append(np.bincount(z[1], minlength=50))
        assert np.all(np.abs(counts[-1] - expected) < 1.0)
    assert_mean_close(counts, expected)


def test_noise_correction_is_a_deconvolution(rng):
    """Sharpened, then blurred by the noise, a Gaussian likelihood is itself."""
    ratio, eta = 0.3, np.linspace(-2.0, 2.0, 5)
    power = noise.sharpening(ratio)
    errors = np.sqrt(ratio) * rng.normal(size=(200_000, 1))
    blurred = np.exp(-0.5 * power * (eta - errors) ** 2) * np.sqrt(power)
    assert_mean_close(blurred, np.exp(-0.5 * eta**2))
    assert noise.sharpening(0.9) == noise.sharpening(noise.MAX_NOISE)
