"""Sparse Cholesky factors and inverses against dense ones."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from pymc_mrf.graph import builders
from pymc_mrf.graph.elimination import cholesky_pattern
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.sparse_cholesky import log_determinant_and_slopes, selected_inverse

GRAPHS = {
    "grid": builders.grid(5, 7),
    "complete": builders.complete(6),
    "star and lonely nodes": PairwiseGraph(range(9), [(0, k) for k in range(1, 7)]),
    "edgeless": PairwiseGraph(range(3), []),
    "scattered": PairwiseGraph(range(8), [(7, 2), (1, 5), (2, 0), (6, 7), (0, 6), (4, 1)]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_determinants_and_slopes(name, rng):
    graph = GRAPHS[name]
    d, r, (u, v) = graph.n_nodes, graph.n_edges, graph.edges.T
    w = rng.uniform(-1.0, 1.0, r)
    diagonal = rng.uniform(0.5, 1.0, d) + np.bincount(graph.edges.ravel(), minlength=d)
    K = np.diag(diagonal)
    K[u, v] = K[v, u] = -w
    slopes = np.empty(d + r)
    value = log_determinant_and_slopes(*cholesky_pattern(graph), np.concatenate([diagonal, -w]), slopes)
    S = np.linalg.inv(K)
    np.testing.assert_allclose(value, np.linalg.slogdet(K)[1], atol=1e-10)
    np.testing.assert_allclose(slopes[:d], S.diagonal(), atol=1e-10)
    np.testing.assert_allclose(slopes[d:], 2.0 * S[u, v], atol=1e-10)


def test_outside_of_the_cone():
    graph, slopes = GRAPHS["grid"], np.ones(35 + 58)
    entries = np.concatenate([np.ones(35), np.full(58, -0.6)])
    assert np.isnan(log_determinant_and_slopes(*cholesky_pattern(graph), entries, slopes))
    assert not slopes.any()


def test_fill_in_of_a_lattice_is_little():
    """A dense factor of 900 nodes has 405,450 entries, and takes 122 million multiplications."""
    pattern = cholesky_pattern(builders.grid(30, 30))
    assert len(pattern.rows) < 20_000
    assert (np.diff(pattern.indptr) ** 2).sum() < 1_000_000


def test_entries_in_the_pattern_of_the_factor(rng):
    # a random factor whose pattern is closed: each column passes its rows on to the next in it
    n = 12
    pattern = rng.random((n, n)) < 0.25
    pattern = np.tril(pattern, -1)
    for j in range(n):
        rows = np.flatnonzero(pattern[:, j])
        if len(rows):
            pattern[rows[1:], rows[0]] = True
    lower = np.where(pattern, rng.normal(size=(n, n)), 0.0) + np.eye(n)
    pivots = rng.uniform(0.5, 2.0, n)
    factor = csc_array(lower)
    factor.sort_indices()
    found = np.empty(factor.nnz)
    selected_inverse(factor.indptr, factor.indices, factor.data, pivots, found)
    inverse = np.linalg.inv(lower @ np.diag(pivots) @ lower.T)
    columns = np.repeat(np.arange(n), np.diff(factor.indptr))
    np.testing.assert_allclose(found, inverse[factor.indices, columns], atol=1e-9)
    assert n < factor.nnz < n * (n + 1) // 2  # neither diagonal nor full
