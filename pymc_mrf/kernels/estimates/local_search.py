"""Local search: modes of pairwise fields, and configurations of factor graphs of positive probability.

Modes are decoded from max-product messages, or found by iterated conditional modes (Besag, 1986).

A configuration of positive probability is found by WalkSAT of Selman, Kautz & Cohen (1994). A factor
whose table is -inf at the present states is *violated*. One violated factor after the other is taken at
random, and one of its variables gets the state that leaves the fewest factors violated, or, now and
then, any other state. Only log tables that are -inf matter, not how large the others are. The states are
`z` (d,), log tables `tables` (T,) one after the other, of which `cells` (F,) are the present ones, and
`free` (d,) the variables that may change.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.factor_cells import present_cells
from pymc_mrf.kernels.simulation.gibbs import add_edge, conditional_scores

NEGLIGIBLE = 1e-12
"""Relative gain that may be rounding; without it two equal states could take turns for ever."""

NOISE = 0.3
"""Probability of a random change."""

CHANGES = 1000
"""Changes per variable after which a search for a possible configuration is given up."""


@jit
def decode(z, messages, edge_tables, node_tables, graph, order):
    """Give each node in turn its best state, from the states of earlier and the messages of later nodes.

    On a forest, with converged max-product messages and roots first, this is a mode even where several
    configurations are most probable.

    `z` (d,) int8: overwritten. `messages` (2, r, K): as in
    `pymc_mrf.kernels.estimates.belief_propagation.pairwise_passes`. `edge_tables` (r, K, K),
    `node_tables` (d, K) and `order` (d,) int.
    """
    z[:] = -1
    scores = np.empty(node_tables.shape[1])
    for i in order:
        scores[:] = node_tables[i]
        for k in range(graph.indptr[i], graph.indptr[i + 1]):
            e, b = graph.edge_ids[k], z[graph.neighbors[k]]
            if b < 0:
                scores += messages[1 if graph.edges[e, 0] == i else 0, e]
            else:
                add_edge(scores, i, k, b, edge_tables, graph)
        z[i] = np.argmax(scores)


@jit
def iterated_conditional_modes(z, edge_tables, node_tables, graph):
    """Give each node of `z` (d,) int8 its best state given the others, in place, until none changes.

    The field has log tables `edge_tables` (r, K, K) and `node_tables` (d, K).
    """
    scores = np.empty(node_tables.shape[1])
    changes = True
    while changes:
        changes = False
        for i in range(z.shape[0]):
            conditional_scores(scores, z, i, edge_tables, node_tables, graph)
            best, now = np.argmax(scores), scores[z[i]]
            if now == -np.inf:
                improves = scores[best] > now
            else:
                improves = scores[best] - now > NEGLIGIBLE * (1.0 + abs(now))
            if improves:
                z[i] = best
                changes = True


@jit
def change_of_violations(i, a, z, cells, tables, links):
    """Violated factors gained if variable i takes state a."""
    gained = 0
    for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
        f = links.factor[links.link[k]]
        new = cells[f] + (a - z[i]) * links.stride[links.link[k]]
        gained += (tables[new] == -np.inf) - (tables[cells[f]] == -np.inf)
    return gained


@jit
def pick_change(f, z, free, cells, tables, links, rng):
    """Free variable of factor f and its new state; variable -1 if none is free."""
    best, n_best, variable, state = 0, 0, -1, 0
    random = rng.random() < NOISE
    for k in range(links.factor_ptr[f], links.factor_ptr[f + 1]):
        i = links.variable[k]
        if not free[i]:
            continue
        for a in range(links.cards[i]):
            if a == z[i]:
                continue
            gained = 0 if random else change_of_violations(i, a, z, cells, tables, links)
            if n_best == 0 or gained < best:
                best, n_best = gained, 0
            if gained == best:
                n_best += 1
                if rng.random() * n_best < 1.0:
                    variable, state = i, a
    return variable, state


@jit
def make_possible(z, free, tables, links, n_changes, rng):
    """Change the free variables of `z` until no factor is violated.

    `z` (d,) int8: state indices, changed in place. `free` (d,) bool. `tables` (T,): log tables of all
    factors one after the other. `links` (FactorLinks). `n_changes`: largest number of changes. Returns
    bool: whether `z` has positive probability now.
    """
    n_factors = links.table_ptr.shape[0] - 1
    cells = np.empty(n_factors, dtype=np.int64)
    present_cells(cells, z, links)
    violated, at = np.empty(n_factors, dtype=np.int64), np.full(n_factors, -1)
    n = 0
    for f in range(n_factors):
        if tables[cells[f]] == -np.inf:
            violated[n], at[f] = f, n
            n += 1
    for _ in range(n_changes):
        if n == 0:
            return True
        i, a = pick_change(
            violated[int(rng.random() * n)], z, free, cells, tables, links, rng
        )  # fmt: skip
        if i < 0:
            return False
        for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
            f = links.factor[links.link[k]]
            cells[f] += (a - z[i]) * links.stride[links.link[k]]
            if tables[cells[f]] == -np.inf:
                if at[f] < 0:
                    violated[n], at[f] = f, n
                    n += 1
            elif at[f] >= 0:
                n -= 1
                last = violated[n]
                violated[at[f]], at[last] = last, at[f]
                at[f] = -1
        z[i] = a
    return n == 0
