"""Sums over some variables of a field, by listing and by the junction tree, against enumeration."""

import numpy as np
import pytest
from scipy.special import logsumexp

from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels.junction_trees import clamped_field as kernels
from pymc_mrf.kernels.junction_trees.junction_tree import allocate_workspace
from tests.reference.factor_graph import weights

CARDS = [2, 3, 2, 2, 3, 2]
TREE = JunctionTree([(0, 1), (2, 1), (4, 2, 3), (4, 5)], CARDS)
LINKS = factor_links(FactorGraph(TREE.scopes, CARDS))


@pytest.mark.parametrize("scale", [1.0, 400.0])  # the second in logs
@pytest.mark.parametrize("excluded", [False, True])
def test_sums_are_those_of_enumeration(scale, excluded, rng):
    shapes = [[CARDS[v] for v in scope] for scope in TREE.scopes]
    tables = [scale * rng.standard_normal(shape) for shape in shapes]
    if excluded:
        tables[0][1, 2] = tables[2][0, 0, 1] = -np.inf
    flat = np.concatenate([table.ravel() for table in tables])
    z = np.array([rng.integers(k, size=60) for k in CARDS], dtype=np.int8).T.copy()
    z[np.arange(60)[:, None] % 7 > np.argsort(rng.random(z.shape))] = -1  # from none to all
    z[0, :2] = 1, 2
    expected = np.empty(60)
    listed = weights(TREE.scopes, CARDS, tables)
    configurations, logs = np.array(list(listed)), np.array(list(listed.values()))
    for c, row in enumerate(z):
        agrees = ((configurations == row) | (row < 0)).all(axis=1)
        expected[c] = logsumexp(logs[agrees])
    assert (expected == -np.inf).any() == excluded
    work, out, states = allocate_workspace(TREE.arrays), np.empty(60), np.empty(6, dtype=np.int64)
    kernels.clamped_log_partitions(z, TREE.arrays, LINKS, flat, work, out)
    by_listing = [kernels.sum_over_states(row, LINKS, flat, states) for row in z]
    by_tree = [kernels.sum_by_tree(row, TREE.arrays, flat, work) for row in z]
    for values in (out, by_listing, by_tree):
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
