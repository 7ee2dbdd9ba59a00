"""`likelihood="pseudo"`: the product of full conditionals, and how often the evidence on an edge counts.

All rows that share one parameter vector are evaluated in one call of an Op, and the gradient with respect to
the tables is accumulated over rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Op
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.likelihood import NOTE, OF_PSEUDO, Likelihood
from pymc_mrf.distributions.symbolic_tables import at_states, core, shared_by_rows
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates import factor_pseudo_likelihood as factor_kernels
from pymc_mrf.kernels.estimates import pseudo_likelihood as kernels
from pymc_mrf.likelihood.pseudo.checks import PseudoRecord, judged, overstated, unjudged
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE, graph_weights, variable_weights
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoGroups

NO_LIKELIHOOD = (
    NOTE,
    "its log_likelihood is a pseudo-likelihood, not to be compared by arviz.loo or compare with a likelihood",
)


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


@dataclass(frozen=True)
class Pseudo(Likelihood):
    """Option of the pseudo-likelihood: ``likelihood=pymc_mrf.Pseudo(weight=1)``.

    The pseudo-likelihood is the product of the full conditionals (Besag, 1975), each to the power of the
    weight.

    Parameters
    ----------
    weight : float
        Of each conditional. An edge stands in the conditionals of both of its ends: with 1/2, which
        ``likelihood="pseudo"`` has, the evidence about it is counted once. The usual form has 1 and counts it
        twice: Bayes factors are about squares, and standard deviations too small by up to the square root of
        two. It serves comparisons with other programs. What stands in one conditional only, as biases do, is
        counted as often as the weight says, but for arrows of a `KineticMRF` and the biases of their targets,
        which are counted once. Conditionals of nodes without edges have 1 whatever the weight.

    Raises
    ------
    ValueError
        If the weight is not a positive number up to 1.

    References
    ----------
    Besag (1975); Pauli, Racugno & Ventura (2011) and Ribatet, Cooley & Davison (2012) on weights of composite
    likelihoods.
    """

    name: ClassVar[str] = "pseudo"
    invariant: ClassVar[str] = OF_PSEUDO
    no_probability: ClassVar[str] = (
        "log pseudo-likelihoods only, which are not to be compared with log probabilities "
        "(pymc_mrf.analysis.log_pseudo_likelihood gives them)"
    )
    not_comparable: ClassVar[tuple[str, str]] = NO_LIKELIHOOD
    edges: ClassVar[Any] = PseudoEdges
    groups: ClassVar[Any] = PseudoGroups
    example: ClassVar[str] = "weight=1"
    is_pseudo: ClassVar[bool] = True
    looks_at_couplings: ClassVar[bool] = True

    weight: float = COUNTED_ONCE  # type: ignore[misc]

    def __post_init__(self) -> None:
        """Check the option."""
        if isinstance(self.weight, bool | np.bool_) or not isinstance(
            self.weight, int | float | np.number
        ):
            raise TypeError(f"weight must be a number, such as 1, not {self.weight!r}")
        if not 0.0 < self.weight <= 1.0:
            raise ValueError(
                f"weight must be above 0 and at most 1, not {self.weight!r}: 1/2 counts an edge once, 1 as "
                "often as both of its ends"
            )
        object.__setattr__(self, "weight", float(self.weight))

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Weigh all conditionals alike; nodes without edges, whose conditionals are likelihoods, have 1."""
        tables = op.log_tables(parameters, pt)
        if isinstance(op.graph, FactorGraph):
            return of_rows(FactorLogPseudoLikelihood(op.graph, self.weight), op, indices, tables)
        logp = self.weight * of_rows(LogPseudoLikelihood(op.graph), op, indices, tables)
        [alone] = np.nonzero(graph_weights(op.graph, self.weight) != self.weight)
        if not len(alone):
            return logp
        own = tables[1][..., alone, :]
        lacks = at_states(own, [indices[..., alone]], op.family.n_states) - pt.logsumexp(own, axis=-1)
        return logp + (1.0 - self.weight) * lacks.sum(axis=-1)

    def of_edges(self, blocks: Sequence["Pseudo"]) -> dict[str, Any]:
        """Return the weight."""
        return {"weight": self.weight}

    def of_groups(self) -> dict[str, Any]:
        """Return the weight."""
        return {"weight": self.weight}

    def record(self) -> PseudoRecord:
        """Begin with no edges."""
        return PseudoRecord()

    def against_chain(self, name: str, fields: list, record: Any, n_particles: int = 0) -> list[str]:
        """Whether edges are counted too often, or couplings strong."""
        return record.warn(name, fields)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Whether couplings are strong, and edges counted too often."""
        if isinstance(node.op.graph, FactorGraph):
            return unjudged("a factor graph", rv, node, draws)
        return [*judged(rv, node, draws), *overstated(node, draws)]


def of_rows(evaluate, op, indices, tables):
    """Apply an Op of states and tables to all rows."""
    indices = indices.astype("int8")
    if shared_by_rows(tables, op.table_ndims):
        tables = [core(t, k) for t, k in zip(tables, op.table_ndims, strict=True)]
        rows = evaluate(indices.reshape((-1, op.n_variables)), *tables)
        return rows.reshape(indices.shape[:-1], ndim=indices.ndim - 1)
    return Blockwise(evaluate)(indices[..., None, :], *tables)[..., 0]
