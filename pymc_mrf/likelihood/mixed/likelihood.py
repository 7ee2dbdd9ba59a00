"""Likelihoods of mixed fields: sums over all states of the answers or a sample, and a pseudo-likelihood."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.distributions.likelihood import OF_SAMPLE, Declared, Likelihood
from pymc_mrf.distributions.mixed_rv import (
    MixedFieldRV,
    MixedPoint,
    log_density_of_listed,
    log_density_of_nodes,
)
from pymc_mrf.distributions.remedies import advice
from pymc_mrf.kernels.mixed import all_states
from pymc_mrf.likelihood.mixed.mixed_edges import MixedLikelihood
from pymc_mrf.likelihood.mixed.mixed_pseudo import MixedPseudoLikelihood
from pymc_mrf.likelihood.mixed.mixed_reference import MixedReference, sample_reference, sample_size
from pymc_mrf.likelihood.monte_carlo.checks import poor_sample
from pymc_mrf.likelihood.pseudo.conditional_weights import node_weights
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo

logger = logging.getLogger("pymc_mrf")

MOST_LISTED = 2**18
"""States of the answers up to which all are listed on request."""

COMPLETE = "drop the rows with missing cells"


@dataclass(frozen=True)
class MixedExact(Likelihood):
    """The normaliser is a sum over all states of the answers."""

    name: ClassVar[str] = "exact"
    no_probability_of_parts: ClassVar[str] = "no log probabilities of rows with missing cells"
    edges: ClassVar[Any] = MixedLikelihood
    else_complete: ClassVar[str] = COMPLETE

    @classmethod
    def serves(cls, field: Declared) -> bool:
        """Whether the answers have few states together."""
        return bool(field.op.n_states <= MOST_LISTED)

    @classmethod
    def unasked(cls, field: Declared) -> "MixedExact | None":
        """Where a sample would have as many points: a state costs as much, and has no error."""
        return _if_taken(cls(), field, field.op.n_states <= _most_listed(field))

    def prepare(self, field: Declared) -> "MixedExact":
        """Refuse too many states."""
        op = field.op
        if not self.serves(field):
            left: list[type[Likelihood]] = [MixedMonteCarlo if _is_complete(field) else MixedPseudo]
            raise ValueError(
                f"the answers have {op.n_states:,} states together, more than the {MOST_LISTED:,} that "
                f'likelihood="exact" lists: {advice(field, left, "use")}, or fewer answers'
            )
        return self

    def log_density(self, op: MixedFieldRV, at: MixedPoint) -> Any:  # type: ignore[override]
        """Sum over all states."""
        return log_density_of_listed(op, at, all_states(op.layout))


@dataclass(frozen=True)
class MixedMonteCarlo(Likelihood):
    """The normaliser is a sum over a sample of states, made when the field is declared."""

    name: ClassVar[str] = "monte-carlo"
    invariant: ClassVar[str] = OF_SAMPLE
    no_probability: ClassVar[str] = "log probabilities up to a constant only"
    edges: ClassVar[Any] = MixedLikelihood
    else_complete: ClassVar[str] = COMPLETE

    sample: MixedReference | None = None

    @classmethod
    def unasked(cls, field: Declared) -> "MixedMonteCarlo | None":
        """Where data are complete."""
        is_taken = _is_complete(field)
        return _if_taken(cls().prepare(field) if is_taken else cls(), field, is_taken)

    def prepare(self, field: Declared) -> "MixedMonteCarlo":
        """Draw the sample near the data."""
        op = field.op
        if not _is_complete(field):
            left = [kind for kind in (MixedExact, MixedPseudo) if kind.serves(field)]
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

    def of_edges(self, blocks: Sequence["MixedMonteCarlo"]) -> dict[str, Any]:
        """Return the sample."""
        assert self.sample is not None
        return {"states": self.sample.listed}

    def against_chain(
        self, name: str, field: str, record: Any, references: list, engine: Any
    ) -> list[str]:
        """Whether the sample was too small, or far from the draws."""
        return poor_sample(field, record, references)


@dataclass(frozen=True)
class MixedPseudo(Pseudo):
    """The product of the conditionals of all answers and measurements."""

    no_probability: ClassVar[str] = (
        "log pseudo-likelihoods only, which are not to be compared with log probabilities"
    )
    edges: ClassVar[Any] = MixedPseudoLikelihood
    groups: ClassVar[Any] = None
    else_complete: ClassVar[str] = COMPLETE
    looks_at_couplings: ClassVar[bool] = False

    @classmethod
    def unasked(cls, field: Declared) -> "MixedPseudo":
        """Where nothing else serves."""
        found = _if_taken(cls(), field, True)
        assert found is not None
        return found

    def log_density(self, op: MixedFieldRV, at: MixedPoint) -> Any:  # type: ignore[override]
        """Weigh the conditionals."""
        weights = node_weights(op.n_variables, op.layout.ends, False, self.weight)
        return log_density_of_nodes(op, at, weights)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Nothing: no strength is defined of couplings of several numbers."""
        return []


def _is_complete(field: Declared) -> bool:
    """Whether there are data without missing cells."""
    x = field.data.values
    return x is not None and not np.ma.is_masked(x)


def _most_listed(field: Declared) -> int:
    """States of the answers up to which all are listed unasked."""
    x = field.data.values
    return sample_size(x.size // field.op.graph.n_nodes if _is_complete(field) else 0)


def _if_taken[L: Likelihood](likelihood: L, field: Declared, is_taken: bool) -> L | None:
    """Return it if "auto" takes it, which is told."""
    if not is_taken:
        return None
    logger.info(
        'likelihood="auto" is "%s" here: the answers have %s states together, of which up to %s are listed '
        "unasked",
        likelihood.name,
        f"{field.op.n_states:,}",
        f"{_most_listed(field):,}",
    )
    return likelihood
