"""Sufficient statistics of auxiliary data sets, drawn from a field whose edge parameters change all the time.

`draw_statistics` is what auxiliary-variable moves need of a simulation: sums of f over as many rows as
were observed. The type of its first argument says how they are drawn (`by_type`). Exact draws can also be of
one edge alone.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.groups.edge_terms import sigmoid
from pymc_mrf.kernels.junction_trees.junction_tree import collect
from pymc_mrf.kernels.junction_trees.junction_tree_counts import binomial, draw_edge_statistics
from pymc_mrf.kernels.junction_trees.junction_tree_focus import (
    calibrate,
    factor_log_table,
    update_factor,
)
from pymc_mrf.kernels.log_scores import log_add
from pymc_mrf.kernels.simulation.coupling_from_the_past import perfect_draws_packed
from pymc_mrf.kernels.simulation.dense_gibbs import gibbs_sweeps_dense
from pymc_mrf.kernels.simulation.gibbs import binary_form, gibbs_sweeps
from pymc_mrf.kernels.simulation.packed_gibbs import gibbs_sweeps_packed
from pymc_mrf.kernels.simulation.pair_counts import pair_counts, pair_counts_packed
from pymc_mrf.kernels.simulation.states_gibbs import gibbs_sweeps_states_blocked

MAX_SWEEPS = 2**14
"""Horizon at which coupling from the past gives up."""


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


class PackedDraws(NamedTuple):
    """Gibbs chains that start at the data, 64 to a machine word.

    Attributes
    ----------
    statistic, tables, order
        As of `ExactDraws`.
    graph : GraphArrays
    pairs : (r, K, K) int64 array
        Counts of state pairs, overwritten.
    n : int
        Rows of the data.
    n_sweeps : int
    plan : PackedPlan
    packed : PackedTables
    words, z_words : (d, W) uint64 arrays
        The data, and room.
    """

    statistic: np.ndarray
    tables: np.ndarray
    order: np.ndarray
    graph: Any
    pairs: np.ndarray
    n: int
    n_sweeps: int
    plan: Any
    packed: Any
    words: np.ndarray
    z_words: np.ndarray


class PlainDraws(NamedTuple):
    """Gibbs chains that start at the data, by `gibbs.gibbs_sweeps`.

    Attributes
    ----------
    statistic, tables, order, graph, pairs, n_sweeps
        As of `PackedDraws`.
    x, z : (n, d) int8 arrays
        The data, and room for rows.
    """

    statistic: np.ndarray
    tables: np.ndarray
    order: np.ndarray
    graph: Any
    pairs: np.ndarray
    n_sweeps: int
    x: np.ndarray
    z: np.ndarray


class DenseDraws(PlainDraws):
    """The same by `dense_gibbs`."""


class StatesDraws(PlainDraws):
    """The same by `states_gibbs`."""


class PerfectDraws(NamedTuple):
    """Rows by coupling from the past.

    Attributes
    ----------
    statistic, tables, order, graph, pairs
        As of `PackedDraws`.
    z : (n, d) int8 array
        Room for rows.
    failed : (1,) bool array
        Set when coupling from the past gave up.
    """

    statistic: np.ndarray
    tables: np.ndarray
    order: np.ndarray
    graph: Any
    pairs: np.ndarray
    z: np.ndarray
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
def split_tables(aux):
    """Log tables of edges (r, K, K) and of nodes (d, K)."""
    r, K, _ = aux.pairs.shape
    return aux.tables[: r * K * K].reshape(r, K, K), aux.tables[r * K * K :].reshape(-1, K)


@partial(by_type, allocates=True)
def draw_pairs(aux: Any, edge_tables: Any, node_tables: Any, rng: Any) -> Any:
    """Draw a data set and count its state pairs into ``aux.pairs``."""


@draw_pairs.register(PackedDraws)
def draw_pairs_packed(aux, edge_tables, node_tables, rng):
    """All chains move at once."""
    aux.z_words[:] = aux.words
    gibbs_sweeps_packed(
        aux.z_words, edge_tables, node_tables, aux.graph, aux.plan, aux.packed, aux.n_sweeps, rng
    )
    pair_counts_packed(aux.z_words, aux.n, aux.graph.edges, aux.pairs)


@draw_pairs.register(object)
def draw_pairs_of_rows(aux, edge_tables, node_tables, rng):
    """Draw rows of states, and count their state pairs."""
    draw_rows(aux, edge_tables, node_tables, rng)
    pair_counts(aux.z, aux.graph.edges, aux.pairs)


@partial(by_type, allocates=True)
def draw_rows(aux: Any, edge_tables: Any, node_tables: Any, rng: Any) -> Any:
    """Draw the rows ``aux.z``."""


@draw_rows.register(PlainDraws)
def draw_rows_plainly(aux, edge_tables, node_tables, rng):
    """Sweep the rows one after the other."""
    aux.z[:] = aux.x
    gibbs_sweeps(aux.z, edge_tables, node_tables, aux.graph, aux.n_sweeps, rng)


@draw_rows.register(DenseDraws)
def draw_rows_densely(aux, edge_tables, node_tables, rng):
    """Sweep the rows side by side."""
    aux.z[:] = aux.x
    weight, bias = binary_form(edge_tables, node_tables, aux.graph.edges)
    gibbs_sweeps_dense(aux.z, weight, bias, aux.graph, aux.n_sweeps, rng)


@draw_rows.register(StatesDraws)
def draw_rows_in_blocks(aux, edge_tables, node_tables, rng):
    """Sweep the rows as columns of blocks."""
    aux.z[:] = aux.x
    gibbs_sweeps_states_blocked(aux.z, edge_tables, node_tables, aux.graph, aux.n_sweeps, rng)


@draw_rows.register(PerfectDraws)
def draw_rows_perfectly(aux, edge_tables, node_tables, rng):
    """Draw independent rows, or set ``aux.failed``."""
    weight, bias = binary_form(edge_tables, node_tables, aux.graph.edges)
    seed = np.uint64(rng.integers(0, 1 << 62))
    if perfect_draws_packed(aux.z, weight, bias, aux.graph, MAX_SWEEPS, seed) < aux.z.shape[0]:
        aux.failed[0] = True


@partial(by_type, allocates=True)
def draw_statistics(aux: Any, eta: Any, out: Any, rng: Any) -> Any:
    """Sum f over an auxiliary data set drawn at `eta` (r,), into `out` (r,)."""


@draw_statistics.register(ExactDraws)
def draw_statistics_exactly(aux, eta, out, rng):
    """Draw the sums down the junction tree, without rows."""
    set_edge_tables(aux, eta)
    collect(aux.tree, aux.tables, aux.work)
    draw_edge_statistics(
        aux.tree, aux.work, aux.statistic.ravel(), aux.n, aux.mirrored, aux.counts, out, rng
    )


@draw_statistics.register(object)
def draw_statistics_of_rows(aux, eta, out, rng):
    """Sum f over the state pairs of rows drawn at `eta` (r,), into `out` (r,)."""
    set_edge_tables(aux, eta)
    edge_tables, node_tables = split_tables(aux)
    draw_pairs(aux, edge_tables, node_tables, rng)
    for e in range(eta.shape[0]):
        out[e] = np.sum(aux.statistic * aux.pairs[e])


@partial(by_type, allocates=True)
def prepare_edges(aux: Any, eta: Any) -> Any:
    """Whether the statistic of one edge is Binomial, of known probability; prepares that at `eta` (r,)."""


@partial(by_type, allocates=True)
def logit_at_zero(aux: Any, e: int, eta: float) -> Any:
    """Logit of P(f = 1) if the parameter of edge e, which is `eta`, were 0."""


@partial(by_type, allocates=True)
def draw_edge(aux: Any, logit: float, rng: Any) -> Any:
    """Draw the statistic of an edge whose P(f = 1) has this logit."""


@partial(by_type, allocates=True)
def follow_edge(aux: Any, e: int, old: float, new: float) -> Any:
    """Change the parameter of edge e in what `logit_at_zero` asks."""


@prepare_edges.register(ExactDraws)
def calibrate_edges(aux, eta):
    """Calibrate the junction tree: it knows the probability of every edge."""
    set_edge_tables(aux, eta)
    calibrate(aux.tree, aux.tables, aux.focus)
    return True


@logit_at_zero.register(ExactDraws)
def exact_logit_at_zero(aux, e, eta):
    """Add up probabilities in logs, because the rest of the field may force the edge."""
    factor_log_table(aux.tree, aux.focus, e, aux.log_table)
    one, zero = -np.inf, -np.inf
    flat = aux.statistic.ravel()
    for c in range(flat.shape[0]):
        if flat[c] == 1.0:
            one = log_add(one, aux.log_table[c])
        else:
            zero = log_add(zero, aux.log_table[c])
    return one - zero - eta


@draw_edge.register(ExactDraws)
def draw_binomial(aux, logit, rng):
    """Draw one Binomial variable."""
    return binomial(aux.n, sigmoid(logit), rng)


@follow_edge.register(ExactDraws)
def follow_in_tree(aux, e, old, new):
    """Change the clique in focus."""
    flat = aux.statistic.ravel()
    for c in range(flat.shape[0]):
        aux.delta[c] = flat[c] * (new - old)
    update_factor(aux.tree, aux.focus, e, aux.delta)


@prepare_edges.register(object)
def knows_no_edges(aux, eta):
    """Rows are drawn, not edges."""
    return False


@logit_at_zero.register(object)
def unknown_logit(aux, e, eta):
    """Nothing is known."""
    return np.nan


@draw_edge.register(object)
def draw_no_edge(aux, logit, rng):
    """Nothing is known."""
    return np.nan


@follow_edge.register(object)
def follow_nothing(aux, e, old, new):
    """Nothing follows."""
