"""Partial correlations against those of the covariance; what is refused."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from tests.analysis.posteriors import as_posterior
from tests.reference.gaussian import precision

GRAPH = pmrf.PairwiseGraph("abc", [("a", "b"), ("b", "c")])
W = np.array([[[0.4, 0.0], [-0.3, 0.2]]])  # (1, 2, 2)
DIAGONAL = np.array([[[1.0, 1.5, 0.7], [2.0, 1.0, 1.0]]])


def test_they_are_correlations_of_residuals():
    idata = as_posterior(W, GRAPH.edge_labels, diagonal=DIAGONAL)
    found = pmrf.partial_correlations(idata, "theta", "diagonal", GRAPH)
    assert found.dims == ("chain", "draw", "edge")
    np.testing.assert_array_equal(found.edge, GRAPH.edge_labels)
    for k in range(2):
        S = np.linalg.inv(precision(GRAPH.edges.tolist(), W[0, k], DIAGONAL[0, k]))
        for e, (u, v) in enumerate(GRAPH.edges):
            [rest] = {0, 1, 2} - {u, v}
            pair = np.ix_([u, v], [u, v])
            C = S[pair] - np.outer(S[[u, v], rest], S[[u, v], rest]) / S[rest, rest]
            expected = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
            np.testing.assert_allclose(found[0, k, e], expected, atol=1e-12)
    assert found[0, 0, 1] == 0.0  # absent edges stay absent
    idata["posterior"]["partial"] = found
    table = pmrf.summarize_edges(idata, "partial", graph=GRAPH)
    assert table.loc["b--c", "inclusion"] == 0.5


def test_a_known_diagonal():
    idata = as_posterior(W, GRAPH.edge_labels)
    found = pmrf.partial_correlations(idata, "theta", [4.0, 1.0, 1.0], GRAPH)
    np.testing.assert_allclose(found, W / [2.0, 1.0])
    np.testing.assert_allclose(pmrf.partial_correlations(idata, "theta", 2.0, GRAPH), W / 2.0)


@pytest.mark.parametrize(
    ("diagonal", "message"),
    [
        ("nothing", "has no variable 'nothing'"),
        ("theta", r"theta has the shape \(2,\), but the graph has 3 nodes"),
        ([1.0, -1.0, 1.0], "diagonal has the value -1, but the diagonal of a precision is positive"),
        ("log_diagonal", "log_diagonal has the value -1, but the diagonal of a precision is positive"),
    ],
)
def test_bad_diagonals(diagonal, message):
    idata = as_posterior(W, GRAPH.edge_labels, log_diagonal=np.full((1, 2, 3), -1.0))
    with pytest.raises(ValueError, match=message):
        pmrf.partial_correlations(idata, "theta", diagonal, GRAPH)
