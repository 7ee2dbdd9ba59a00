"""Sufficient statistics of auxiliary data sets, drawn from a field whose edge parameters change all the time.

`draw_statistics` is what auxiliary-variable moves need of a simulation: sums of f over as many rows as
were observed. Compiled, it draws them exactly, down a junction tree, which also tells the distribution of the
statistic of one edge alone. Moves that the interpreter runs (their ``py_func``) take any object that has
`draw_statistics`, `order` and `by_edge`: one that simulates rows takes longer than the interpreter.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import call_chosen, jit
from pymc_mrf.kernels.groups.edge_terms import sigmoid
from pymc_mrf.kernels.junction_trees.junction_tree import collect
from pymc_mrf.kernels.junction_trees.junction_tree_focus import (
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.papers.kernels.junction_tree_counts import binomial, draw_edge_statistics


class ExactDraws(NamedTuple):
    """Counts down a junction tree.

    Attributes
    ----------
    statistic : (K, K) array with values in {0, 1}
        Table of f.
    tables : (r K K + d K,) array
        Log tables, edges first; those of the edges are overwritten.
    order : (r,) int64 array
        Order in which a sampler should visit edges.
    n : float
        Rows of the data.
    mirrored : bool
        See `junction_tree_counts`.
    tree : TreeArrays
    work : Workspace
    focus : Focus
    counts : (T,) array
    log_table, delta : (K K,) arrays
        Room for work.
    by_edge : bool
        Whether the statistic of one edge can be drawn alone, by `prepare_edges` and what follows there.
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
