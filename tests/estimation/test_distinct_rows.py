"""Rows that occur several times are counted: estimates are those of the rows one by one."""

import numpy as np
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import sandwich
from pymc_mrf.fields.families import BOLTZMANN, agreement, ordinal
from pymc_mrf.fields.tables import distinct_rows
from pymc_mrf.kernels.estimates import pseudo_likelihood as kernel
from tests.reference import pseudo_likelihood as naive

GRAPH = pmrf.graphs.complete(4)


@pytest.mark.parametrize(
    ("low", "high", "d"), [(0, 3, 3), (-1, 2, 4), (4, 5, 2), (0, 127, 12), (-(2**62), 2**62, 3)]
)
def test_every_row_is_counted_once(low, high, d, rng):
    """Also where the numbers of rows do not fit into 62 bits."""
    x = np.tile(rng.integers(low, high, size=(30, d)), (2, 1))
    x = x.astype(np.int8) if high < 128 else x
    x[-5:] = low
    rows, counts, where = distinct_rows(x)
    expected = np.unique(x, axis=0, return_counts=True, return_inverse=True)
    assert rows.dtype == x.dtype
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(where, expected[1])
    np.testing.assert_array_equal(counts, expected[2])


@pytest.mark.parametrize(
    "family", [agreement(), BOLTZMANN, ordinal([2, 3, 2, 2])], ids=lambda family: family.name
)
def test_the_sandwich_sums_over_all_rows(family, rng):
    x = rng.integers(family.cards or 2, size=(60, 4)).astype(np.int8)  # at most 24 are different
    labels = np.array([0, 1, 2, 0, 1, 2])
    problem = FitProblem(x, GRAPH, family, labels, labels)
    parameters = rng.normal(size=problem.n_parameters)

    def by_row(p):
        return naive.log_pseudo_likelihood(x, GRAPH.edges, *problem.tables(p))

    scores = naive.finite_difference(by_row, parameters)  # (p, n)
    p = problem.n_parameters
    information = np.empty((p, p))
    kernel.pseudo_scores_and_information(
        x, np.ones(60), problem.statistics, *problem.tables(parameters), GRAPH.arrays, np.empty((60, p)),
        information,
    )  # fmt: skip
    half = np.linalg.solve(information, scores)
    np.testing.assert_allclose(sandwich(problem, parameters), half @ half.T, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 300])
def test_rows_side_by_side_are_those_one_by_one(n, rng):
    """Blocks of rows may be cut anywhere; the gradient's value is the weighted sum."""
    graph = pmrf.graphs.complete(5)
    x = rng.integers(0, 2, size=(n, 5)).astype(np.int8)
    edge_tables, node_tables = rng.normal(size=(10, 2, 2)), rng.normal(size=(5, 2))
    out, weights = np.empty(n), rng.normal(size=n)
    kernel.log_pseudo_likelihood(x, edge_tables, node_tables, graph.arrays, out)
    expected = naive.log_pseudo_likelihood(x, graph.edges, edge_tables, node_tables)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    grad_edge, grad_node = np.empty_like(edge_tables), np.empty_like(node_tables)
    arguments = graph.arrays, weights, grad_edge, grad_node
    value = kernel.log_pseudo_likelihood_gradient(x, edge_tables, node_tables, *arguments)
    np.testing.assert_allclose(value, weights @ expected, rtol=1e-11)
    one_by_one = np.zeros((5, 2))
    for c in range(n):
        arguments = graph.arrays, weights[c : c + 1], grad_edge, grad_node
        kernel.log_pseudo_likelihood_gradient(x[c : c + 1], edge_tables, node_tables, *arguments)
        one_by_one += grad_node
    arguments = graph.arrays, weights, grad_edge, grad_node
    kernel.log_pseudo_likelihood_gradient(x, edge_tables, node_tables, *arguments)
    np.testing.assert_allclose(grad_node, one_by_one, atol=1e-12 * n)


def test_nodes_beyond_one_logarithm(rng):
    """Products of factors are flushed before they overflow."""
    d, n = 1100, 3
    graph = pmrf.graphs.chain(d)
    x = rng.integers(0, 2, size=(n, d)).astype(np.int8)
    edge_tables, node_tables = rng.normal(size=(d - 1, 2, 2)), np.zeros((d, 2))
    out = np.empty(n)
    kernel.log_pseudo_likelihood(x, edge_tables, node_tables, graph.arrays, out)
    edges, scores = np.arange(d - 1), np.zeros((n, d, 2))
    scores[:, 1:] += edge_tables[edges, x[:, :-1]]
    scores[:, :-1] += edge_tables[edges, :, x[:, 1:]]
    log_p = scores - special.logsumexp(scores, axis=2, keepdims=True)
    expected = np.take_along_axis(log_p, x[:, :, None].astype(int), axis=2).sum(axis=(1, 2))
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_repeated_data_have_the_same_sparse_path(rng):
    x = rng.integers(0, 2, size=(40, 4))
    once = pmrf.estimation.l1_pseudo_likelihood(x, GRAPH, tolerance=1e-9)
    thrice = pmrf.estimation.l1_pseudo_likelihood(np.tile(x, (3, 1)), GRAPH, tolerance=1e-9)
    np.testing.assert_allclose(once.penalties, thrice.penalties, atol=1e-8)
    np.testing.assert_allclose(once.parameter, thrice.parameter, atol=1e-6)
