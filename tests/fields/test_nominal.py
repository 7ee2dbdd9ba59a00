"""Nominal family: contrasts, blocks of parameters and their tables."""

import itertools

import numpy as np
import pytest

from pymc_mrf.fields.families import nominal
from pymc_mrf.fields.family import contrasts

EDGES = np.array([[0, 1], [2, 1], [0, 2]])
N_STATES = [3, 4, 2]


@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_contrasts(n_states):
    F = contrasts(n_states, 5)
    assert F.shape == (4, 5)
    own = F[: n_states - 1, :n_states]
    np.testing.assert_allclose(own @ own.T, np.eye(n_states - 1), atol=1e-12)
    np.testing.assert_allclose(own.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(F[n_states - 1 :], 0.0)
    np.testing.assert_array_equal(F[:, n_states:], 0.0)


@pytest.mark.parametrize("n_states", [3, N_STATES])
def test_tables(n_states, rng):
    family, cards = nominal(n_states), [3, 3, 3] if n_states == 3 else n_states
    sizes = family.block_sizes(EDGES)
    np.testing.assert_array_equal(sizes, [(cards[u] - 1) * (cards[v] - 1) for u, v in EDGES])
    w = rng.normal(size=(2, sizes.sum()))
    K = max(cards)
    tables = family.edge_tables(w, EDGES)
    assert tables.shape == (2, 3, K, K)
    ends = np.cumsum(sizes)
    for s, (e, (u, v)) in itertools.product(range(2), enumerate(EDGES)):
        W = w[s, ends[e] - sizes[e] : ends[e]].reshape(cards[u] - 1, cards[v] - 1)
        U, V = (contrasts(cards[i], K)[: cards[i] - 1] for i in (u, v))
        np.testing.assert_allclose(tables[s, e], U.T @ W @ V, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(tables[s, e]), np.linalg.norm(W))


def test_statistics_are_those_of_the_tables(rng):
    family = nominal(N_STATES)
    pair, _ = family.edge_products(EDGES)
    np.testing.assert_array_equal(np.bincount(pair), family.block_sizes(EDGES))
    w = rng.normal(size=len(pair))
    tables = np.zeros((3, 4, 4))
    np.add.at(tables, pair, w[:, None, None] * family.edge_statistics(EDGES))
    np.testing.assert_allclose(tables, family.edge_tables(w, EDGES), atol=1e-12)


def test_families_without_a_common_statistic():
    with pytest.raises(NotImplementedError, match="no statistic in common"):
        _ = nominal(3).edge_statistic
    assert not nominal(3).measures_agreement
