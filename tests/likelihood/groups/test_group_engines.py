"""Engines that can be computed: joint log-likelihoods by enumeration, gradients, curvatures, draws."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, agreement, ordinal
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.pseudo_groups import ROWS
from pymc_mrf.likelihood.exact.exact_edges import ExactGroups, ForestGroups
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoGroups
from tests.reference import edge_views as reference
from tests.reference import enumeration
from tests.statistics import Z, assert_frequencies

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
TREE = builders.chain(4)
ENTRIES = {5: np.array([4, 1, 5, 0, 3]), 3: np.array([4, 0, 2])}  # of 6 parameters

CASES = [
    pytest.param(ExactGroups, SQUARE, agreement(), True, id="exact"),
    pytest.param(ExactGroups, SQUARE, agreement(3), True, id="exact, three states"),
    pytest.param(ExactGroups, SQUARE, BOLTZMANN, True, id="exact, product"),
    pytest.param(ForestGroups, TREE, agreement(), False, id="forest"),
    pytest.param(ForestGroups, TREE, agreement(3), False, id="forest, three states"),
    pytest.param(PseudoGroups, SQUARE, agreement(), True, id="pseudo"),
    pytest.param(PseudoGroups, SQUARE, agreement(3), True, id="pseudo, three states"),
    pytest.param(PseudoGroups, SQUARE, BOLTZMANN, True, id="pseudo, product"),
]


def make(kind, graph, family, biased, rng, n=40):
    K = family.n_states
    x = rng.integers(K, size=(n, 4)).astype(np.int8)
    x[: n // 2, 1] = x[: n // 2, 0]
    node_tables = rng.normal(size=(4, K)) if biased else np.zeros((4, K))
    entries = ENTRIES[graph.n_edges]
    return kind(x, graph, family, node_tables, entries, 6), x, node_tables


@pytest.mark.parametrize(("kind", "graph", "family", "biased"), CASES)
def test_other_data_are_taken(kind, graph, family, biased, rng):
    engine, x, node_tables = make(kind, graph, family, biased, rng)
    other = rng.integers(family.n_states, size=x.shape).astype(np.int8)
    fresh = kind(other, graph, family, node_tables, engine.entries, 6)
    eta = rng.normal(size=6)
    before = engine.log_likelihood(eta)[0]
    engine.set_data(other)
    for found, expected in zip(engine.log_likelihood(eta), fresh.log_likelihood(eta), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    found, expected = engine.view(eta), fresh.view(eta)
    np.testing.assert_array_equal(found.s, expected.s)  # what the sweep over the labels asks
    if kind is PseudoGroups:
        for own, other in zip(found.edges.rows, expected.edges.rows, strict=True):
            np.testing.assert_array_equal(own, other)
    assert before != engine.log_likelihood(eta)[0]


def numeric_gradient(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize(("kind", "graph", "family", "biased"), CASES)
def test_log_likelihood_and_gradient(kind, graph, family, biased, rng):
    engine, x, node_tables = make(kind, graph, family, biased, rng)
    pseudo = kind is PseudoGroups
    log_density = reference.log_pseudo_likelihood if pseudo else reference.log_likelihood
    gaps = []
    for eta in rng.normal(size=(3, 6)):
        value, gradient = engine.log_likelihood(eta)
        expected = log_density(x, graph.edges, eta[engine.entries], engine.statistic, node_tables)
        gaps.append(value - expected)
        numeric = numeric_gradient(lambda v: engine.log_likelihood(v)[0], eta)
        np.testing.assert_allclose(gradient, numeric, atol=1e-5)
        free = np.setdiff1d(np.arange(6), engine.entries)
        assert np.all(gradient[free] == 0.0) and np.all(gradient[engine.entries] != 0.0)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)  # up to one constant


@pytest.mark.parametrize(("kind", "graph", "family", "biased"), CASES)
def test_grouped_is_the_chain_rule(kind, graph, family, biased, rng):
    engine, _, _ = make(kind, graph, family, biased, rng)
    labels, values = np.array([0, 1, 0, 2, 1, 0]), rng.normal(size=3)
    grouped = engine.grouped(labels, values)
    assert grouped(values)[0] == engine.log_likelihood(values[labels])[0]
    numeric = numeric_gradient(lambda v: engine.log_likelihood(v[labels])[0], values)
    np.testing.assert_allclose(grouped(values)[1], numeric, atol=1e-5)


@pytest.mark.parametrize(("kind", "graph", "family", "biased"), [CASES[0], CASES[2], CASES[6]])
def test_node_tables_can_be_exchanged(kind, graph, family, biased, rng):
    engine, x, node_tables = make(kind, graph, family, biased, rng)
    eta, other = rng.normal(size=6), rng.normal(size=node_tables.shape)
    before = engine.log_likelihood(eta)[0]
    engine.set_node_tables(other)
    after, gradient = engine.log_likelihood(eta)
    fresh = kind(x, graph, family, other, engine.entries, 6)
    assert after == pytest.approx(fresh.log_likelihood(eta)[0])
    np.testing.assert_allclose(gradient, fresh.log_likelihood(eta)[1])
    assert abs(after - before) > 0.1


@pytest.mark.parametrize(
    "family", [agreement(), agreement(3), BOLTZMANN], ids=["two", "three", "product"]
)
def test_curvature_of_the_pseudo_likelihood(family, rng):
    """Minus the derivative of the gradient by group values, at what was learnt."""
    engine, _, _ = make(PseudoGroups, SQUARE, family, True, rng)
    labels, eta = np.array([0, 1, 0, 2, 1, 0]), rng.normal(size=3)
    engine.learn(eta[labels], rng)
    grouped, h = engine.grouped(labels, eta), 1e-5
    expected = [-(grouped(eta + h * e)[1] - grouped(eta - h * e)[1]) / (2.0 * h) for e in np.eye(3)]
    found = engine.information(labels, 3)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # that of other parameters is another
    engine.learn(eta[labels] + 1.0, rng)
    assert np.abs(engine.information(labels, 3) - found).max() > 0.1


def test_curvature_is_summed_over_any_number_of_rows(rng):
    """And over nodes without edges, and those that lack a state."""
    graph = PairwiseGraph(range(9), [*((i, (i + 1) % 8) for i in range(8)), (0, 4)])
    x = rng.integers(3, size=(2500, 9)).astype(np.int8)
    node_tables = rng.normal(size=(9, 3))
    x[:, 2], node_tables[2, 2] = x[:, 2] % 2, -np.inf
    assert len(np.unique(x, axis=0)) > 2 * ROWS
    engine = PseudoGroups(x, graph, ordinal(3, [0.0, 1.0, 2.5]), node_tables, np.arange(9), 9)
    labels, eta = np.array([0, 1, 0, 2, 1, 0, 0, 1, 2]), 0.3 * rng.normal(size=3)
    engine.learn(eta[labels], rng)
    grouped, h = engine.grouped(labels, eta), 1e-5
    expected = [-(grouped(eta + h * e)[1] - grouped(eta - h * e)[1]) / (2.0 * h) for e in np.eye(3)]
    np.testing.assert_allclose(engine.information(labels, 3), expected, rtol=1e-6)


@pytest.mark.parametrize("family", [agreement(), BOLTZMANN], ids=["agreement", "product"])
def test_curvature_and_draws_of_the_exact_engine(family, rng):
    engine, _, node_tables = make(ExactGroups, SQUARE, family, True, rng)
    labels, eta = np.array([0, 1, 0, 2, 1, 0]), rng.normal(size=3)
    tables = eta[labels][engine.entries][:, None, None] * engine.statistic
    p = enumeration.probabilities(SQUARE.edges, tables, node_tables)
    z = engine.draw(eta[labels], 20_000, rng)
    counts = np.bincount(enumeration.configuration_index(z, 2), minlength=16)
    assert_frequencies(counts, p)
    engine.learn(eta[labels], rng)
    grouped, h = engine.grouped(labels, eta), 1e-5
    expected = [-(grouped(eta + h * e)[1] - grouped(eta - h * e)[1]) / (2.0 * h) for e in np.eye(3)]
    found = engine.information(labels, 3)
    # standard errors of covariances, from the products of the sums of the groups
    sums = np.array([engine.reference[labels[engine.entries] == k].sum(axis=0) for k in range(3)])
    sums = sums - sums.mean(axis=1, keepdims=True)
    error = 40 * (sums[:, None] * sums[None]).std(axis=2) / np.sqrt(sums.shape[1])
    shrinkage = 3 / sums.shape[1] * np.abs(expected)
    assert np.all(np.abs(found - expected) < Z * error + shrinkage)
    # another covariance, that of other parameters, is told apart
    other = -(grouped(eta + 2.0 + h)[1] - grouped(eta + 2.0 - h)[1]) / (2.0 * h)
    assert np.any(np.abs(found.sum(axis=1) - other) > 3 * Z * error.sum(axis=1))
    assert np.linalg.eigvalsh(found).min() > 0.0


def test_curvature_of_forests_is_at_the_pooled_frequencies(rng):
    engine, _, _ = make(ForestGroups, TREE, agreement(3), False, rng)
    labels = np.array([0, 1, 0, 0, 1, 0])
    groups = labels[engine.entries]
    trials = np.bincount(groups, minlength=2) * 40.0
    p = (np.bincount(groups, engine.s, minlength=2) + 0.5) / (trials + 1.0)
    np.testing.assert_allclose(engine.information(labels, 2), np.diag(trials * p * (1.0 - p)))
