"""PyTensor Ops for the exact log-partition function of a field, by junction tree.

Their further outputs are marginals, which are its gradient: PyTensor merges the nodes of a function and
of its gradient, so that both cost one pass over the tree.
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

    def make_node(self, *tables):
        """Build the node on float64 tables, in the order of the factors of the tree."""
        inputs = [pt.as_tensor(table) for table in tables]
        return Apply(self, inputs, [pt.dscalar(), *(table.type() for table in inputs)])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        arrays = self.tree.arrays
        work = kernels.allocate(arrays)  # its tables are zero: those not given stay so
        ends = np.cumsum([table.size for table in inputs])
        work.tables[: ends[-1]] = np.concatenate([table.ravel() for table in inputs])
        marginals = np.empty_like(work.tables)
        value = kernels.log_partition_and_marginals(arrays, work.tables, work, marginals)
        output_storage[0][0] = np.asarray(value)
        parts = np.split(marginals, ends)[: len(inputs)]
        for storage, part, table in zip(output_storage[1:], parts, inputs, strict=True):
            storage[0] = part.reshape(table.shape)

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
