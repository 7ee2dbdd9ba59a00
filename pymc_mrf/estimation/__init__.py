"""Point estimates of field parameters and of their structure.

Estimates for a `FactorGraph` are not implemented: fields are pairwise.
"""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.estimation.bounds import edge_appearance_probabilities as edge_appearance_probabilities
    from pymc_mrf.estimation.bounds import tree_reweighted_bound as tree_reweighted_bound
    from pymc_mrf.estimation.ising_lasso import elasso as elasso
    from pymc_mrf.estimation.l1 import l1_pseudo_likelihood as l1_pseudo_likelihood
    from pymc_mrf.estimation.neighborhood import neighborhood_selection as neighborhood_selection
    from pymc_mrf.estimation.point_estimates import fit as fit
    from pymc_mrf.estimation.trees import chow_liu as chow_liu

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "estimation.bounds": "edge_appearance_probabilities tree_reweighted_bound",
        "estimation.ising_lasso": "elasso",
        "estimation.l1": "l1_pseudo_likelihood",
        "estimation.neighborhood": "neighborhood_selection",
        "estimation.point_estimates": "fit",
        "estimation.trees": "chow_liu",
    },
)
