"""Kernels that others build on, called as plain Python: next to nothing is compiled for them."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.kernels import cone
from pymc_mrf.kernels.views.weighted_particles import fill_ancestors
from pymc_mrf.likelihood import data_counts
from tests.reference.gaussian import precision

EDGES = [(0, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize("position", [0.0, 0.37, 0.99])
def test_particles_are_copied_as_often_as_their_weights_say(position, rng):
    """Systematic resampling: rounded up or down, and in order."""
    weights, m = rng.gamma(0.5, size=12), 12
    ancestor = np.empty(m, dtype=np.int64)
    fill_ancestors.py_func(weights, m / weights.sum(), position, ancestor)
    expected = m * weights / weights.sum()
    copies = np.bincount(ancestor, minlength=m)
    assert (np.abs(copies - expected) < 1).all() and copies.sum() == m
    assert (np.diff(ancestor) >= 0).all()


def precisions(rng):
    """Two of three nodes that share the weights, the second by other factors; and their terms."""
    w, b = np.array([0.3, -0.2, 0.1]), np.array([1.0, 1.4, 0.8])
    factors = np.array([1.0, 0.5])
    K = np.array([precision(EDGES, f * w, b) for f in factors])
    ends = np.repeat(np.array(EDGES), 2, axis=0)
    first, block = np.arange(0, 7, 2), np.tile([0, 1], 3)
    weights = cone.ConeTerms(first, block, *ends.T.copy(), np.tile(factors, 3))
    nodes = np.repeat(np.arange(3), 2)
    diagonals = cone.ConeTerms(first, block, nodes, nodes, np.ones(6))
    return K, np.linalg.inv(K), np.empty((3, 3)), w, b, weights, diagonals


def at(e, x, w, b, factors=(1.0, 0.5)):
    """Least eigenvalue of both precisions with weight e at `x`."""
    moved = np.where(np.arange(3) == e, x, w)
    return min(np.linalg.eigvalsh(precision(EDGES, f * moved, b))[0] for f in factors)


@pytest.mark.parametrize("e", range(3))
def test_limits_of_the_cone_and_moves_within(e, rng):
    K, S, L, w, b, weights, _ = precisions(rng)
    low, high = cone.limits.py_func(e, w[e], weights, S)
    assert at(e, low + 1e-6, w, b) > 0 > at(e, low - 1e-6, w, b)
    assert at(e, high - 1e-6, w, b) > 0 > at(e, high + 1e-6, w, b)
    cone.move.py_func(e, 0.5 * (high - w[e]), weights, K, S, L)
    w[e] += 0.5 * (high - w[e])
    np.testing.assert_allclose(K, [precision(EDGES, f * w, b) for f in (1.0, 0.5)])
    np.testing.assert_allclose(S, np.linalg.inv(K))
    log_det = cone.fill_inverse.py_func(K[0], S[0], L)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(K[0])[1])


@pytest.mark.slow
def test_walks_stay_in_the_cone_and_take_what_is_inside(rng):
    K, S, L, w, b, weights, diagonals = precisions(rng)
    candidates, of_diagonals = rng.normal(0, 0.8, (40, 3)), rng.gamma(2.0, size=(40, 3))
    low, high, before = np.empty(3), np.empty(3), w.copy()
    walk = cone.walk.py_func
    assert walk(K, S, L, weights, w, candidates, diagonals, b, of_diagonals, low, high)
    np.testing.assert_allclose(K, [precision(EDGES, f * w, b) for f in (1.0, 0.5)], atol=1e-10)
    assert at(0, w[0], w, b) > 0 and (w != before).any()
    assert np.isin(w, np.append(candidates, before)).all()
    outside = np.array([np.eye(3), -np.eye(3)])
    assert not walk(outside, S, L, weights, w, candidates, diagonals, b, of_diagonals, low, high)


def test_columns_of_rows_and_of_rows_with_those_before():
    graph = pmrf.graphs.complete(3)
    found = data_counts.columns_of(np.zeros((5, 3)), graph)
    np.testing.assert_array_equal(found.ends, graph.edges)
    assert not found.is_arrow.any()
    lagged = pmrf.LaggedGraph(range(3), [(0, 1), (2, 2)], (1,), [(0, 2)])
    x = np.arange(6)[None]  # of three nodes now, then of the row before
    found = data_counts.columns_of(x, lagged)
    np.testing.assert_array_equal(found.nodes, [0, 1, 2, 0, 1, 2])
    named = {
        label: tuple(ends) for label, ends in zip(lagged.edge_labels, found.ends.tolist(), strict=True)
    }
    assert {named["0->1"], named["2->2"]} == {(1, 3), (2, 5)}  # to the node, from the row before
    assert named["0--2"] == (0, 2)
    assert dict(zip(lagged.edge_labels, found.is_arrow, strict=True))["0--2"] == np.False_
    np.testing.assert_array_equal(data_counts.present_rows(x, lagged), [[0, 1, 2]])
