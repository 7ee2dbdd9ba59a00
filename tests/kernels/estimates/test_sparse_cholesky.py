"""Sparse factors, determinants and their slopes against dense ones."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.elimination import cholesky_pattern
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.sparse_cholesky import log_determinant_and_slopes

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
