"""Blocks of parameters where a view knows the table of the pair of nodes: answers to `block_edges`.

A block multiplies the probabilities of the states of the pair by exp(x c), c (W, K K) the tables of its
centred statistics, so that the pair's marginal without the block gives the likelihood over the whole range of
x. It is that of the junction tree (`exact_edges`), or of weighted points of a sample (`monte_carlo_edges`).

In all functions values `x` (W,), `old` and `new` (W,), sums of statistics `s` (W,), slopes `g` (W,) and
information `H` (W, W) are as in `block_edges`, and log probabilities `log_p` (K K,) and tables `table` (K
K,) those of a pair.
"""

import numpy as np

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.junction_trees.junction_tree_focus import factor_log_table, update_factor
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views.exact_edges import TreeEdges, normalise_logs, rows_of
from pymc_mrf.kernels.views.monte_carlo_edges import (
    MonteCarloEdges,
    block_of,
    tabulate_pair,
    wall,
)
from pymc_mrf.kernels.views.sample_sums import add_row
from pymc_mrf.kernels.views.weighted_sample import multiply_pair


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


@blocks.take_out.register(TreeEdges)
def take_block_out_of_tree(whole, view, e, x):
    """Read the marginal table of the pair, and take the block's table off."""
    factor_log_table(whole.tree, whole.focus, e, whole.log_p)
    take_table_off(whole, view, e, x, whole.log_p)


@blocks.block_terms.register(TreeEdges)
def block_terms_of_table(whole, view, e, x, g, H):
    field, first = whole.field, view.field.first[e]
    s, n = whole.data.s[first : first + x.shape[0]], rows_of(whole, first)
    value = pair_gain(field, first, x, whole.log_p, s, n, view.room)
    fill_pair_moments(field, first, x.shape[0], s, n, view.room, g, H)
    return value


@blocks.block_gain.register(TreeEdges)
def block_gain_of_table(whole, view, e, x):
    field, first = whole.field, view.field.first[e]
    s = whole.data.s[first : first + x.shape[0]]
    return pair_gain(field, first, x, whole.log_p, s, rows_of(whole, first), view.room)


@blocks.follow_block.register(TreeEdges)
def follow_block_in_tree(whole, view, e, old, new):
    """Change the clique in focus."""
    room, move = view.room, view.room.move[: new.shape[0]]
    for i in range(new.shape[0]):
        move[i] = new[i] - old[i]
    fill_table(whole.field, view.field.first[e], move, room.table)
    update_factor(whole.tree, whole.focus, e, room.table)


@blocks.take_out.register(MonteCarloEdges)
def take_block_out_of_sample(whole, view, e, x):
    """Count the weighted states of the pair, and take the block's table off; slopes of the cumulants at 0."""
    sample, data, room, first = whole.sample, whole.data, view.room, view.field.first[e]
    whole.pair.looked[0], whole.pair.looked[1] = first, 0
    tabulate_pair(whole, 0.0)
    take_table_off(whole, view, e, x, whole.pair.log_p)
    n = rows_of(whole, first)
    for i in range(x.shape[0]):
        tilt = whole.at.slope[first + i]
        if sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                tilt -= np.float64(sample.excess[first + i, first + j]) * x[j]
        room.sums[i] = data.s[first + i] - n * tilt
        _, bend, stiffness = wall(whole, first + i, 0.0)
        room.score[i] -= n * tilt + bend
        room.information[i, i] += stiffness


@lean
def correction(whole, first, x):
    """Log-likelihood that the second cumulants and the walls of a block add at x, relative to 0."""
    sample, value, n = whole.sample, 0.0, rows_of(whole, first)
    for i in range(x.shape[0]):
        value -= wall(whole, first + i, x[i])[0] - wall(whole, first + i, 0.0)[0]
        if sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                value -= 0.5 * n * x[i] * x[j] * np.float64(sample.excess[first + i, first + j])
    return value


@blocks.block_gain.register(MonteCarloEdges)
def sampled_block_gain(whole, view, e, x):
    field, room, first = whole.field, view.room, view.field.first[e]
    value = pair_gain(field, first, x, whole.pair.log_p, room.sums, rows_of(whole, first), room)
    return value + correction(whole, first, x)


@blocks.block_terms.register(MonteCarloEdges)
def sampled_block_terms(whole, view, e, x, g, H):
    """Compute the terms from the pair's table; the information is that of the sample alone."""
    field, room, first, n = (
        whole.field,
        view.room,
        view.field.first[e],
        rows_of(whole, view.field.first[e]),
    )
    value = pair_gain(field, first, x, whole.pair.log_p, room.sums, n, room) + correction(
        whole, first, x
    )
    fill_pair_moments(field, first, x.shape[0], room.sums, n, room, g, H)
    for i in range(x.shape[0]):
        _, bend, stiffness = wall(whole, first + i, x[i])
        g[i] -= bend
        H[i, i] += stiffness
        if whole.sample.excess.shape[0] > 0:
            for j in range(x.shape[0]):
                g[i] -= n * np.float64(whole.sample.excess[first + i, first + j]) * x[j]
    return value


@blocks.follow_block.register(MonteCarloEdges)
def follow_block_in_sample(whole, view, e, old, new):
    """Multiply the weights, by factors with mean one, and move the slopes."""
    sample, field, room, first = whole.sample, whole.field, view.room, view.field.first[e]
    k, u, v = block_of(whole, first), field.edges[first, 0], field.edges[first, 1]
    move = room.move[: new.shape[0]]
    for i in range(new.shape[0]):
        move[i] = new[i] - old[i]
    after = pair_gain(field, first, new, whole.pair.log_p, room.zero, 1.0, room)
    before = pair_gain(field, first, old, whole.pair.log_p, room.zero, 1.0, room)
    fill_table(field, first, move, room.table)
    for i in range(room.table.shape[0]):
        whole.room.factor[i] = np.float32(np.exp(room.table[i] + after - before))
    multiply_pair(sample, whole.at, whole.room.factor, u, v, k)
    if sample.excess.shape[0] > 0:
        for i in range(new.shape[0]):
            add_row(sample.excess[first + i], move[i], whole.at.slope)
