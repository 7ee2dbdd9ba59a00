"""PyTensor Op for the exact log-partition function of a pairwise field, by junction tree.

Its further outputs are the marginals of edges and nodes, which are its gradient: PyTensor merges the
nodes of a function and of its gradient, so that both cost one pass over the tree.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_not_implemented
from pytensor.graph import Apply, Op

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels import junction_tree as kernels


class LogPartition(NumbaRegistered, Op):
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

    def make_node(self, edge_tables, node_tables):
        """Build the node on float64 tables."""
        inputs = [pt.as_tensor(edge_tables), pt.as_tensor(node_tables)]
        return Apply(self, inputs, [pt.dscalar(), inputs[0].type(), inputs[1].type()])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        edge_tables, node_tables = inputs
        arrays = self.tree.arrays
        work = kernels.allocate(arrays)
        marginals = np.empty_like(work.tables)
        kernels.pack_pairwise(edge_tables, node_tables, work.tables)
        value = kernels.log_partition_and_marginals(arrays, work.tables, work, marginals)
        output_storage[0][0] = np.asarray(value)
        output_storage[1][0] = marginals[: edge_tables.size].reshape(edge_tables.shape)
        output_storage[2][0] = marginals[edge_tables.size :].reshape(node_tables.shape)

    def pullback(self, inputs, outputs, cotangents):
        """Cotangent of A times the marginals; the marginals themselves have no gradient here."""
        value, *of_marginals = cotangents
        if any(not isinstance(g.type, DisconnectedType) for g in of_marginals):
            return [
                grad_not_implemented(self, i, x, "second derivatives of the log-partition function")
                for i, x in enumerate(inputs)
            ]
        _, edge_marginals, node_marginals = outputs
        return [value * edge_marginals, value * node_marginals]
