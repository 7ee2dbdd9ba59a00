"""`PseudoGibbs`: grouped parameters under the pseudo-likelihood."""

from typing import ClassVar

from pymc_mrf.likelihood.groups.group_engine import GroupEngine
from pymc_mrf.likelihood.groups.pseudo_groups import PseudoLikelihood
from pymc_mrf.steps.common.base import OF_PSEUDO
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class PseudoGibbs(EngineGibbs):
    """Grouped edge parameters under the pseudo-likelihood, of fields of any treewidth.

    Leaves invariant: the posterior under the pseudo-likelihood (Besag, 1975), exactly; with missing cells an
    approximation, as `TreeGibbs` draws them from the field itself. Parameters, errors, statistics and
    references as of `ExactGibbs`; cost grows with the rows of the data.
    """

    name = "pseudo_gibbs"
    invariant: ClassVar = {"pseudo": OF_PSEUDO}
    default_for = "pseudo"

    def _make_engine(self, field: ObservedField, *arguments) -> GroupEngine:
        expected = field.expected if any(field.expected) else ()
        return PseudoLikelihood(*arguments, weight=field.conditional_weight, expected=expected)
