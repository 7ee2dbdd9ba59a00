"""PyTensor Op for the log pseudo-likelihood of a pairwise field (Besag, 1975), with gradient.

All rows that share one parameter vector are evaluated in one call: the Op's core signature is
"(n,d),(r,k,k),(d,k)->(n)", and the gradient with respect to the tables is accumulated over rows.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import pseudo_likelihood as kernels


class LogPseudoLikelihood(NumbaRegistered, Op):
    """Log pseudo-likelihood of each row of state indices x (n, d), int8."""

    __props__ = ("graph",)
    gufunc_signature = "(n,d),(r,k,k),(d,k)->(n)"

    def __init__(self, graph: PairwiseGraph) -> None:
        self.graph = graph

    def make_node(self, x, edge_tables, node_tables):
        """Build the node; `x` int8, tables float64."""
        inputs = [pt.as_tensor(x), pt.as_tensor(edge_tables), pt.as_tensor(node_tables)]
        return Apply(self, inputs, [pt.vector(dtype="float64", shape=(inputs[0].type.shape[0],))])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        x, edge_tables, node_tables = inputs
        out = np.empty(x.shape[0])
        kernels.log_pseudo_likelihood(x, edge_tables, node_tables, self.graph.arrays, out)
        output_storage[0][0] = out

    def pullback(self, inputs, outputs, cotangents):
        """Gradient with respect to both tables; the data are not differentiated."""
        x, edge_tables, node_tables = inputs
        gradient = LogPseudoLikelihoodGradient(self.graph)
        return [disconnected_type(), *gradient(x, edge_tables, node_tables, cotangents[0])]

    def connection_pattern(self, node):
        """Only the tables are connected to the output."""
        return [[False], [True], [True]]


class LogPseudoLikelihoodGradient(NumbaRegistered, Op):
    """Gradient of the cotangent-weighted sum of rows: (r, K, K) and (d, K)."""

    __props__ = ("graph",)
    gufunc_signature = "(n,d),(r,k,k),(d,k),(n)->(r,k,k),(d,k)"

    def __init__(self, graph: PairwiseGraph) -> None:
        self.graph = graph

    def make_node(self, x, edge_tables, node_tables, cotangent):
        """Build the node."""
        inputs = [pt.as_tensor(v) for v in (x, edge_tables, node_tables, cotangent)]
        return Apply(self, inputs, [inputs[1].type(), inputs[2].type()])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        x, edge_tables, node_tables, cotangent = inputs
        grad_edge, grad_node = np.empty_like(edge_tables), np.empty_like(node_tables)
        kernels.log_pseudo_likelihood_gradient(
            x, edge_tables, node_tables, self.graph.arrays, cotangent, grad_edge, grad_node
        )
        output_storage[0][0] = grad_edge
        output_storage[1][0] = grad_node
