"""Moments of the shares of all states, from binary counters of many chains at once."""

import numpy as np
import pytest

from pymc_mrf.kernels.simulation import packed_states, state_counts, states_gibbs

EDGES = np.array([[0, 1], [2, 1], [0, 2]])


@pytest.mark.parametrize(
    ("n_states", "n_chains", "n_sweeps"),
    [
        (2, 7, 50),
        (4, 7, 50),
        (2, 64, 15),
        (3, 130, 16),
        (2, 512, 40),
        (3, 500, 20),
        (2, 1024, 17),
        (3, 64, 1),
        (2, 9, 300),
    ],
)
def test_moments_are_those_of_the_shares(n_states, n_chains, n_sweeps, rng):
    x = rng.integers(n_states, size=(n_sweeps, 3, n_chains)).astype(np.int8)
    x[:, 0, 0] = 1  # a counter that is full
    counters = state_counts.allocate(3, 3, n_states, n_chains, n_sweeps)
    states = counters.states.flat.reshape(-1, n_states - 1, 3, counters.n_words)
    for done in range(0, n_sweeps, len(states)):
        states[:] = 0
        for words, now in zip(states, x[done:], strict=False):
            for a in range(1, n_states):
                packed_states.pack_columns((now == a).view(np.int8), words[a - 1])
        state_counts.count_states(counters, EDGES)
    of_nodes, of_pairs = np.empty((2, 3, n_states)), np.empty((2, 3, n_states, n_states))
    state_counts.fill_moments(counters, EDGES, n_chains, n_sweeps, of_nodes, of_pairs)

    counted = state_counts.node_counts(counters, n_chains)
    np.testing.assert_array_equal(counted[:, 0], (x == 1).sum(axis=0))
    every = np.arange(n_states)
    is_in = x[:, :, None] == every[:, None]  # sweeps, nodes, states, chains
    u, v = EDGES.T
    both = is_in[:, u][:, :, :, None] & is_in[:, v][:, :, None]
    for (mean, squares), shares in ((of_nodes, is_in.mean(axis=0)), (of_pairs, both.mean(axis=0))):
        np.testing.assert_allclose(mean, shares.mean(axis=-1), rtol=1e-13)
        np.testing.assert_allclose(squares, shares.var(axis=-1) * n_chains, atol=1e-11)


@pytest.mark.parametrize("n_chains", [3, 64, 65, 300])
def test_blocks_of_chains_are_packed_without_missing_chains(n_chains, rng):
    n_blocks = -(-n_chains // states_gibbs.BLOCK)
    z = rng.integers(4, size=(n_blocks, 5, states_gibbs.BLOCK)).astype(np.int8)
    x = np.concatenate(z, axis=1)[:, :n_chains]
    words = np.full((3, 5, state_counts.allocate(5, 0, 4, n_chains, 1).n_words), 7, dtype=np.uint64)
    states_gibbs.pack_blocks(z, n_chains, words)
    expected = np.zeros_like(words)
    for a in range(1, 4):
        packed_states.pack_columns((x == a).view(np.int8), expected[a - 1])
    np.testing.assert_array_equal(words, expected)
