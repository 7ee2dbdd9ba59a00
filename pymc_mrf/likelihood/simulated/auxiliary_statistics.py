"""How the statistics of auxiliary data sets are drawn: the working arrays of `kernels.auxiliary_draws`."""

from typing import Any

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups import auxiliary_draws as draws
from pymc_mrf.kernels.junction_trees.junction_tree import allocate
from pymc_mrf.kernels.junction_trees.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.simulation import packed_gibbs

CHAINS = {
    "dense": draws.DenseDraws,
    "states": draws.StatesDraws,
    "plain": draws.PlainDraws,
}


def auxiliary_statistics(
    kind: str,
    x: np.ndarray,
    graph: PairwiseGraph,
    statistic: np.ndarray,
    node_tables: np.ndarray,
    n_sweeps: int,
) -> Any:
    """Prepare draws of as many rows as there are in the data.

    Parameters
    ----------
    kind : str
        "exact", "perfect", or a kernel of `pymc_mrf.fields.simulation.GibbsSimulator`.
    x : (n, d) int8 array
        The data, from which Gibbs chains start.
    graph : PairwiseGraph
    statistic : (K, K) array with values in {0, 1}
    node_tables : (d, K) array
    n_sweeps : int
        Of the Gibbs chains.
    """
    K, r = len(statistic), graph.n_edges
    tables = np.concatenate([np.zeros(r * K * K), node_tables.ravel()])
    if kind == "exact":
        tree = field_tree(graph, K)
        symmetric = K == 2 and np.array_equal(statistic, statistic[::-1, ::-1])
        return draws.ExactDraws(
            statistic=statistic,
            tables=tables,
            order=tree.factor_order[tree.factor_order < r],  # the other factors are single nodes
            n=float(len(x)),
            mirrored=bool(symmetric and not np.any(np.diff(node_tables))),
            tree=tree.arrays,
            work=allocate(tree.arrays),
            focus=allocate_focus(tree.arrays),
            counts=np.zeros(tree.arrays.n_factor_cells),
            log_table=np.zeros(K * K),
            delta=np.zeros(K * K),
        )
    common = statistic, tables, np.arange(r), graph.arrays, np.zeros((r, K, K), dtype=np.int64)
    if kind == "perfect":
        return draws.PerfectDraws(*common, z=np.zeros_like(x), failed=np.zeros(1, dtype=np.bool_))
    if kind != "packed":
        return CHAINS[kind](*common, n_sweeps=n_sweeps, x=x, z=np.zeros_like(x))
    plan = packed_gibbs.plan(graph.arrays)
    words = np.zeros((graph.n_nodes, packed_gibbs.n_words(len(x))), dtype=np.uint64)
    packed_gibbs.pack(x, words)
    return draws.PackedDraws(
        *common,
        n=len(x),
        n_sweeps=n_sweeps,
        plan=plan,
        packed=packed_gibbs.allocate(plan, len(x)),
        words=words,
        z_words=np.zeros_like(words),
    )
