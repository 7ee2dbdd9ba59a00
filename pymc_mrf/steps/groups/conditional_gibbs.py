"""`ConditionalGibbs`: grouped arrows of fields in time."""

from typing import ClassVar

from pymc_mrf.likelihood.groups.group_engine import GroupEngine
from pymc_mrf.likelihood.groups.pseudo_groups import PseudoLikelihood
from pymc_mrf.steps.common.base import EXACT
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class ConditionalGibbs(EngineGibbs):
    """Grouped arrows of fields in time, `KineticMRF`.

    Leaves invariant: the posterior, exactly, as the product of conditional probabilities given the rows
    before is the likelihood. Parameters, errors, statistics and references as of `ExactGibbs`; missing cells
    are drawn by `SeriesGibbs`; cost grows with the rows of the data.
    """

    name = "conditional_gibbs"
    invariant: ClassVar = {"conditional": EXACT}
    default_for = "conditional"

    def _make_engine(self, field: ObservedField, *arguments) -> GroupEngine:
        if field.graph.n_links:
            raise ValueError(
                f"ConditionalGibbs samples arrows alone, but {field.name} has links within its rows: declare "
                'it with likelihood="pseudo", or without links'
            )
        return PseudoLikelihood(*arguments)
