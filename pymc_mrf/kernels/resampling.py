"""Systematic resampling of weighted particles (Kitagawa, 1996)."""

from pymc_mrf.kernels._jit import lean


@lean
def fill_ancestors(weights, scale, position, ancestor):
    """Fill `ancestor` (m,) with the particles that become copies: those of one lie side by side.

    `weights` (N,): those of the particles are the first m of them. `scale`: m divided by their sum.
    `position`: a uniform draw from [0, 1). `ancestor` (m,) int64: result.
    """
    m = ancestor.shape[0]
    parent, reach = 0, weights[0] * scale
    for j in range(m):
        while reach < j + position and parent < m - 1:
            parent += 1
            reach += weights[parent] * scale
        ancestor[j] = parent
