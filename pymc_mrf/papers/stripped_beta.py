"""`StrippedBetaGibbs`: Algorithm 2 of Liu & Page (2013) with the stripped Beta approximation."""

from typing import ClassVar

import numpy as np

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.likelihood import APPROXIMATE
from pymc_mrf.estimation.point_estimates import fit
from pymc_mrf.fields.families import agreement
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.edge_terms import allocate_terms
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.likelihood.particles.likelihood import Particles
from pymc_mrf.papers.engines.liu_page import StrippedBeta
from pymc_mrf.steps.common.statistics import Healthy, Statistic, Statistics
from pymc_mrf.steps.groups.group_step import GroupStep

BURN_IN = 100  # tied PCD iterations at the start of a chain
VALUE_PROPOSALS = 4  # independence proposals of every group value in a step; some 8 of 10 are accepted


class StrippedBetaGibbs(GroupStep):
    """Grouped parameters of an agreement field or an Ising model without external field.

    Leaves invariant: an approximation of the posterior, exact on trees only. The likelihood of one
    edge is replaced by a Beta density around its free maximum-likelihood estimate, and group values
    are drawn around the estimate tied by the current groups, which persistent contrastive divergence
    follows from step to step. Against the exact posterior of a five-edge loopy field the probability
    of a number of groups is off by up to the amount tabulated in ``docs/results.md``, and more groups
    are found than there are.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF` or `Ising`.
    n_particles : int, optional
        Persistent chains behind the tied estimate; by default the number of observations, at least
        200 and at most 1000.
    n_iterations : int
        Iterations of tied persistent contrastive divergence per step.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, the data are incomplete, or the
        free maximum-likelihood estimate does not exist.

    Notes
    -----
    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step) and
    ``stripped_beta_moment_gap`` (largest difference between a group's mean agreement in the data and
    in the particles).

    References
    ----------
    Liu & Page (2013), Algorithm 2, sec. 3.2; Neal (2000), Algorithm 8; Tieleman (2008).
    """

    name = "stripped_beta_gibbs"
    invariant: ClassVar = dict.fromkeys((Particles, Exact), APPROXIMATE)
    remembers = ("particles", "eta_tied")
    prefix = "stripped_beta"
    approximation = (
        "approximates the posterior, exactly on trees only: see pymc_mrf.steps.ParticleRatioGibbs"
    )
    statistics: Statistics = (
        Statistic(
            "moment_gap",
            "moment gap",
            Healthy(
                "follow the tied estimate longer: a larger n_iterations, or more particles", high=0.05
            ),
        ),
    )

    def __init__(self, vars, *, n_particles: int | None = None, n_iterations: int = 5, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        field = self._field = self._the_field()
        if field.family.node_axes or not field.family.measures_agreement:
            raise ValueError(
                f"StrippedBetaGibbs approximates agreement statistics without node terms, not those of "
                f"{field.name} ({field.family.title}): use AgreementMRF or Ising"
            )
        if not field.lacks_node_terms:
            raise ValueError(
                f"StrippedBetaGibbs needs a field without external field, but {field.name} has "
                "one: leave `field` at 0"
            )
        if n_particles is not None:
            n_particles = whole_number(n_particles, "n_particles", 1)
        n_iterations = whole_number(n_iterations, "n_iterations", 1)
        # an Ising model in zero field is an agreement field with eta = 2 J
        family = agreement(field.family.n_states)
        # the estimate belongs to the data: one fixed seed, the same for every chain and run
        estimate = fit(
            field.x,
            field.graph,
            method="pcd",
            family="agreement",
            n_states=family.n_states,
            random_seed=0,
        )
        self._eta_free = estimate.eta
        n = len(field.x)
        self._n_particles = n_particles or min(max(n, 200), 1000)
        options = n_iterations, self._n_particles
        self._terms = allocate_terms(1)
        self._engine = StrippedBeta(field.x, field.graph, family, self._eta_free, *options)
        self.particles = np.empty((0, field.graph.n_nodes), dtype=np.int8)
        self.eta_tied = self._eta_free.copy()
        self._warm_up()

    def _start(self):
        return self._eta_free

    def _begin(self, eta, base):
        rows = self.rng.integers(len(self._field.x), size=self._n_particles)
        self.particles = self._field.x[rows]
        values, labels = np.unique(eta, return_inverse=True)
        labels = labels.reshape(-1)
        for _ in range(BURN_IN):
            values, _gap = self._engine.tied_estimate(labels, values, self.particles, self.rng)
        self.eta_tied = values[labels]

    def _sweep_labels(self, groups, base):
        views, order = (self._engine.view,), np.arange(len(groups.labels))
        return group_labels.sweep_labels(
            groups, np.log(base.alpha), self._prior.density(base), views, order, self._terms, self.rng
        )[1]

    def _draw_values(self, labels, eta, base):
        start = np.bincount(labels, self.eta_tied) / np.bincount(labels)
        tied, gap = self._engine.tied_estimate(labels, start, self.particles, self.rng)
        self.eta_tied = tied[labels]
        group_labels.move_values(
            eta,
            *self._engine.group_statistics(labels, tied),
            self._prior.density(base),
            self._terms,
            VALUE_PROPOSALS,
            self.rng,
        )
        return eta, {"stripped_beta_moment_gap": gap}
