"""Blocks of parameters where a view knows the table of the pair of nodes: what its answers share.

A block multiplies the probabilities of the states of the pair by exp(x c), c (W, K K) the tables of its
centred statistics, so that the pair's marginal without the block gives the likelihood over the whole range of
x. It is that of the junction tree (`exact_edges`), or of weighted points of a sample (`monte_carlo_edges`).

In all functions values `x` (W,), `old` and `new` (W,), sums of statistics `s` (W,), slopes `g` (W,) and
information `H` (W, W) are as in `block_edges`, and log probabilities `log_p` (K K,) and tables `table` (K
K,) those of a pair.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.log_scores import normalise_logs
from pymc_mrf.kernels.views.questions import rows_of


@lean
def fill_table(field, first, x, table):
    """Log table x c of the block that begins at parameter `first`, into `table` (K K,)."""
    for k in range(table.shape[0]):
        table[k] = 0.0
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            for k in range(table.shape[0]):
                table[k] += x[i] * field.cells[first + i, k]


@lean
def pair_gain(field, first, x, log_p, s, n, room):
    """Log-likelihood gained by moving a block from 0 to x; `room.p` are the pair's probabilities then.

    `log_p` (K K,): log probabilities of the pair at 0; `s` (W,): sums of the statistics over n rows.
    """
    fill_table(field, first, x, room.table)
    top, z, value = -np.inf, 0.0, 0.0
    for k in range(log_p.shape[0]):
        top = max(top, log_p[k] + room.table[k])
    for k in range(log_p.shape[0]):
        room.p[k] = np.exp(log_p[k] + room.table[k] - top)
        z += room.p[k]
    for k in range(log_p.shape[0]):
        room.p[k] /= z
    for i in range(x.shape[0]):
        value += x[i] * s[i]
    return value - n * (top + np.log(z))


@lean
def fill_pair_moments(field, first, width, s, n, room, g, H):
    """Score and information of a block where the pair has the probabilities `room.p`."""
    for i in range(width):
        g[i] = 0.0
        for k in range(room.p.shape[0]):
            g[i] += room.p[k] * field.cells[first + i, k]
    for i in range(width):
        for j in range(i + 1):
            value = 0.0
            for k in range(room.p.shape[0]):
                value += room.p[k] * field.cells[first + i, k] * field.cells[first + j, k]
            H[i, j] = n * (value - g[i] * g[j])
            H[j, i] = H[i, j]
    for i in range(width):
        g[i] = s[i] - n * g[i]


@lean
def take_table_off(whole, view, e, x, log_p):
    """Take the block's table off the pair's log probabilities `log_p`; score and information at 0."""
    field, room, first = whole.field, view.room, view.field.first[e]
    fill_table(field, first, x, room.table)
    for k in range(log_p.shape[0]):
        log_p[k] -= room.table[k]
    normalise_logs(log_p)
    for k in range(log_p.shape[0]):
        room.p[k] = np.exp(log_p[k])
    s, n = whole.data.s[first : first + x.shape[0]], rows_of(whole, first)
    fill_pair_moments(field, first, x.shape[0], s, n, room, room.score, room.information)
