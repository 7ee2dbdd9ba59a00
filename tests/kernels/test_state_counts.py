"""Moments of the shares of all states, from counts without the first one."""

import numpy as np
import pytest

from pymc_mrf.kernels.state_counts import count_moments, count_states


@pytest.mark.parametrize("n_states", [2, 4])
def test_moments_are_those_of_the_shares(n_states, rng):
    edges = np.array([[0, 1], [2, 1], [0, 2]])
    states = rng.integers(n_states, size=(50, 3, 7)).astype(np.int8)  # sweeps, nodes, chains
    shape = (3, n_states - 1, 7)
    nodes, pairs = np.zeros(shape, np.uint8), np.zeros((3, n_states - 1, *shape[1:]), np.uint8)
    for some in np.split(states, [1, 4]):
        count_states(some, edges, nodes, pairs)
    of_nodes, of_pairs = np.empty((2, 3, n_states)), np.empty((2, 3, n_states, n_states))
    count_moments(nodes, pairs, edges, 50, of_nodes, of_pairs)

    every = np.arange(n_states)
    is_in = states[:, :, None] == every[:, None]  # sweeps, nodes, states, chains
    u, v = edges.T
    both = is_in[:, u][:, :, :, None] & is_in[:, v][:, :, None]
    for (mean, squares), shares in ((of_nodes, is_in.mean(axis=0)), (of_pairs, both.mean(axis=0))):
        np.testing.assert_allclose(mean, shares.mean(axis=-1))
        np.testing.assert_allclose(squares, shares.var(axis=-1) * 7, atol=1e-14)
