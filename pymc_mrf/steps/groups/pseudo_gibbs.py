"""`PseudoGibbs`: grouped parameters under the pseudo-likelihood."""

from typing import ClassVar

from pymc_mrf.distributions.likelihood import OF_PSEUDO
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class PseudoGibbs(EngineGibbs):
    """Grouped edge parameters under the pseudo-likelihood, of fields of any treewidth.

    Leaves invariant: the posterior under the pseudo-likelihood (Besag, 1975), exactly; with missing cells an
    approximation, as `TreeGibbs` draws them from the field itself. Parameters, errors, statistics and
    references as of `ExactGibbs`; cost grows with the rows of the data.
    """

    name = "pseudo_gibbs"
    invariant: ClassVar = {Pseudo: OF_PSEUDO}
    default_for = Pseudo
