"""The log-partition function of a field by a sample at a reference, without data: see `weighted_sample`."""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.views.weighted_sample import (
    Sample,
    allocate_sample,
    fill_shares,
    slope_by_bias,
    slope_by_edge,
    weigh,
)


class FieldStatistics(NamedTuple):
    """What the weights of a sample depend on, of a field.

    Attributes
    ----------
    edges, products, features, basis, centre
        As in `questions.Field`.
    """

    edges: np.ndarray
    products: np.ndarray
    features: np.ndarray
    basis: np.ndarray
    centre: np.ndarray


@jit
def log_partition_by_sample(
    natural,
    edges,
    products,
    features,
    basis,
    sampled,
    states,
    place,
    gap,
    excess,
    apart,
    limit,
    gradient,
):
    """Evaluate the log-partition function of one field, less that at the reference, and its gradient.

    Parameters
    ----------
    natural : (p,) array
        Where. Edges first; nodes as they are, not centred.
    edges : (r, 2) int64 array
    products : (r, L, 2) int64 array
    features : (d, M, K) array
    basis : (q, K) array
    sampled : (M, d, m) float32 array
        Features of the sample.
    states : (d, m) int8 array
    place, gap, excess, apart, limit : arrays
        As in `Sample`.
    gradient : (p,) array
    """
    (M, d, m), r = sampled.shape, edges.shape[0]
    field = FieldStatistics(edges, products, features, basis, np.zeros((r, 2, M)))
    sample = Sample(
        np.full(1, m), np.array([0, d]), np.array([0, r]), np.zeros(d, np.int64), states, sampled, place, gap,
        excess, apart, limit,
    )  # fmt: skip
    at, room = allocate_sample(sample.size, d, natural.shape[0], basis.shape[1])
    weigh(field, sample, at, room, natural[:r], natural[r:])
    fill_shares(sample, at, room.counts, 0)
    for e in range(r):
        gradient[e] = slope_by_edge(field, sample, at, e)
    for i in range(natural.shape[0] - r):
        gradient[r + i] = slope_by_bias(basis, at, r, i)
    return at.log_A[0]
