"""Tables of a pairwise field as tree sampling takes them: odds, agreements, probabilities or logarithms.

Messages are products; which numbers they are made of depends on the tables, and is chosen by
`representation`:

- "odds" of binary fields, without any transcendental function in a sweep;
- "agreement", for a few chains of a field whose edges only ask whether the states of their ends agree, as
  do Potts fields: one number per edge, and a message takes K operations instead of K ** 2;
- "scaled", probabilities of K states;
- "log", the tables themselves, for couplings too strong for the others and for impossible pairs of states.

Edges that all have the same table keep it once: that is what is read most.

In all functions `edge_tables` (r, K, K) and `node_tables` (1 or m, d, K) are the log tables of a field with
`edges` (r, 2).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part

RANGE = 120.0
"""Largest sum of the ranges of the edge tables around one node outside the log domain: products of
messages then stay within the range of floating-point numbers (odds within exp(300 + 2 * 120))."""

FEW = 4
"""How many chains are moved in tiles, at least."""


class Potentials(NamedTuple):
    """Tables of a field in one representation.

    Attributes
    ----------
    form : {"odds", "agreement", "scaled", "log"}
    edges : array
        "odds": (t,), the ratio of the odds of a node given a neighbour in state 1 and in state 0, t being
        1 or the number of edges. "agreement": (t,), the weight of agreement. "scaled": (t, 2, K, K), of
        which [e, k, s, a] is that of state s of the edge's end k and a of the other one.
    nodes : array
        Its last axis are the chains, or has length one: (d, m) odds of state 1, all neighbours in state
        0, or (d, K, m), proportional to probabilities. Under "log" the log tables themselves.
    """

    form: str
    edges: np.ndarray
    nodes: np.ndarray


@part
def table_of(link, n_tables):
    """Return the number of the table of the edge of `link`: there is one for each, or one for all."""
    return link >> 1 if n_tables > 1 else 0


@jit
def survey(edge_tables, edges, load):
    """Add the ranges (largest less smallest entry) of the tables around each node to `load` (d,).

    Returns `equal`: whether all edges have the same table; `agree`: whether the entries of each table
    depend on the agreement of the two states only.
    """
    agree, width, n_states = True, 0.0, edge_tables.shape[1]
    cells, n_unequal = edge_tables.reshape(-1), 0
    for i in range(n_states * n_states, cells.shape[0]):  # a loop that is vectorised
        n_unequal += cells[i] != cells[i - n_states * n_states]
    for e in range(edges.shape[0]):
        if e == 0 or n_unequal > 0:
            low, high = np.inf, -np.inf
            for a in range(n_states):
                for b in range(n_states):
                    cell = edge_tables[e, a, b]
                    low, high = min(low, cell), max(high, cell)
                    agree &= cell == edge_tables[e, 0, 0 if a == b else 1]
            width = high - low
        load[edges[e, 0]] += width
        load[edges[e, 1]] += width
    return n_unequal == 0, agree


def _equal_and_form(edge_tables, node_tables, edges, n_chains):
    load = np.zeros(node_tables.shape[1])
    equal, agree = survey(np.ascontiguousarray(edge_tables), edges, load)
    if not load.max() <= RANGE:  # infinite, or not a number where all pairs are impossible
        return equal, "log"
    if node_tables.shape[2] == 2 and node_tables.min() > -np.inf:
        return equal, "odds"
    return equal, "agreement" if agree and n_chains < FEW else "scaled"


def representation(edge_tables, node_tables, edges, n_chains):
    """Choose the form; arguments as for `tree_potentials`."""
    return _equal_and_form(edge_tables, node_tables, edges, n_chains)[1]


def tree_potentials(edge_tables, node_tables, edges, n_chains, form=None):
    """`Potentials` for `n_chains` chains moved together, in the representation chosen, or in `form`.

    `edge_tables` (r, K, K): log tables, the first index being the state of the first end. `node_tables`
    (1, d, K) or (m, d, K): shared by all chains, or one table per chain. `edges` (r, 2).
    """
    equal, chosen = _equal_and_form(edge_tables, node_tables, edges, n_chains)
    form = form or chosen
    if form == "log":
        return Potentials(form, edge_tables, node_tables)
    m, d, n_states = node_tables.shape
    t = 1 if equal and len(edges) else len(edges)
    if form == "odds":
        ratio, base = np.empty(t), np.empty((d, m))
        binary_log_odds(edge_tables, node_tables, edges, ratio, base)
        return Potentials(form, _exp(ratio), _exp(base))
    phi = np.empty((d, n_states, m))
    log_nodes(node_tables, phi)
    if form == "agreement":
        return Potentials(form, np.exp(edge_tables[:t, 0, 0] - edge_tables[:t, 0, 1]), _exp(phi))
    psi = np.empty((t, 2, n_states, n_states))
    log_edges(edge_tables, psi)
    return Potentials(form, _exp(psi), _exp(phi))


def _exp(a):
    """Exponential in place, by numpy, whose loop is vectorised: several times as fast as in a kernel."""
    return np.exp(a, out=a)


@jit
def binary_log_odds(edge_tables, node_tables, edges, ratio, base):
    """Log odds of state 1: `ratio` (1 or r,) per edge to a neighbour in state 1, `base` (d, 1 or m) by node.

    Log odds of a node beyond 300 are beyond the resolution of a uniform random number, whatever the
    neighbours do; they are kept at 300.
    """
    shift = np.zeros(base.shape[0])
    for e in range(edges.shape[0]):
        low = edge_tables[e, 0, 0]
        shift[edges[e, 0]] += edge_tables[e, 1, 0] - low
        shift[edges[e, 1]] += edge_tables[e, 0, 1] - low
    for e in range(ratio.shape[0]):
        t = edge_tables[e]
        ratio[e] = t[1, 1] - t[1, 0] - t[0, 1] + t[0, 0]
    for i in range(base.shape[0]):
        for c in range(base.shape[1]):
            h = node_tables[c, i, 1] - node_tables[c, i, 0] + shift[i]
            base[i, c] = min(max(h, -300.0), 300.0)


@jit
def log_edges(edge_tables, psi):
    """Log tables `psi` (1 or r, 2, K, K) of edges with largest entry zero, by either end."""
    n_states = psi.shape[2]
    for e in range(psi.shape[0]):
        top = -np.inf
        for a in range(n_states):
            for b in range(n_states):
                top = max(top, edge_tables[e, a, b])
        for a in range(n_states):
            for b in range(n_states):
                psi[e, 0, a, b] = psi[e, 1, b, a] = edge_tables[e, a, b] - top


@jit
def log_nodes(node_tables, phi):
    """Log tables `phi` (d, K, 1 or m) of nodes with largest entry zero."""
    n_states = phi.shape[1]
    for i in range(phi.shape[0]):
        for c in range(phi.shape[2]):
            top = -np.inf
            for a in range(n_states):
                top = max(top, node_tables[c, i, a])
            for a in range(n_states):
                phi[i, a, c] = node_tables[c, i, a] - top
