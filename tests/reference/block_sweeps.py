"""Transition matrices of sweeps over blocks of nodes, from the probabilities of the blocks' states."""

import numpy as np


def sweep_matrix(probability, configs, partition):
    """Transition matrix of one sweep over the blocks, given probability(z, b)."""
    matrix = np.eye(len(configs))
    for b, block in enumerate(partition):
        step = np.zeros_like(matrix)
        others = np.setdiff1d(np.arange(configs.shape[1]), block)
        for k, z in enumerate(configs):
            for l in np.flatnonzero(np.all(configs[:, others] == z[others], axis=1)):
                step[k, l] = probability(configs[l], b)
        np.testing.assert_allclose(step.sum(axis=1), 1.0, atol=1e-12)
        matrix = matrix @ step
    return matrix
