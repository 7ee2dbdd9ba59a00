"""PyTensor Ops for the exact log-partition function of a field, by junction tree.

Their further outputs are marginals, which are its gradient: PyTensor merges the nodes of a function and
of its gradient, so that both cost one pass over the tree.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_not_implemented
from pytensor.graph import Apply, Op

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels import junction_tree as kernels


def workspace_allocator(tree: JunctionTree):
    """Make a function that allocates a workspace of the tree, its tables zero, and that numba can compile."""
    lengths = [len(array) for array in kernels.allocate(tree.arrays)]
    n_tables, n_conditional, n_belief, n_parts, n_least, n_message, n_total, n_counter = lengths

    def allocate():
        return kernels.Workspace(
            np.zeros(n_tables),
            np.zeros(n_conditional),
            np.zeros(n_belief),
            np.zeros(n_parts),
            np.zeros(n_least),
            np.zeros(n_message),
            np.zeros(n_total),
            np.zeros(n_counter, dtype=np.int64),
        )

    return allocate


class LogPartition(NumbaOp, Op):
    """A(edge_tables, node_tables), its marginals P(x_u, x_v) (r, K, K) and P(x_i) (d, K).

    Raises
    ------
    ValueError
        If the junction tree is too wide; the message states its width and memory.
    """

    __props__ = ("tree",)
    gufunc_signature = "(r,k,k),(d,k)->(),(r,k,k),(d,k)"

    def __init__(self, tree: JunctionTree) -> None:
        self.tree = tree

    def make_node(self, *tables):
        """Build the node on float64 tables, in the order of the factors of the tree."""
        inputs = [pt.as_tensor(table) for table in tables]
        return Apply(self, inputs, [pt.dscalar(), *(table.type() for table in inputs)])

    def implementation(self, jit):
        """Pass over the tree."""
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

    def pullback(self, inputs, outputs, cotangents):
        """Cotangent of A times the marginals; the marginals themselves have no gradient here."""
        value, *of_marginals = cotangents
        if any(not isinstance(g.type, DisconnectedType) for g in of_marginals):
            return [
                grad_not_implemented(self, i, x, "second derivatives of the log-partition function")
                for i, x in enumerate(inputs)
            ]
        return [value * marginals for marginals in outputs[1:]]


class FactorLogPartition(LogPartition):
    """A(tables) of a factor graph and the marginals of its factors, both (t,).

    The log tables of all factors lie one after the other; tables of the single variables that the
    junction tree adds are zero.
    """

    gufunc_signature = "(t)->(),(t)"

    def implementation(self, jit):
        """Pass over the tree."""
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))

        def log_partition(tables):
            work = allocate()
            marginals = np.empty_like(work.tables)
            work.tables[: tables.size] = tables
            value = kernels.log_partition_and_marginals(tree, work.tables, work, marginals)
            return np.asarray(value), marginals[: tables.size].copy()

        return log_partition
