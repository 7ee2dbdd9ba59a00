"""Posterior of one edge between two spins without fields, in several groups, over all of its structures."""

from itertools import product

import numpy as np


def structures(counts, contrasts, p_weight, p_difference, sd, half_width=4.0, n_points=65):
    """Probability and mean absolute values of every structure of a common weight and its differences.

    Parameters
    ----------
    counts : (k, 2) array
        Rows of each group in which the spins agree, and differ.
    contrasts : (k, q) array
    p_weight, p_difference, sd : float
        Prior probabilities, of the weight and of each difference, and standard deviation of the normal slabs.

    Returns
    -------
    dict
        By tuple of 1 + q zeros and ones: probability, and posterior mean (k,) of abs(weight of the group).
    """
    grid = np.linspace(-half_width, half_width, n_points)
    density = np.exp(-0.5 * grid**2)
    factors = sd * np.column_stack([np.ones(len(contrasts)), contrasts])
    found = {}
    for structure in product((0, 1), repeat=factors.shape[1]):
        # the weights of the groups are a linear map of as many standard normals as their rank
        u, s, _ = np.linalg.svd(factors[:, np.array(structure, dtype=bool)], full_matrices=False)
        root = u[:, s > 1e-9] * s[s > 1e-9]
        mass = np.ones(1)
        w = np.zeros((len(contrasts), 1))
        for column in root.T:
            mass = np.outer(mass, density / density.sum()).ravel()
            w = (w[:, :, None] + np.multiply.outer(column, grid)[:, None]).reshape(len(w), -1)
        # a pair agrees with probability e^w / (e^w + e^-w)
        log_likelihood = sum(
            -n * np.logaddexp(0, -2 * w[g]) - m * np.logaddexp(0, 2 * w[g])
            for g, (n, m) in enumerate(counts)
        )
        probabilities = [p_weight] + [p_difference] * (len(structure) - 1)
        prior = np.prod(np.where(structure, probabilities, np.subtract(1, probabilities)))
        joint = prior * mass * np.exp(log_likelihood)
        total = joint.sum()
        found[structure] = total, np.abs(w) @ joint / total
    evidence = sum(total for total, _ in found.values())
    return {structure: (total / evidence, mean) for structure, (total, mean) in found.items()}


def partition(structure, contrasts):
    """Class of each group, in order of appearance, in a structure of `structures`."""
    rows = [tuple(row) for row in np.asarray(contrasts)[:, np.array(structure[1:], dtype=bool)]]
    return tuple(list(dict.fromkeys(rows)).index(row) for row in rows)
