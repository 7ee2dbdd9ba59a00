"""Partial correlations against those of the covariance; what is refused."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from tests.analysis.posteriors import as_posterior
from tests.mixed_fields import GRAPH as MIXED
from tests.mixed_fields import KINDS, WEIGHT
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
        ([1.0, -1.0, 1.0], "diagonal has the value -1; name the variable"),
        ("log_diagonal", "log_diagonal has the value -1 and .* more; .* precision, which is positive"),
    ],
)
def test_bad_diagonals(diagonal, message):
    idata = as_posterior(W, GRAPH.edge_labels, log_diagonal=np.full((1, 2, 3), -1.0))
    with pytest.raises(ValueError, match=message):
        pmrf.partial_correlations(idata, "theta", diagonal, GRAPH)


def mixed(**others):
    return as_posterior(np.array([[WEIGHT, 2.0 * WEIGHT]]), KINDS.entry_labels(MIXED), **others)


def test_edges_between_the_measurements_of_a_mixed_field():
    found = pmrf.partial_correlations(
        mixed(d=np.array([[[1.0, 4.0], [9.0, 1.0]]])), "theta", "d", MIXED, kinds=KINDS
    )
    assert found.dims == ("chain", "draw", "edge")
    assert found["edge"].values.tolist() == ["age--income"]
    w = WEIGHT[KINDS.entry_labels(MIXED).index("age--income")]
    np.testing.assert_allclose(found.values.ravel(), [w / 2.0, 2.0 * w / 3.0])


def test_what_is_no_mixed_field():
    with pytest.raises(ValueError, match=r"theta has 14 entries.*10 edges.*MixedMRF, say kinds="):
        pmrf.partial_correlations(mixed(), "theta", 1.0, MIXED)
    of_edges = as_posterior(np.ones((1, 2, 10)), MIXED.edge_labels)
    with pytest.raises(ValueError, match=r"the graph has 5 nodes: .*MixedMRF, say kinds="):
        pmrf.partial_correlations(of_edges, "theta", [1.0, 1.0], MIXED)
    with pytest.raises(ValueError, match=r"shape \(3,\), but the graph has 2 measurements"):
        pmrf.partial_correlations(mixed(), "theta", np.ones(3), MIXED, kinds=KINDS)
    with pytest.raises(TypeError, match=r"kinds must be what pymc_mrf.column_kinds\(table\) found"):
        pmrf.partial_correlations(mixed(), "theta", 1.0, MIXED, kinds=["continuous"] * 5)
    without = pmrf.PairwiseGraph(KINDS.names, [("sex", "age")])
    with pytest.raises(ValueError, match="no edge of the graph is between two measurements"):
        pmrf.partial_correlations(as_posterior(np.ones((1, 2, 1))), "theta", 1.0, without, kinds=KINDS)
