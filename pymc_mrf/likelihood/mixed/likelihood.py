"""Likelihoods of mixed fields: sums over all states of the answers or a sample, and a pseudo-likelihood."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.distributions.likelihood import OF_SAMPLE, DeclaredField, Likelihood
from pymc_mrf.distributions.mixed_rv import (
    MixedFieldRV,
    MixedPoint,
    log_density_of_listed,
    log_density_of_nodes,
)
from pymc_mrf.distributions.remedies import advice
from pymc_mrf.kernels.mixed import all_states
from pymc_mrf.likelihood.mixed.mixed_edges import (
    MixedLikelihood,
    MixedReference,
    sample_reference,
    sample_size,
)
from pymc_mrf.likelihood.mixed.mixed_pseudo import MixedPseudoLikelihood
from pymc_mrf.likelihood.monte_carlo.checks import poor_sample
from pymc_mrf.likelihood.pseudo.conditional_weights import node_weights
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo

logger = logging.getLogger("pymc_mrf")

MOST_LISTED = 2**18
"""States of the answers up to which all are listed on request."""

COMPLETE = "drop the rows with missing cells"


class ExactOfMixed(Likelihood):
    """The normaliser is a sum over all states of the answers."""

    name: ClassVar[str] = "exact"
    no_probability_of_parts: ClassVar[str] = "no log probabilities of rows with missing cells"
    edges: ClassVar[Any] = MixedLikelihood
    else_complete: ClassVar[str] = COMPLETE

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether the answers have few states together."""
        return bool(field.op.n_states <= MOST_LISTED)

    @classmethod
    def unasked(cls, field: DeclaredField) -> "ExactOfMixed | None":
        """Where a sample would have as many points: a state costs as much, and has no error."""
        x, n_states, beyond = field.data.values, field.op.n_states, _beyond(field)
        most = sample_size(x.size // field.op.graph.n_nodes if beyond is MonteCarloOfMixed else 0)
        logger.info(
            'likelihood="auto" is "%s" here: the answers have %s states together, of which up to %s are '
            "listed unasked",
            (cls if n_states <= most else beyond).name,
            f"{n_states:,}",
            f"{most:,}",
        )
        return cls() if n_states <= most else None

    def prepare(self, field: DeclaredField) -> "ExactOfMixed":
        """Refuse too many states."""
        op = field.op
        if not self.serves(field):
            left = [_beyond(field)]
            raise ValueError(
                f"the answers have {op.n_states:,} states together, more than the {MOST_LISTED:,} that "
                f'likelihood="exact" lists: {advice(field, left, "use")}, or fewer answers'
            )
        return self

    def log_density(self, op: MixedFieldRV, at: MixedPoint) -> Any:  # type: ignore[override]
        """Sum over all states."""
        return log_density_of_listed(op, at, all_states(op.layout))


@dataclass(frozen=True)
class MonteCarloOfMixed(Likelihood):
    """The normaliser is a sum over a sample of states, made when the field is declared."""

    name: ClassVar[str] = "monte-carlo"
    invariant: ClassVar[str] = OF_SAMPLE
    no_probability: ClassVar[str] = "log probabilities up to a constant only"
    edges: ClassVar[Any] = MixedLikelihood
    else_complete: ClassVar[str] = COMPLETE

    sample: MixedReference | None = None

    @classmethod
    def unasked(cls, field: DeclaredField) -> "MonteCarloOfMixed | None":
        """Where data are complete."""
        return cls().prepare(field) if _beyond(field) is cls else None

    def prepare(self, field: DeclaredField) -> "MonteCarloOfMixed":
        """Draw the sample near the data."""
        op = field.op
        if _beyond(field) is not MonteCarloOfMixed:
            left = [kind for kind in (ExactOfMixed, PseudoOfMixed) if kind.serves(field)]
            raise ValueError(
                'likelihood="monte-carlo" needs `observed` without missing cells, near which it simulates: '
                f"{advice(field, left, 'use')}, or drop the rows with missing cells"
            )
        x = field.data.values.reshape(-1, op.graph.n_nodes).copy()
        x[:, op.columns.measurements] /= np.array(op.scale)
        return replace(self, sample=sample_reference(x, op.graph, op.family, np.random.default_rng(0)))

    def log_density(self, op: MixedFieldRV, at: MixedPoint) -> Any:  # type: ignore[override]
        """Sum over the sample."""
        assert self.sample is not None
        return log_density_of_listed(op, at, self.sample.listed)

    def of_edges(self, blocks: Sequence["MonteCarloOfMixed"]) -> dict[str, Any]:
        """Return the sample."""
        assert self.sample is not None
        return {"states": self.sample.listed}

    def against_chain(self, name: str, fields: list, record: Any, n_particles: int = 0) -> list[str]:
        """Whether the sample was too small, or far from the draws."""
        return poor_sample(fields[0].name, record, [])


class PseudoOfMixed(Pseudo):
    """The product of the conditionals of all answers and measurements."""

    no_probability: ClassVar[str] = (
        "log pseudo-likelihoods only, which are not to be compared with log probabilities"
    )
    edges: ClassVar[Any] = MixedPseudoLikelihood
    groups: ClassVar[Any] = None
    else_complete: ClassVar[str] = COMPLETE
    looks_at_couplings: ClassVar[bool] = False

    @classmethod
    def unasked(cls, field: DeclaredField) -> "PseudoOfMixed":
        """Where nothing else serves."""
        return cls()

    def log_density(self, op: MixedFieldRV, at: MixedPoint) -> Any:  # type: ignore[override]
        """Weigh the conditionals."""
        weights = node_weights(op.n_variables, op.layout.ends, False, self.weight)
        return log_density_of_nodes(op, at, weights)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Nothing: no strength is defined of couplings of several numbers."""
        return []


def _beyond(field: DeclaredField) -> type[Likelihood]:
    """Return what serves any number of states: a sample, where there are data without missing cells."""
    x = field.data.values
    return PseudoOfMixed if x is None or np.ma.is_masked(x) else MonteCarloOfMixed
