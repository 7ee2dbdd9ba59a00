"""What the views of mixed fields have in common: data and the cone.

A view has the attributes `field` (`questions.Field`, whose nodes are the answers, then the measurements,
which have no biases there), `data` (`MixedData`), `layout` (`pymc_mrf.kernels.mixed.Layout` or `NodeKinds`),
`at` with the conditional covariance S (c, c) of the measurements, `w` (P,), `b` and `beta` (a K + c,),
`n_biases`, `look` (1,), a record of `LOOK`, and scratch, `room`, of which is `diagonal` (c,), that of the
precision.

Edges between measurements whose absence would leave the cone of positive definite matrices are present for
certain (`pymc_mrf.kernels.gaussian`).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.gaussian import ABSENT, LIMITS
from pymc_mrf.kernels.mixed import MIXED

LOOK = np.dtype([*LIMITS, ("before", float), ("mean", float), ("variance", float)], align=True)
"""Of the edge looked at: limits, if it is between measurements; log-likelihood without it, or in the middle
of the cone if it cannot be absent, relative to the present; mean and variance of a product of measurements.
"""


class MixedData(NamedTuple):
    """What the rows say of a mixed field of d nodes.

    Attributes
    ----------
    n : (d,) array
        Rows.
    s, sums : (P,) arrays
        What the weights multiply in the log-likelihood, centred, and as it is: sums over rows.
    t : (a K,) array
        Rows in which each answer is in each state.
    squares : (c,) array
        Sums over rows of the squared deviations of the measurements.
    """

    n: np.ndarray
    s: np.ndarray
    sums: np.ndarray
    t: np.ndarray
    squares: np.ndarray


@lean
def measurement_of(view, first, end):
    """Return which measurement is an end of the edge that begins at a parameter."""
    return view.field.edges[first, end] - view.layout.cards.shape[0]


@lean
def find_limits(view, first):
    """Find the limits of a weight between measurements, and whether the edge may be absent."""
    look, S = view.look[0], view.at.S
    i, j = measurement_of(view, first, 0), measurement_of(view, first, 1)
    root = np.sqrt(S[i, i] * S[j, j])
    look.low, look.high = view.w[first] + 1.0 / (S[i, j] - root), view.w[first] + 1.0 / (S[i, j] + root)
    look.may_end = look.low < 0.0 < look.high


def absence_outside_the_cone(whole, view, e, x):
    """Return what the cone says of absence, at value `x` (W,)."""
    is_measured = whole.layout.kind[view.field.first[e]] > MIXED
    return ABSENT if is_measured and x[0] == 0.0 and not whole.look[0].may_end else 0.0
