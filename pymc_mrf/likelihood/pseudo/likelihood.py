"""`likelihood="pseudo"`: the product of full conditionals, and how often the evidence on an edge counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions.likelihood import NOTE, OF_PSEUDO, Likelihood
from pymc_mrf.distributions.symbolic_tables import at_states, core, shared_by_rows
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.likelihood.pseudo.checks import judged, overstated, unjudged
from pymc_mrf.likelihood.pseudo.conditional_weights import COUNTED_ONCE, graph_weights
from pymc_mrf.likelihood.pseudo.log_pseudo_likelihood import (
    FactorLogPseudoLikelihood,
    LogPseudoLikelihood,
)
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoLikelihood

NO_LIKELIHOOD = (
    NOTE,
    "its log_likelihood is a pseudo-likelihood, not to be compared by arviz.loo or compare with a likelihood",
)


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
    groups: ClassVar[Any] = PseudoLikelihood
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
