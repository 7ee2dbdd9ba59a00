"""PyTensor Ops for the log pseudo-likelihood of a field (Besag, 1975), with gradient.

All rows that share one parameter vector are evaluated in one call, and the gradient with respect to the
tables is accumulated over rows.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Op

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates import factor_pseudo_likelihood as factor_kernels
from pymc_mrf.kernels.estimates import pseudo_likelihood as kernels
from pymc_mrf.likelihood.pseudo.conditional_weights import variable_weights


class OfGraph(NumbaOp, Op):
    """Base of the Ops of a graph."""

    __props__: tuple[str, ...] = ("graph",)

    def __init__(self, graph: PairwiseGraph | FactorGraph) -> None:
        self.graph: Any = graph


class LogPseudoLikelihoodGradient(OfGraph):
    """Gradient of the cotangent-weighted sum of rows: (r, K, K) and (d, K)."""

    gufunc_signature = "(n,d),(r,k,k),(d,k),(n)->(r,k,k),(d,k)"

    def outputs(self, x, *tables_and_cotangent):
        """One array for each table."""
        return [table.type() for table in tables_and_cotangent[:-1]]

    def implementation(self, jit):
        """Add up the gradients of all rows."""
        graph = self.graph.arrays

        def gradient(x, edge_tables, node_tables, cotangent):
            of_edges, of_nodes = np.empty_like(edge_tables), np.empty_like(node_tables)
            kernels.log_pseudo_likelihood_gradient(
                x, edge_tables, node_tables, graph, cotangent, of_edges, of_nodes
            )
            return of_edges, of_nodes

        return gradient


class LogPseudoLikelihood(OfGraph):
    """Log pseudo-likelihood of each row of state indices x (n, d), int8."""

    gufunc_signature = "(n,d),(r,k,k),(d,k)->(n)"

    def outputs(self, x, *tables):
        """One number for each row; `x` int8, tables float64."""
        return [pt.vector(dtype="float64", shape=(x.type.shape[0],))]

    def implementation(self, jit):
        """Evaluate all rows."""
        graph = self.graph.arrays

        def log_pseudo_likelihood(x, edge_tables, node_tables):
            out = np.empty(x.shape[0])
            kernels.log_pseudo_likelihood(x, edge_tables, node_tables, graph, out)
            return out

        return log_pseudo_likelihood

    @property
    def gradient_op(self) -> LogPseudoLikelihoodGradient:
        return LogPseudoLikelihoodGradient(self.graph)

    def pullback(self, inputs, outputs, cotangents):
        gradient = self.gradient_op(*inputs, cotangents[0], return_list=True)
        return [disconnected_type(), *gradient]

    def connection_pattern(self, node):
        return [[False], *([True] for _ in node.inputs[1:])]


class FactorLogPseudoLikelihoodGradient(LogPseudoLikelihoodGradient):
    """Gradient of the cotangent-weighted sum of rows by all log tables of a factor graph, (t,).

    Of conditionals with the `variable_weights` of a `weight`.
    """

    __props__ = ("graph", "weight")

    def __init__(self, graph: FactorGraph, weight: float) -> None:
        super().__init__(graph)
        self.weight = weight

    gufunc_signature = "(n,d),(t),(n)->(t)"

    def implementation(self, jit):
        """Add up the gradients of all rows."""
        links, weights = factor_links(self.graph), variable_weights(self.graph, self.weight)

        def gradient(x, tables, cotangent):
            out = np.empty_like(tables)
            factor_kernels.log_pseudo_likelihood_gradient(x, tables, links, weights, cotangent, out)
            return out

        return gradient


class FactorLogPseudoLikelihood(LogPseudoLikelihood):
    """Log pseudo-likelihood of each row of state indices, given all log tables of a factor graph.

    Of conditionals with the `variable_weights` of a `weight`.
    """

    __props__ = ("graph", "weight")
    gufunc_signature = "(n,d),(t)->(n)"

    def __init__(self, graph: FactorGraph, weight: float) -> None:
        super().__init__(graph)
        self.weight = weight

    @property
    def gradient_op(self) -> FactorLogPseudoLikelihoodGradient:
        return FactorLogPseudoLikelihoodGradient(self.graph, self.weight)

    def implementation(self, jit):
        """Evaluate all rows."""
        links, weights = factor_links(self.graph), variable_weights(self.graph, self.weight)

        def log_pseudo_likelihood(x, tables):
            out = np.empty(x.shape[0])
            factor_kernels.log_pseudo_likelihood(x, tables, links, weights, out)
            return out

        return log_pseudo_likelihood
