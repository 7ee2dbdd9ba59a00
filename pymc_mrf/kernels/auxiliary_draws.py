"""Sufficient statistics of auxiliary data sets, drawn from a field whose edge parameters change all the time.

`draw_statistics` is what auxiliary-variable moves need of a simulation: sums of f over as many rows as
were observed. How they are drawn is fixed beforehand, in `Auxiliary.kind`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.coupling_from_the_past import perfect_draws_packed
from pymc_mrf.kernels.dense_gibbs import gibbs_sweeps_dense
from pymc_mrf.kernels.gibbs import binary_form, gibbs_sweeps
from pymc_mrf.kernels.junction_tree import collect
from pymc_mrf.kernels.junction_tree_counts import draw_edge_statistics
from pymc_mrf.kernels.packed_gibbs import gibbs_sweeps_packed
from pymc_mrf.kernels.pair_counts import pair_counts, pair_counts_packed
from pymc_mrf.kernels.states_gibbs import gibbs_sweeps_states_blocked

EXACT, PERFECT, PACKED, DENSE, STATES, PLAIN = range(6)
"""Counts down a junction tree; coupling from the past; and four kernels for Gibbs chains that start at the
data, see `pymc_mrf.fields.simulation.GibbsSimulator`."""

MAX_SWEEPS = 2**14
"""Horizon at which coupling from the past gives up."""


class Auxiliary(NamedTuple):
    """What drawing the statistics of an auxiliary data set needs; parts that `kind` does not use are small.

    Attributes
    ----------
    kind : int
        `EXACT`, `PERFECT`, `PACKED`, `DENSE`, `STATES` or `PLAIN`.
    n : int
        Rows of the data.
    n_sweeps : int
        Sweeps of the Gibbs chains.
    statistic : (K, K) array with values in {0, 1}
        Table of f.
    tables : (r K K + d K,) array
        Log tables, edges first; those of the edges are overwritten.
    order : (r,) int64 array
        Order in which a sampler should visit edges.
    graph : GraphArrays
    pairs : (r, K, K) int64 array
        Counts of state pairs, overwritten.
    mirrored : bool
        `EXACT`: see `junction_tree_counts`.
    tree : TreeArrays
    work : Workspace
    focus : Focus
    counts : (T,) array
        `EXACT`.
    x, z : (n, d) int8 arrays
        The data, and room for rows.
    plan : PackedPlan
    packed : PackedTables
    words, z_words : (d, W) uint64 arrays
        `PACKED`: the data, and room.
    failed : (1,) bool array
        Set when coupling from the past gave up.
    """

    kind: int
    n: int
    n_sweeps: int
    statistic: np.ndarray
    tables: np.ndarray
    order: np.ndarray
    graph: Any
    pairs: np.ndarray
    mirrored: bool
    tree: Any
    work: Any
    focus: Any
    counts: np.ndarray
    x: np.ndarray
    z: np.ndarray
    plan: Any
    packed: Any
    words: np.ndarray
    z_words: np.ndarray
    failed: np.ndarray


@jit
def set_edge_tables(aux, eta):
    """Write the log tables of the edges at `eta` (r,)."""
    flat = aux.statistic.ravel()
    size = flat.shape[0]
    for e in range(eta.shape[0]):
        for c in range(size):
            aux.tables[e * size + c] = eta[e] * flat[c]


@jit
def simulate_pairs(aux, n_edges, rng):
    """Simulate a data set at the present log tables and count its state pairs into ``aux.pairs``."""
    k = aux.statistic.shape[0]
    n_cells = n_edges * k * k
    edge_tables = aux.tables[:n_cells].reshape(n_edges, k, k)
    node_tables = aux.tables[n_cells:].reshape(aux.x.shape[1], k)
    if aux.kind == PACKED:
        aux.z_words[:] = aux.words
        gibbs_sweeps_packed(
            aux.z_words, edge_tables, node_tables, aux.graph, aux.plan, aux.packed, aux.n_sweeps, rng
        )
        pair_counts_packed(aux.z_words, aux.n, aux.graph.edges, aux.pairs)
        return
    aux.z[:] = aux.x
    if aux.kind == PERFECT:
        weight, bias = binary_form(edge_tables, node_tables, aux.graph.edges)
        seed = np.uint64(rng.integers(0, 1 << 62))
        if perfect_draws_packed(aux.z, weight, bias, aux.graph, MAX_SWEEPS, seed) < aux.n:
            aux.failed[0] = True
    elif aux.kind == DENSE:
        weight, bias = binary_form(edge_tables, node_tables, aux.graph.edges)
        gibbs_sweeps_dense(aux.z, weight, bias, aux.graph, aux.n_sweeps, rng)
    elif aux.kind == STATES:
        gibbs_sweeps_states_blocked(aux.z, edge_tables, node_tables, aux.graph, aux.n_sweeps, rng)
    else:
        gibbs_sweeps(aux.z, edge_tables, node_tables, aux.graph, aux.n_sweeps, rng)
    pair_counts(aux.z, aux.graph.edges, aux.pairs)


@jit
def draw_statistics(aux, eta, out, rng):
    """Sum f over an auxiliary data set drawn at `eta` (r,), into `out` (r,)."""
    set_edge_tables(aux, eta)
    if aux.kind == EXACT:
        collect(aux.tree, aux.tables, aux.work)
        draw_edge_statistics(
            aux.tree,
            aux.work,
            aux.statistic.ravel(),
            float(aux.n),
            aux.mirrored,
            aux.counts,
            out,
            rng,
        )
        return
    simulate_pairs(aux, eta.shape[0], rng)
    for e in range(eta.shape[0]):
        out[e] = np.sum(aux.statistic * aux.pairs[e])
