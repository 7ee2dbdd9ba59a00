"""Pseudo-likelihood kernels against joint probabilities, finite differences and closed forms."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement, ordinal
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates import pseudo_likelihood as kernel
from tests.reference import enumeration
from tests.reference import pseudo_likelihood as naive

# a triangle with edges given in both orientations, a pendant and an isolated node
GRAPH = PairwiseGraph(range(5), [(0, 1), (2, 1), (2, 0), (3, 2)])


def problem(n_states, rng, n=6):
    edge_tables = rng.normal(size=(GRAPH.n_edges, n_states, n_states))
    node_tables = rng.normal(size=(GRAPH.n_nodes, n_states))
    x = rng.integers(0, n_states, size=(n, GRAPH.n_nodes)).astype(np.int8)
    return x, edge_tables, node_tables


def lpl(x, edge_tables, node_tables, graph=GRAPH):
    out = np.full(len(x), np.nan)
    kernel.log_pseudo_likelihood(x, edge_tables, node_tables, graph.arrays, out)
    return out


@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_equals_ratios_of_joint_probabilities(n_states, rng):
    x, edge_tables, node_tables = problem(n_states, rng)
    expected = naive.log_pseudo_likelihood(x, GRAPH.edges, edge_tables, node_tables)
    np.testing.assert_allclose(lpl(x, edge_tables, node_tables), expected, rtol=1e-12)


def test_without_edges_it_is_the_likelihood(rng):
    graph = PairwiseGraph(range(3), [])
    x = rng.integers(0, 2, size=(5, 3)).astype(np.int8)
    node_tables = rng.normal(size=(3, 2))
    empty = np.empty((0, 2, 2))
    p = enumeration.probabilities(graph.edges, empty, node_tables)
    expected = np.log(p[enumeration.configuration_index(x, 2)])
    np.testing.assert_allclose(lpl(x, empty, node_tables, graph), expected, rtol=1e-12)


@pytest.mark.parametrize("n_states", [2, 3])
def test_gradient_equals_finite_differences(n_states, rng):
    x, edge_tables, node_tables = problem(n_states, rng)
    weights = rng.normal(size=len(x))
    grad_edge = np.full_like(edge_tables, np.nan)
    grad_node = np.full_like(node_tables, np.nan)
    kernel.log_pseudo_likelihood_gradient(
        x, edge_tables, node_tables, GRAPH.arrays, weights, grad_edge, grad_node
    )

    def total(edge, node):
        return weights @ naive.log_pseudo_likelihood(x, GRAPH.edges, edge, node)

    by_edge = naive.finite_difference(lambda t: total(t, node_tables), edge_tables)
    by_node = naive.finite_difference(lambda t: total(edge_tables, t), node_tables)
    np.testing.assert_allclose(grad_edge.ravel(), by_edge, atol=1e-7)
    np.testing.assert_allclose(grad_node.ravel(), by_node, atol=1e-7)


@pytest.mark.parametrize(
    "family",
    [agreement(), agreement(3), ISING, BOLTZMANN, ordinal(3), ordinal([3, 2, 4, 2, 3])],
    ids=repr,
)
def test_scores_and_information_equal_finite_differences(family, rng):
    labels = np.array([0, 1, 0, 1])
    entries = family.node_entries(GRAPH.n_nodes)
    parameters = rng.normal(size=2 + entries.sum())
    columns = np.full(entries.shape, -1)
    columns[entries] = 2 + np.arange(entries.sum())
    x = rng.integers(family.cards or family.n_states, size=(4, GRAPH.n_nodes)).astype(np.int8)

    def tables(p):
        nodes = np.zeros(entries.shape if entries.any() else (GRAPH.n_nodes, 1))
        if entries.any():
            nodes[entries] = p[2:]
        return family.edge_tables(p[:2][labels]), family.node_tables(
            nodes if family.node_axes else nodes[:, 0]
        )

    statistics = kernel.Statistics(labels, family.edge_statistic, columns, family.node_basis)
    scores = np.empty((len(x), len(parameters)))
    information = np.empty((len(parameters), len(parameters)))
    counts = np.array([1.0, 3.0, 1.0, 2.0])

    def evaluate(p):
        kernel.pseudo_scores_and_information(
            x, counts, statistics, *tables(p), GRAPH.arrays, scores, information
        )
        return counts @ scores

    numeric = naive.finite_difference(evaluate, parameters)
    evaluate(parameters)
    by_row = naive.finite_difference(
        lambda p: naive.log_pseudo_likelihood(x, GRAPH.edges, *tables(p)), parameters
    )
    np.testing.assert_allclose(scores, by_row.T, atol=1e-7)
    np.testing.assert_allclose(information, -numeric, atol=1e-7)


def test_impossible_states_have_no_probability_and_no_gradient(rng):
    """A table of -inf is that of a node with fewer states."""
    x, edge_tables, node_tables = problem(3, rng)
    x %= 2
    node_tables[:, 2] = -np.inf
    np.testing.assert_allclose(
        lpl(x, edge_tables, node_tables),
        lpl(x, edge_tables[:, :2, :2].copy(), node_tables[:, :2].copy()),
    )
    grad_edge, grad_node = np.full_like(edge_tables, np.nan), np.full_like(node_tables, np.nan)
    kernel.log_pseudo_likelihood_gradient(
        x, edge_tables, node_tables, GRAPH.arrays, np.ones(len(x)), grad_edge, grad_node
    )
    assert np.all(grad_node[:, 2] == 0.0)
    assert np.all(grad_edge[:, 2] == 0.0) and np.all(grad_edge[:, :, 2] == 0.0)
    x[1, 3] = 2
    out = lpl(x, edge_tables, node_tables)
    assert out[1] == -np.inf
    assert np.isfinite(np.delete(out, 1)).all()


@pytest.mark.parametrize("n_states", [2, 3])
def test_compiled_equals_python(n_states, rng):
    x, edge_tables, node_tables = problem(n_states, rng)
    out = np.empty(len(x))
    kernel.log_pseudo_likelihood.py_func(x, edge_tables, node_tables, GRAPH.arrays, out)
    np.testing.assert_allclose(lpl(x, edge_tables, node_tables), out, rtol=1e-13)


@pytest.mark.parametrize("n_states", [2, 3])
def test_extreme_tables_stay_finite(n_states, rng):
    graph = builders.chain(3)
    edge_tables = agreement(n_states).edge_tables(np.full(2, 800.0))
    node_tables = np.zeros((3, n_states))
    x = np.array([[0, 0, 0], [0, 1, 0]], dtype=np.int8)
    out = lpl(x, edge_tables, node_tables, graph)
    np.testing.assert_allclose(out, [0.0, -3200.0], atol=1e-9)
    grad_edge, grad_node = np.empty_like(edge_tables), np.empty_like(node_tables)
    kernel.log_pseudo_likelihood_gradient(
        x, edge_tables, node_tables, graph.arrays, np.ones(2), grad_edge, grad_node
    )
    assert np.all(np.isfinite(grad_edge))
    assert np.all(np.isfinite(grad_node))
