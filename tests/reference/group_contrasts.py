"""Posterior of one edge between two spins without fields, in several groups, over all of its structures."""

from itertools import product

import numpy as np


def structures(counts, contrasts, p_weight, p_difference, sd, half_width=4.0, n_points=81):
    """Probability and mean absolute values of every structure of a common weight and its differences.

    Parameters
    ----------
    counts : (k, 2) array
        Rows of each group in which the spins agree, and differ.
    contrasts : (k, q) array
    p_weight, p_difference, sd : float
        Prior probabilities, and standard deviation of the normal slabs.

    Returns
    -------
    dict
        By tuple of 1 + q zeros and ones: probability, and posterior mean (k,) of abs(weight of the group).
    """
    grid = np.linspace(-half_width * sd, half_width * sd, n_points)
    density = np.exp(-0.5 * (grid / sd) ** 2)
    factors = np.column_stack([np.ones(len(contrasts)), contrasts])
    found = {}
    for structure in product((0, 1), repeat=factors.shape[1]):
        axes = [grid if present else np.zeros(1) for present in structure]
        weights = [density / density.sum() if present else np.ones(1) for present in structure]
        values = np.meshgrid(*axes, indexing="ij")
        mass = np.prod(np.meshgrid(*weights, indexing="ij"), axis=0)
        w = np.tensordot(factors, values, axes=1)  # (k, ...)
        # a pair agrees with probability e^w / (e^w + e^-w)
        log_likelihood = sum(
            -n * np.logaddexp(0, -2 * w[g]) - m * np.logaddexp(0, 2 * w[g])
            for g, (n, m) in enumerate(counts)
        )
        probabilities = [p_weight] + [p_difference] * (len(structure) - 1)
        prior = np.prod(np.where(structure, probabilities, np.subtract(1, probabilities)))
        joint = prior * mass * np.exp(log_likelihood)
        total = joint.sum()
        found[structure] = total, (np.abs(w) * joint).sum(axis=tuple(range(1, w.ndim))) / total
    evidence = sum(total for total, _ in found.values())
    return {structure: (total / evidence, mean) for structure, (total, mean) in found.items()}
