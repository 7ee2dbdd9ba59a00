"""Counts of state pairs, packed and by rows."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation import packed_states
from pymc_mrf.kernels.simulation.pair_counts import (
    count_moments,
    count_states_of_chains,
    pair_counts,
    pair_counts_packed,
    population_count,
)

EDGES = np.array([[0, 1], [2, 1], [0, 2]])


def test_population_counts(rng):
    words = [0, 1, 2**63, 2**64 - 1, *rng.integers(0, 2**64, size=100, dtype=np.uint64).tolist()]
    assert [int(population_count(np.uint64(w))) for w in words] == [w.bit_count() for w in words]


@pytest.mark.parametrize("m", [1, 64, 513, 1000])
def test_packed_counts_are_counts_of_rows(m, rng):
    graph = builders.grid(3, 3)
    x = (rng.random((m, 9)) < 0.3).astype(np.int8)
    z = np.empty((9, packed_states.n_words(m)), dtype=np.uint64)
    packed_states.pack(x, z)
    rows, packed = np.empty((2, graph.n_edges, 2, 2), dtype=np.int64)
    pair_counts(x, graph.edges, rows)
    pair_counts_packed(z, m, graph.edges, packed)
    np.testing.assert_array_equal(packed, rows)
    for e, (u, v) in enumerate(graph.edges):
        assert rows[e, 1, 0] == np.sum((x[:, u] == 1) & (x[:, v] == 0))
    assert np.all(rows.sum((1, 2)) == m)


@pytest.mark.parametrize(
    ("n_states", "n_chains", "n_sweeps"), [(2, 7, 50), (4, 7, 50), (3, 130, 16), (2, 9, 300), (3, 64, 1)]
)
def test_moments_are_those_of_the_shares(n_states, n_chains, n_sweeps, rng):
    x = rng.integers(n_states, size=(n_sweeps, 3, n_chains)).astype(np.int8)
    x[:, 0, 0] = 1
    k = n_states - 1
    nodes, pairs = np.zeros((3, k, n_chains), np.int32), np.zeros((3, k, k, n_chains), np.int32)
    for done in range(0, n_sweeps, 255):  # bytes count no more sweeps at once
        count_states_of_chains(x[done : done + 255], EDGES, nodes, pairs)
    of_nodes, of_pairs = np.empty((2, 3, n_states)), np.empty((2, 3, n_states, n_states))
    count_moments(nodes, pairs, EDGES, n_sweeps, of_nodes, of_pairs)
    np.testing.assert_array_equal(nodes[:, 0], (x == 1).sum(axis=0))
    every = np.arange(n_states)
    is_in = x[:, :, None] == every[:, None]  # sweeps, nodes, states, chains
    u, v = EDGES.T
    both = is_in[:, u][:, :, :, None] & is_in[:, v][:, :, None]
    for (mean, squares), shares in ((of_nodes, is_in.mean(axis=0)), (of_pairs, both.mean(axis=0))):
        np.testing.assert_allclose(mean, shares.mean(axis=-1), rtol=1e-13)
        np.testing.assert_allclose(squares, shares.var(axis=-1) * n_chains, atol=1e-11)
