"""Samplers as published by Liu & Page (2013) and Chen & Welling (2012), for comparison; none is a default."""

from typing import TYPE_CHECKING

from pymc_mrf._public_names import public_names

if TYPE_CHECKING:
    from pymc_mrf.papers.auxiliary_variable import AuxiliaryVariableMH as AuxiliaryVariableMH
    from pymc_mrf.papers.persistent_langevin import PersistentLangevin as PersistentLangevin
    from pymc_mrf.papers.reversible_jump import ReversibleJump as ReversibleJump
    from pymc_mrf.papers.stripped_beta import StrippedBetaGibbs as StrippedBetaGibbs

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "papers.auxiliary_variable": "AuxiliaryVariableMH",
        "papers.persistent_langevin": "PersistentLangevin",
        "papers.reversible_jump": "ReversibleJump",
        "papers.stripped_beta": "StrippedBetaGibbs",
    },
)
