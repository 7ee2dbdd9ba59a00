"""The Dirichlet process by the book: enumeration of partitions, sequential predictive probabilities."""

import math

import numpy as np


def set_partitions(n):
    """All partitions of n items as tuples of labels in order of appearance (Bell(n) of them)."""
    partitions = [()]
    for _ in range(n):
        partitions = [(*labels, k) for labels in partitions for k in range(max(labels, default=-1) + 2)]
    return partitions


def crp_probability(labels, alpha):
    """Probability of a partition as a product of seating probabilities, one customer at a time."""
    p = 1.0
    for i, k in enumerate(labels):
        before = sum(other == k for other in labels[:i])
        p *= (before if before else alpha) / (i + alpha)
    return p


def log_density(theta, alpha, log_g0):
    """Log density of a tied vector: predictive probability of each entry given the earlier ones."""
    total = 0.0
    for i, value in enumerate(theta):
        before = sum(other == value for other in theta[:i])
        total += math.log(before if before else alpha) - math.log(i + alpha)
        if not before:
            total += log_g0(value)
    return total


def labels_of(theta):
    """Labels in order of appearance for a tied vector."""
    seen = {}
    return tuple(seen.setdefault(float(value), len(seen)) for value in np.asarray(theta))
