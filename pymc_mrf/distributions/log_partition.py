"""PyTensor Ops for the exact log-partition function of a field, by junction tree.

Further outputs are marginals, which are its gradient. That of a field of which some variables are known has
no gradient.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph import Op

from pymc_mrf.distributions._numba import NumbaOp, ValueAndSlopes
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels.junction_trees import junction_tree as kernels
from pymc_mrf.kernels.junction_trees.clamped_field import clamped_log_partitions


def workspace_allocator(tree: JunctionTree):
    """Make a function that allocates a workspace of the tree, its tables zero, and that numba can compile.

    The tables are parts of one array: glibc gives the memory of several large ones back to the system after
    every call, and fetching it anew takes several times as long as a pass over the tree.
    """
    *tables, counter = kernels.allocate_workspace(tree.arrays)
    n_counter, (a, b, c, d, e, f, g, h) = len(counter), np.cumsum([0, *map(len, tables)]).tolist()

    def allocate():
        room = np.empty(h)
        room[a:b] = 0.0
        return kernels.Workspace(
            room[a:b],
            room[b:c],
            room[c:d],
            room[d:e],
            room[e:f],
            room[f:g],
            room[g:h],
            np.zeros(n_counter, dtype=np.int64),
        )

    return allocate


class LogPartition(ValueAndSlopes):
    """A(edge_tables, node_tables), its marginals P(x_u, x_v) (r, K, K) and P(x_i) (d, K).

    Raises a ValueError if the junction tree is too wide; the message states its width and memory.
    """

    __props__ = ("tree",)
    gufunc_signature = "(r,k,k),(d,k)->(),(r,k,k),(d,k)"
    what = "the log-partition function"

    def __init__(self, tree: JunctionTree) -> None:
        self.tree = tree

    def outputs(self, *tables):
        return [pt.dscalar(), *(table.type() for table in tables)]

    def implementation(self, jit):
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))

        def log_partition(edge_tables, node_tables):
            work = allocate()
            marginals = np.empty_like(work.tables)
            kernels.pack_pairwise(edge_tables, node_tables, work.tables)
            value = kernels.log_partition_and_marginals(tree, work.tables, work, marginals)
            n = edge_tables.size
            return (
                np.asarray(value),
                marginals[:n].copy().reshape(edge_tables.shape),
                marginals[n:].copy().reshape(node_tables.shape),
            )

        return log_partition


class FactorLogPartition(LogPartition):
    """A(tables) of a factor graph and the marginals of its factors, both (t,).

    The log tables of all factors lie one after the other; tables of the single variables that the
    junction tree adds are zero.
    """

    gufunc_signature = "(t)->(),(t)"

    def implementation(self, jit):
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))

        def log_partition(tables):
            work = allocate()
            marginals = np.empty_like(work.tables)
            work.tables[: tables.size] = tables
            value = kernels.log_partition_and_marginals(tree, work.tables, work, marginals)
            return np.asarray(value), marginals[: tables.size].copy()

        return log_partition


class ClampedLogPartition(NumbaOp, Op):
    """A of the field in which some variables are known, for each row z (n, d), given all log tables (t,).

    `z`, int8, holds state indices, -1 where the variable is free. A row takes no longer than about one
    pass over the tree.
    """

    __props__ = ("tree",)
    gufunc_signature = "(n,d),(t)->(n)"

    def __init__(self, tree: JunctionTree) -> None:
        self.tree = tree

    def outputs(self, z, tables):
        return [pt.vector(dtype="float64", shape=(z.type.shape[0],))]

    def implementation(self, jit):
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))
        links = factor_links(FactorGraph(self.tree.scopes, self.tree.cardinalities))

        def clamped_log_partition(z, tables):
            work, out = allocate(), np.empty(z.shape[0])
            padded = np.zeros_like(work.tables)
            padded[: tables.size] = tables
            clamped_log_partitions(z, tree, links, padded, work, out)
            return out

        return clamped_log_partition
