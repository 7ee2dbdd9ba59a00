"""Sufficient statistics of auxiliary data sets, drawn from a field whose edge parameters change all the time.

`draw_statistics` is what auxiliary-variable moves need of a simulation: sums of f over as many rows as
were observed. Compiled, it draws them exactly, down a junction tree, which also tells the distribution
of the statistic of one edge alone. Moves that the interpreter runs (their ``py_func``) take any object
that has `draw_statistics`, `order` and `by_edge`: one that simulates rows takes longer than the
interpreter.

Exact draws need no data. After `junction_tree.collect` the field is a directed model, clique by clique.
The joint states of a clique in n independent draws are counts that follow a multinomial distribution,
and given the counts of its separator's states they are one multinomial per state: so all counts are
drawn from the root down, with about one binomial variable per cell instead of n draws of every variable.
Sums of statistics over the n draws are linear in the counts; their joint distribution is exactly that of
a simulated data set.

In a binary field without node terms whose statistic is agreement, a configuration and its mirror image
(every state flipped) have the same probability and the same statistics. Both count as one there, which
halves the work: the mirror image of cell k of a table is cell (size - 1 - k).
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import call_chosen, jit
from pymc_mrf.kernels.groups.edge_terms import sigmoid
from pymc_mrf.kernels.junction_trees.junction_tree import collect, sum_factors
from pymc_mrf.kernels.junction_trees.junction_tree_focus import (
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.junction_trees.junction_tree_loops import SUM, sum_parent
from pymc_mrf.kernels.log_scores import log_add

# numba's own binomial variables take as long where many trials succeed, twice as long where few of many do,
# and 2 to 3 times as long for fewer trials
FEW_TRIALS = 8  # below this many, one uniform per trial is faster than inversion
SMALL_MEAN = 30.0  # up to this mean, inversion is faster than rejection
FAR = 110  # a Binomial variable of such a mean exceeds this with probability below 1e-27


class ExactDraws(NamedTuple):
    """Counts down a junction tree.

    `statistic` (K, K) with values in {0, 1}: table of f. `tables` (r K K + d K,): log tables, edges
    first; those of the edges are overwritten. `order` (r,) int64: order in which a sampler should visit
    edges. `n`: rows of the data. `mirrored`: whether a configuration and its mirror image count as one,
    as said above. `counts` (T,). `log_table` and `delta` (K K,): room for work. `by_edge`: whether the
    statistic of one edge can be drawn alone, by `prepare_edges` and what follows there.
    """

    statistic: np.ndarray
    tables: np.ndarray
    order: np.ndarray
    n: float
    mirrored: bool
    tree: Any
    work: Any
    focus: Any
    counts: np.ndarray
    log_table: np.ndarray
    delta: np.ndarray
    by_edge: bool = True

    def draw_statistics(self, eta, out, rng) -> None:
        """Sum f over a data set drawn at `eta` (r,), into `out` (r,)."""
        draw_exactly(self, eta, out, rng)


@jit
def set_edge_tables(aux, eta):
    """Write the log tables of the edges at `eta` (r,)."""
    flat = aux.statistic.ravel()
    size = flat.shape[0]
    for e in range(eta.shape[0]):
        for c in range(size):
            aux.tables[e * size + c] = eta[e] * flat[c]


@jit
def draw_exactly(aux, eta, out, rng):
    """Draw the sums at `eta` (r,) down the junction tree, without rows, into `out` (r,)."""
    set_edge_tables(aux, eta)
    collect(aux.tree, aux.tables, aux.work)
    draw_edge_statistics(
        aux.tree, aux.work, aux.statistic.ravel(), aux.n, aux.mirrored, aux.counts, out, rng
    )


def draw_statistics(aux: Any, eta: np.ndarray, out: np.ndarray, rng: np.random.Generator) -> None:
    """Sum f over an auxiliary data set drawn at `eta` (r,), into `out` (r,)."""
    aux.draw_statistics(eta, out, rng)


call_chosen(draw_statistics, lambda kind: draw_exactly, allocates=True)


@jit
def prepare_edges(aux, eta):
    """Calibrate the junction tree at `eta` (r,): it knows the probability of every edge."""
    set_edge_tables(aux, eta)
    calibrate(aux.tree, aux.tables, aux.focus)


@jit
def logit_at_zero(aux, e, eta):
    """Logit of P(f = 1) if the parameter of edge e, which is `eta`, were 0.

    Probabilities are added up in logs, because the rest of the field may force the edge.
    """
    factor_log_table(aux.tree, aux.focus, e, aux.log_table)
    one, zero = -np.inf, -np.inf
    flat = aux.statistic.ravel()
    for c in range(flat.shape[0]):
        if flat[c] == 1.0:
            one = log_add(one, aux.log_table[c])
        else:
            zero = log_add(zero, aux.log_table[c])
    return one - zero - eta


@jit
def draw_edge(aux, logit, rng):
    """Draw the statistic of an edge whose P(f = 1) has this logit: one Binomial variable."""
    return binomial(aux.n, sigmoid(logit), rng)


@jit
def follow_edge(aux, e, old, new):
    """Change the parameter of edge e in the clique in focus."""
    flat = aux.statistic.ravel()
    for c in range(flat.shape[0]):
        aux.delta[c] = flat[c] * (new - old)
    update_factor(aux.tree, aux.focus, e, aux.delta)


@jit
def binomial_by_inversion(n, p, rng):
    """Draw from Binomial(n, p), p <= 1/2 and n p <= SMALL_MEAN, by summing probabilities from 0 up."""
    q = 1.0 - p
    odds = p / q
    none = np.exp(n * np.log(q))
    while True:
        u = rng.random()
        px = none
        x = 0.0
        while u > px and x < FAR:
            u -= px
            # a division that need not wait for px
            px *= (n - x) * odds / (x + 1.0)
            x += 1.0
        if x < FAR:  # beyond, u is what rounding left over
            return x


@jit
def binomial(n, p, rng):
    """Draw from Binomial(n, p), `n` a whole number as float, p in [0, 1]; returned as float."""
    if n < FEW_TRIALS:
        count = 0.0
        for _ in range(int(n)):
            if rng.random() < p:
                count += 1.0
        return count
    rarer = min(p, 1.0 - p)
    if n * rarer <= SMALL_MEAN:
        count = binomial_by_inversion(n, rarer, rng)
    else:
        count = float(rng.binomial(int(n), rarer))
    return count if p <= 0.5 else n - count


@jit
def split_counts(conditional, counts, cell, n_rows, n_columns, n, rng):
    """Split `n` draws among the rows of one column, which starts at `cell`, by P(row | column).

    Into `counts` (n_cells,), by the probabilities `conditional` (n_cells,).
    """
    last = n_rows - 1
    while last > 0 and conditional[cell + last * n_columns] == 0.0:
        counts[cell + last * n_columns] = 0.0
        last -= 1
    left = 1.0
    for a in range(last):
        k = cell + a * n_columns
        p = conditional[k]
        counts[k] = binomial(n, min(p / left, 1.0), rng) if n > 0.0 and p > 0.0 else 0.0
        n -= counts[k]
        left -= p
    # the last row with positive probability also takes what rounding leaves over
    counts[cell + last * n_columns] = n


@jit
def draw_counts(tree, work, n, mirrored, rng):
    """Count `n` independent draws in every clique table, into `work.belief`, after `collect`.

    If `mirrored`, some of the draws are replaced by their mirror images, different ones in different
    cliques: statistics that a mirror image shares keep their joint distribution.
    """
    for j in range(tree.cliques.shape[0] - 1, -1, -1):
        clique, message = tree.cliques[j], work.message
        n_columns, stop = clique.n_columns, clique.first + clique.n_cells
        if clique.parent < 0:
            message[0] = n
        else:
            sum_parent(SUM, tree, j, work.belief, work.total, message, work.counter)
        if mirrored:
            for s in range(n_columns // 2):
                message[s] += message[n_columns - 1 - s]
                message[n_columns - 1 - s] = 0.0
        for s in range(n_columns):
            cell = clique.first + s
            if message[s] > 0.0:
                split_counts(
                    work.conditional, work.belief, cell, clique.n_rows, n_columns, message[s], rng
                )
            else:
                for k in range(cell, stop, n_columns):
                    work.belief[k] = 0.0


@jit
def draw_edge_statistics(tree, work, statistic, n, mirrored, counts, out, rng):
    """Sum f over `n` independent draws, for every edge, into `out` (r,), after `collect`.

    `tree`: its first r factors are the edges of a pairwise field. `work`: as `collect` left it; `belief`
    is overwritten. `statistic` (K * K,): f, flat. `mirrored`: whether mirror images have equal
    probability and equal f; see above. `counts` (T,): overwritten by the counts of every factor's
    states. `out` (r,).
    """
    draw_counts(tree, work, n, mirrored, rng)
    sum_factors(tree, work.belief, counts, work.counter)
    size = statistic.shape[0]
    for e in range(out.shape[0]):
        total = 0.0
        for c in range(size):
            total += statistic[c] * counts[e * size + c]
        out[e] = total
