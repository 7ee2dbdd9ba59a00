"""`ConditionalGibbs`: grouped arrows and links of fields in time."""

from typing import Any, ClassVar

from pymc_mrf.distributions.likelihood import EXACT
from pymc_mrf.likelihood.conditional.likelihood import Conditional
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
    invariant: ClassVar = {Conditional: EXACT}
    default_for = Conditional

    def _make_engine(self, field: ObservedField, *arguments) -> Any:
        check_links(self._fields)  # a kernel takes views of one type
        return super()._make_engine(field, *arguments)
