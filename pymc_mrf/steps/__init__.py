"""Step methods and their automatic assignment."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.steps.auxiliary.exchange import Exchange as Exchange
    from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs as EdgeGibbs
    from pymc_mrf.steps.groups.group_gibbs import ExactGibbs as ExactGibbs
    from pymc_mrf.steps.groups.group_gibbs import GroupGibbs as GroupGibbs
    from pymc_mrf.steps.groups.particle_ratio_gibbs import ParticleRatioGibbs as ParticleRatioGibbs
    from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs as CommunityGibbs
    from pymc_mrf.steps.hyper.conjugate import (
        ConjugateConcentration as ConjugateConcentration,
    )
    from pymc_mrf.steps.hyper.conjugate import ConjugateMeans as ConjugateMeans
    from pymc_mrf.steps.hyper.conjugate_hyperparameters import (
        ConjugateHyperparameters as ConjugateHyperparameters,
    )
    from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs as TreeGibbs

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "steps.auxiliary.exchange": "Exchange",
        "steps.edges.edge_gibbs": "EdgeGibbs",
        "steps.groups.group_gibbs": "ExactGibbs GroupGibbs",
        "steps.groups.particle_ratio_gibbs": "ParticleRatioGibbs",
        "steps.hyper.community_gibbs": "CommunityGibbs",
        "steps.hyper.conjugate": "ConjugateConcentration ConjugateMeans",
        "steps.hyper.conjugate_hyperparameters": "ConjugateHyperparameters",
        "steps.latent.tree_gibbs": "TreeGibbs",
    },
)
