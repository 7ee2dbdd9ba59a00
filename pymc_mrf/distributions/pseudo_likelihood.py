"""PyTensor Ops for the log pseudo-likelihood of a field (Besag, 1975), with gradient.

All rows that share one parameter vector are evaluated in one call, and the gradient with respect to the
tables is accumulated over rows.
"""

from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_links import factor_links
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import factor_pseudo_likelihood as factor_kernels
from pymc_mrf.kernels import pseudo_likelihood as kernels


class LogPseudoLikelihoodGradient(NumbaRegistered, Op):
    """Gradient of the cotangent-weighted sum of rows: (r, K, K) and (d, K)."""

    __props__ = ("graph",)
    gufunc_signature = "(n,d),(r,k,k),(d,k),(n)->(r,k,k),(d,k)"

    def __init__(self, graph: PairwiseGraph | FactorGraph) -> None:
        self.graph: Any = graph

    def make_node(self, x, *tables_and_cotangent):
        """Build the node."""
        inputs = [pt.as_tensor(v) for v in (x, *tables_and_cotangent)]
        return Apply(self, inputs, [table.type() for table in inputs[1:-1]])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        x, *tables, cotangent = inputs
        gradients = [np.empty_like(table) for table in tables]
        self._fill(x, tables, cotangent, gradients)
        for storage, gradient in zip(output_storage, gradients, strict=True):
            storage[0] = gradient

    def _fill(self, x, tables, cotangent, gradients) -> None:
        kernels.log_pseudo_likelihood_gradient(x, *tables, self.graph.arrays, cotangent, *gradients)


class LogPseudoLikelihood(NumbaRegistered, Op):
    """Log pseudo-likelihood of each row of state indices x (n, d), int8."""

    __props__ = ("graph",)
    gufunc_signature = "(n,d),(r,k,k),(d,k)->(n)"
    gradient_op: ClassVar[Any] = LogPseudoLikelihoodGradient

    def __init__(self, graph: PairwiseGraph | FactorGraph) -> None:
        self.graph: Any = graph

    def make_node(self, x, *tables):
        """Build the node; `x` int8, tables float64."""
        inputs = [pt.as_tensor(v) for v in (x, *tables)]
        return Apply(self, inputs, [pt.vector(dtype="float64", shape=(inputs[0].type.shape[0],))])

    def perform(self, node, inputs, output_storage):
        """Evaluate by the kernel."""
        x, *tables = inputs
        out = np.empty(x.shape[0])
        self._fill(x, tables, out)
        output_storage[0][0] = out

    def _fill(self, x, tables, out) -> None:
        kernels.log_pseudo_likelihood(x, *tables, self.graph.arrays, out)

    def pullback(self, inputs, outputs, cotangents):
        """Gradient with respect to the tables; the data are not differentiated."""
        gradient = self.gradient_op(self.graph)(*inputs, cotangents[0], return_list=True)
        return [disconnected_type(), *gradient]

    def connection_pattern(self, node):
        """Only the tables are connected to the output."""
        return [[False], *([True] for _ in node.inputs[1:])]


class FactorLogPseudoLikelihoodGradient(LogPseudoLikelihoodGradient):
    """Gradient of the cotangent-weighted sum of rows by all log tables of a factor graph, (t,)."""

    gufunc_signature = "(n,d),(t),(n)->(t)"

    def _fill(self, x, tables, cotangent, gradients) -> None:
        factor_kernels.log_pseudo_likelihood_gradient(
            x, *tables, factor_links(self.graph), cotangent, *gradients
        )


class FactorLogPseudoLikelihood(LogPseudoLikelihood):
    """Log pseudo-likelihood of each row of state indices, given all log tables of a factor graph."""

    gufunc_signature = "(n,d),(t)->(n)"
    gradient_op = FactorLogPseudoLikelihoodGradient

    def _fill(self, x, tables, out) -> None:
        factor_kernels.log_pseudo_likelihood(x, *tables, factor_links(self.graph), out)
