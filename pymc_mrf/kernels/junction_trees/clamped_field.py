"""Log-partition functions A(x_O) of a field in which some variables O have known states x_O.

They give the probability of these states, whatever the others are: log p(x_O) = A(x_O) - A. The states of the
other variables are listed where they are few, as single missing cells are. Else a pass over the junction tree
of the whole field sums over them (Lauritzen & Spiegelhalter, 1988): entries of the tables of known variables
alone are -inf at all other states.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, lean
from pymc_mrf.kernels.factor_cells import present_cell
from pymc_mrf.kernels.junction_trees.junction_tree import collect

LINKS_PER_CELL = 16
"""Links of factors and variables that take no longer than a cell of the tree takes in a pass."""


@lean
def sum_over_states(z, links, tables, states):
    """A(x_O) by listing, from log `tables` (T,): `z` (d,) is -1 elsewhere; `states` (d,) int64 is scratch."""
    d, top, total = z.shape[0], -np.inf, 0.0
    for i in range(d):
        states[i] = max(z[i], 0)
    while True:
        value = 0.0
        for f in range(links.table_ptr.shape[0] - 1):
            value += tables[present_cell(f, states, links)]
        if value > top:
            total = total * np.exp(top - value) + 1.0
            top = value
        elif value > -np.inf:
            total += np.exp(value - top)
        i = 0  # the next configuration
        while i < d:
            if z[i] < 0:
                states[i] += 1
                if states[i] < links.cards[i]:
                    break
                states[i] = 0
            i += 1
        if i == d:
            return top + np.log(total)


@lean
def sum_by_tree(z, tree, tables, work):
    """A(x_O) by the junction tree, from log `tables` (T,); `z` (d,) is -1 at the other variables."""
    alone = tree.factors.shape[0] - z.shape[0]
    for k in range(tables.shape[0]):
        work.tables[k] = tables[k]
    for i in range(z.shape[0]):
        first = tree.factors[alone + i].first
        for a in range(tree.cards[i]):
            if 0 <= z[i] != a:
                work.tables[first + a] = -np.inf
    return collect(tree, work.tables, work)


@jit
def clamped_log_partitions(z, tree, links, tables, work, out):
    """Write A(x_O) of every row of `z` into `out`.

    `z` (n, d) int8: state indices, -1 where a variable is in any state. `tree`: whose last d factors are
    the variables alone, as those of every `JunctionTree` are. `links`: of the same factors. `tables`
    (T,): log tables of all factors one after the other. `out` (n,).
    """
    states = np.empty(z.shape[1], dtype=np.int64)
    listed = LINKS_PER_CELL * work.conditional.shape[0] / links.variable.shape[0]
    for c in range(z.shape[0]):
        n_states = 1.0
        for i in range(z.shape[1]):
            if z[c, i] < 0:
                n_states *= links.cards[i]
        if n_states <= listed:
            out[c] = sum_over_states(z[c], links, tables, states)
        else:
            out[c] = sum_by_tree(z[c], tree, tables, work)
