"""`ExactGibbs`: grouped parameters under the exact likelihood (Gibbs_ExactL of Liu & Page, 2013)."""

from typing import ClassVar

import numpy as np
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state

from pymc_mrf.likelihood.exact import ExactLikelihood, ForestLikelihood
from pymc_mrf.steps.base_measure import BaseMeasure
from pymc_mrf.steps.chain_report import ChainCountState
from pymc_mrf.steps.group_gibbs import GroupGibbs, k_means_start

# A pass over all group values costs as much as two or three sweeps of all labels, which mix more slowly
LABEL_SWEEPS = 2


@dataclass_state
class ExactGibbsState(StepMethodState):
    """Everything that changes while a chain runs."""

    tune: bool
    started: bool
    count: ChainCountState


class ExactGibbs(GroupGibbs):
    """Grouped edge parameters of a field of small treewidth.

    Leaves invariant: the posterior, exactly, up to a relative quadrature error below 1e-8 in the
    probability of a new group (for a million observations and more, up to the rounding of the
    log-likelihood) and to double precision, in which values of theta above 1 - 2e-16 are one.

    All labels are redrawn in turn, twice, from eq. (4) of Liu & Page (2013), whose terms follow from
    one edge marginal on the junction tree (identity A1); then all group values by slice sampling given
    the labels. On forests both are in closed form.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising` or
        `BoltzmannMachine`; node parameters must be constants.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, the data are incomplete, node
        parameters are random, or the junction tree is too wide.

    Notes
    -----
    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step) and
    ``exact_gibbs_n_evaluations`` (passes over the junction tree for the group values).

    References
    ----------
    Liu & Page (2013), eq. (4); Neal (2000), Algorithm 2; Neal (2003).
    """

    name = "exact_gibbs"
    serves = ("exact",)
    default_for = "exact"
    _state_class = ExactGibbsState
    stats_dtypes_shapes: ClassVar[dict] = {
        **GroupGibbs.stats_dtypes_shapes,
        "exact_gibbs_n_evaluations": (np.int64, []),
    }

    def __init__(self, vars, **kwargs) -> None:
        import networkx as nx

        super().__init__(vars, **kwargs)
        field = self._field
        family = field.family
        node_parameter = field.constant_node_parameter()
        node_tables, statistic = self._link.tables(node_parameter)
        self._forest: ForestLikelihood | None = None
        self._exact: ExactLikelihood | None = None
        agreement_only = family.name != "boltzmann" and not np.any(node_parameter)
        if agreement_only and nx.is_forest(field.graph.to_networkx()):
            self._forest = ForestLikelihood(field.x, field.graph, statistic)
        else:
            self._exact = ExactLikelihood(field.x, field.graph, statistic, node_tables)
        self._warm_up()

    def _begin(self, eta, base: BaseMeasure):
        if eta is not None:
            return eta
        # a start near the data: each edge as if it stood alone
        x, (u, v) = self._field.x, self._field.graph.edges.T
        statistic = self._link.tables(np.zeros(self._field.graph.n_nodes))[1]
        mean = (statistic[x[:, u], x[:, v]].sum(axis=0) + 0.5) / (len(x) + 1.0)
        return k_means_start(np.log(mean) - np.log1p(-mean), base, self.rng)

    def _sweep_labels(self, labels, eta, sizes, n_groups, base):
        if self._forest is not None:
            return self._sweep_fixed_labels(self._forest, labels, eta, sizes, n_groups, base)
        assert self._exact is not None
        total = 0
        for _ in range(LABEL_SWEEPS):
            n_groups, n_new = self._exact.sweep_labels(
                labels,
                eta,
                sizes,
                n_groups,
                np.log(base.alpha),
                self._prior.series(base),
                self._edge_work,
                self.rng,
            )
            self._check_integrals(np.where(n_groups > 0, 0.0, np.nan))
            total += n_new
        return n_groups, total

    def _draw_values(self, labels, eta, base):
        if self._forest is not None:
            eta = self._independent_values(*self._forest.group_statistics(labels), base)
            return eta, {"exact_gibbs_n_evaluations": 0}
        assert self._exact is not None
        eta = eta.copy()
        count = self._exact.slice_values(labels, eta, self._prior.series(base), self.rng)
        return eta, {"exact_gibbs_n_evaluations": count}
