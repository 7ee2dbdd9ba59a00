"""`ConditionalGibbs`: grouped arrows and links of fields in time."""

from typing import ClassVar

from pymc_mrf.likelihood.groups.group_engine import GroupEngine
from pymc_mrf.likelihood.groups.listed_groups import ListedRowLikelihood
from pymc_mrf.likelihood.groups.pseudo_groups import PseudoLikelihood
from pymc_mrf.steps.common.base import EXACT
from pymc_mrf.steps.common.observed_field import ObservedField, check_links
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class ConditionalGibbs(EngineGibbs):
    """Grouped arrows, and links, of fields in time, `KineticMRF`.

    Leaves invariant: the posterior, exactly, as the product of conditional probabilities given the rows
    before is the likelihood; of rows with links, under ``likelihood="exact"``, all states are listed.
    Parameters, errors, statistics and references as of `ExactGibbs`; missing cells are drawn by
    `SeriesGibbs`; cost grows with the rows of the data, and with the states of a row that are listed.
    """

    name = "conditional_gibbs"
    invariant: ClassVar = {"conditional": EXACT}
    default_for = "conditional"

    def _make_engine(self, field: ObservedField, *arguments) -> GroupEngine:
        check_links(self._fields)  # a kernel takes views of one type
        if field.graph.n_links:
            return ListedRowLikelihood(*arguments)
        return PseudoLikelihood(*arguments, weight=1.0)
