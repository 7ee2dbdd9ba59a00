"""Which step `pm.sample` gives to which variable, and clear errors where none is right.

PyMC asks every registered step how competent it is for one variable at a time. A Dirichlet process
says by its type that it needs a group sampler; the fields leave a tag on their free parents that tells
which likelihood they feed (see `pymc_mrf.distributions.parents.tag_parents`).
"""

import warnings

from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep, Competence

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.parents import feeds_intractable
from pymc_mrf.distributions.remedies import advice_of
from pymc_mrf.likelihood.particles.likelihood import IntractableLogPartition
from pymc_mrf.papers.auxiliary_variable import AuxiliaryVariableMH
from pymc_mrf.papers.persistent_langevin import PersistentLangevin
from pymc_mrf.papers.reversible_jump import ReversibleJump
from pymc_mrf.papers.stripped_beta import StrippedBetaGibbs
from pymc_mrf.steps.auxiliary.exchange import Exchange
from pymc_mrf.steps.auxiliary.intractable_fields import parents_of_intractable_fields
from pymc_mrf.steps.common.base import MRFStep, hand_back
from pymc_mrf.steps.common.expressions import fields_fed
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.groups.group_gibbs import ExactGibbs, GroupGibbs
from pymc_mrf.steps.groups.group_step import GroupStep, is_dirichlet_process
from pymc_mrf.steps.groups.particle_ratio_gibbs import ParticleRatioGibbs
from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs
from pymc_mrf.steps.hyper.conjugate import ConjugateConcentration, ConjugateMeans
from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs, MixedGibbs, SeriesGibbs
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs

GROUP_SAMPLERS: tuple[type[GroupStep], ...] = (
    GroupGibbs,
    ParticleRatioGibbs,
    StrippedBetaGibbs,
    AuxiliaryVariableMH,
)
# in the order in which PyMC asks them
AUTOMATIC = (
    *GROUP_SAMPLERS,
    CommunityGibbs,
    ConjugateConcentration,
    ConjugateHyperparameters,
    ConjugateMeans,
    EdgeGibbs,
    Exchange,
    TreeGibbs,
    SeriesGibbs,
    GaussianGibbs,
    MixedGibbs,
)
STEPS: tuple[type[MRFStep], ...] = (*AUTOMATIC, ExactGibbs, ReversibleJump, PersistentLangevin)
"""All steps; those that are not `AUTOMATIC` are made on request only."""


class Unsampleable(BlockedStep):
    """Takes the variables that no step of PyMC samples rightly, to say so before sampling starts."""

    name = "unsampleable"

    @staticmethod
    def competence(var, has_grad):
        """Claim what would otherwise be sampled under an unnormalised or undefined density."""
        if isinstance(var.owner.op, DirichletProcessRV):
            served = any(step.competence(var, has_grad) for step in GROUP_SAMPLERS)
            return Competence.INCOMPATIBLE if served else Competence.IDEAL
        discrete = not var.dtype.startswith("float")
        # a frozen model has lost its tags: then names tell, and the constructor finds out for certain
        feeds = feeds_intractable(var) or any(
            var.name == other.name for other in IntractableLogPartition.discrete_inputs
        )
        if discrete and feeds:
            return Competence.IDEAL + 1  # PyMC's Gibbs steps for Bernoulli and Categorical are ideal
        return Competence.INCOMPATIBLE

    def __new__(cls, vars, *, model, **kwargs):
        """Raise an error that names the variable and the remedy, or hand variables back.

        Tags do not survive `freeze_model`: a process whose field is found only now gets its sampler, and
        discrete variables that feed no intractable field get PyMC's own steps.
        """
        feeding = parents_of_intractable_fields(model)
        processes, others = [], []
        for value in vars:
            rv = model.values_to_rvs[value]
            if is_dirichlet_process(rv):
                processes.append(value)
            elif rv in feeding:
                raise ValueError(
                    f"{rv.name} is discrete and parametrises a field whose partition function is "
                    "intractable, and no step samples that; "
                    f"{advice_of(feeding[rv], model, 'declare the field with')}"
                )
            else:
                others.append(value)
        kwargs["model"] = model
        own = (lambda: cls._group_sampler(processes, **kwargs)) if processes else None
        return hand_back(cls, others, model, kwargs, own)

    @classmethod
    def _group_sampler(cls, vars, *, model, **kwargs) -> BlockedStep:
        """Find the sampler of a Dirichlet process by its field, or refuse."""
        var = model.values_to_rvs[vars[0]]
        nodes = fields_fed(var, model)
        for step in GROUP_SAMPLERS:
            if nodes and step.is_default_for(nodes[0].op.likelihood):
                return step(vars, model=model, **kwargs)
        what = (
            f'a field with likelihood="{nodes[0].op.likelihood.name}"'
            if nodes
            else "no Markov random field"
        )
        raise ValueError(
            f"{var.name} is a DirichletProcess that feeds {what}, and no step samples that; pass it "
            'to a field with likelihood="auto"'
        )

    def step(self, point):
        raise AssertionError("Unsampleable is never instantiated")


def register() -> None:
    """Add the package's steps to PyMC's list, once, and have its check of their draws not warn of 0 / 0.

    That is R-hat of entries that never change, as the first label of every `EdgeCommunities`: NaN.
    """
    zero_by_zero = "invalid value encountered in scalar divide"
    warnings.filterwarnings("ignore", zero_by_zero, RuntimeWarning, r"arviz_stats\.base\.diagnostics")
    for step in (*AUTOMATIC, Unsampleable):
        if step not in STEP_METHODS:
            STEP_METHODS.append(step)
