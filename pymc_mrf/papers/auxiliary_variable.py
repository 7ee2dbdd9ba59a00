"""`AuxiliaryVariableMH`: Algorithm 1 of Liu & Page (2013), Metropolis-Hastings with auxiliary data.

Statistics of more than two values, node parameters by state or random ones, missing cells, and several fields
of one vector are not implemented.
"""

from typing import ClassVar

import numpy as np

from pymc_mrf.checks import flag, number, whole_number
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.kernels.simulation import gibbs, pair_counts
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.likelihood.particles.likelihood import Particles
from pymc_mrf.papers.engines.liu_page import (
    ETA_MAX,
    STEP_MAX,
    SimulatedDraws,
    exact_draws,
    regularised_covariance,
    tied_pcd,
)
from pymc_mrf.papers.kernels import auxiliary_groups as kernels
from pymc_mrf.papers.kernels.auxiliary_draws import ExactDraws
from pymc_mrf.steps.auxiliary.exchange_checks import AUXILIARY_DRAWS, Wording, sets_around, short_chains
from pymc_mrf.steps.auxiliary.intractable_fields import intractable_field
from pymc_mrf.steps.common.base import GIVEN_DRAWS
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance
from pymc_mrf.steps.groups.group_step import LOGIT_BOUNDS, BaseMeasure, GroupStep

N_PARTICLES = 1000  # persistent chains behind the estimate theta~
BURN_IN, ITERATIONS = 100, 100  # of persistent contrastive divergence
TIED_ITERATIONS = 10  # simulations behind an estimate tied by a grouping
WORDS = Wording("AuxiliaryVariableMH", "AuxiliaryVariableMH(n_sweeps={n})")


class AuxiliaryVariableMH(GroupStep):
    """Grouped edge parameters by Metropolis-Hastings, partition functions cancelled by auxiliary data.

    Leaves invariant: the posterior, exactly given exact auxiliary draws (``draws="exact"``, which
    "auto" chooses for fields of small treewidth, and "perfect"). With ``draws="gibbs"`` an approximation,
    the better the more sweeps; with ``restart=True`` an approximation in any case.

    Algorithm 1 to the letter is ``auxiliary="moller", restart=True``; the defaults are exact and move more.

    Every label gets `n_proposals` proposals from its prior given the other labels, a new group having
    a value from the base; then all group values together make `n_value_steps` steps of a Gaussian
    random walk. Each proposal is scored with data sets of as many rows as were observed, simulated at
    the proposed parameters.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising` or
        `BoltzmannMachine`; node parameters must be constants.
    n_proposals : int
        Proposals per label, M.
    n_value_steps : int
        Random-walk steps of the group values, S; the state after the last is kept. (The paper keeps
        one of the S at random, which moves less.)
    sigma : float
        Standard deviation of the random walk, on the scale of the parameter. The default is the
        paper's; with few observations 0.01 to 0.1 moves faster.
    auxiliary : {"exchange", "moller"}
        "exchange": the ratio of the exchange algorithm. "moller": the paper's, which keeps a data set
        distributed around an estimate as part of the state; moves away from that estimate are hardly
        ever accepted when there are many edges or observations (on a 4 x 4 grid about 1 label in
        5,000, where exchange accepts 1 in 50).
    draws : {"auto", "exact", "perfect", "gibbs"}
        "exact": by the junction tree. "perfect": by coupling from the past, for binary fields whose
        base allows attractive parameters only; slow where couplings are strong. "gibbs": chains that
        start at the observed rows, of up to 16 rows over trees: see `AuxiliarySampler`. "auto": exact if the
        junction tree is small enough (`pymc_mrf.graph.junction_tree.AUTO_CELLS`), else "gibbs".
    n_sweeps : int
        Sweeps of the chains of "gibbs".
    restart : bool
        Whether the random walk starts at the estimate tied by the present groups in every step, as in
        the paper, instead of at the present values. This does not leave the posterior invariant.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, the variable feeds another kind of field or anything else, the data
        are incomplete, node parameters are random, or exact draws are asked for and the junction
        tree is too wide.

    Notes
    -----
    The estimate theta~ comes from persistent contrastive divergence with a fixed seed: it is a function
    of the data. The estimate tied by a grouping, at which the data set for the group values is drawn
    anew in every step, comes from a few stochastic Newton steps with simulated moments, also with a
    fixed seed: a function of data and grouping, as invariance requires.

    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (edges that opened a group),
    ``auxiliary_mh_label_acceptance`` (share accepted of the proposed labels with another value),
    ``auxiliary_mh_value_acceptance``, ``auxiliary_mh_draws`` (the sampler of the auxiliary data: "exact",
    "perfect" or "gibbs") and ``auxiliary_mh_n_sweeps`` (of "gibbs", else 0). A warning at the end of a chain
    says if, at the end of tuning, 3 `n_sweeps` would have made a difference
    (`pymc_mrf.steps.auxiliary.exchange_checks`), or if nothing changed in 50 draws or more.

    References
    ----------
    Liu & Page (2013), Algorithm 1, sec. 3.1; Møller, Pettitt, Reeves & Berthelsen (2006); Murray,
    Ghahramani & MacKay (2006); Neal (2000), Algorithm 5.
    """

    name = "auxiliary_variable_mh"
    invariant: ClassVar = dict.fromkeys((Particles, Exact), GIVEN_DRAWS)
    remembers = ("s_auxiliary", "complaints")
    prefix = "auxiliary_mh"
    statistics: Statistics = (
        Statistic(
            "label_acceptance",
            "label acceptance",
            acceptance(
                "make more proposals (n_proposals), or let pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs "
                "sample groups",
                0.005,
            ),
        ),
        Statistic(
            "value_acceptance",
            "value acceptance",
            acceptance(
                "a smaller sigma if too few proposals are accepted, a larger one if nearly all are",
                0.05,
                0.9,
            ),
        ),
        *AUXILIARY_DRAWS,
    )

    def __init__(
        self,
        vars,
        *,
        n_proposals: int = 5,
        n_value_steps: int = 100,
        sigma: float = 0.001,
        auxiliary: str = "exchange",
        draws: str = "auto",
        n_sweeps: int = 20,
        restart: bool = False,
        **kwargs,
    ) -> None:
        super().__init__(vars, **kwargs)
        self._n_proposals = whole_number(n_proposals, "n_proposals", 1)
        self._n_value_steps = whole_number(n_value_steps, "n_value_steps", 1)
        self._sigma = number(sigma, "sigma", 0.0)
        if auxiliary not in ("exchange", "moller"):
            raise ValueError(f'auxiliary must be "exchange" or "moller", not {auxiliary!r}')
        self._moller, self._restart = auxiliary == "moller", flag(restart, "restart")
        field = self._field = self._the_field()
        if field.family.node_axes or not self._link.is_binary:
            raise ValueError(
                f"AuxiliaryVariableMH samples AgreementMRF, Ising and BoltzmannMachine, not {field.name} "
                f"({field.family.title}): use pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs"
            )
        node_tables, statistic = self._link.tables(field.constant_node_parameter())
        sampler = AuxiliarySampler(
            field.graph, len(statistic), len(field.x), draws=draws, n_sweeps=n_sweeps, name=field.name
        )
        self._draws, self._n_sweeps = sampler.draws, sampler.n_sweeps
        self._aux: ExactDraws | SimulatedDraws
        self._intractable = None
        if self._draws == "exact":
            self._aux = exact_draws(sampler, statistic, node_tables)
        else:
            self._aux = SimulatedDraws(sampler, statistic, node_tables, field.x)
        if self._draws == "gibbs":
            rv, step = self._model[field.name], type(self).__name__
            self._intractable = intractable_field(
                rv, field_node(rv), self._model, step, "gibbs", n_sweeps
            )
        self._s = np.empty(field.graph.n_edges)
        gibbs.edge_statistics(field.x, field.graph.edges, statistic, self._s)
        self._slope = 0.0 if field.family.is_log_odds else self._link.scale
        self._estimate, self._information = _estimate(field, self._s, node_tables, statistic)
        self.s_auxiliary = np.zeros(field.graph.n_edges)
        self._label_acceptance = np.nan
        self._warm_up()

    def _forget(self) -> None:
        super()._forget()
        self.complaints: list[str] = []

    def _check_base(self, base):
        if self._draws == "perfect" and base.bounds[0] < 0.0:
            raise ValueError(
                'draws="perfect" needs an attractive field whatever the parameters, but the base of '
                f"{self._name} allows parameters below the one of independence; use a base above it (for "
                "example pm.Uniform.dist(0.5, 1) for theta, pm.HalfNormal.dist() for a coupling) or "
                'draws="gibbs"'
            )

    def _start(self):
        return self._estimate

    def _default(self, base):
        _, labels = np.unique(super()._default(base), return_inverse=True)
        labels = labels.reshape(-1)
        return self._tied_estimate(labels, base)[labels]

    def _begin(self, eta, base):
        # at the parameters, not at theta~: the first proposals are drawn like the state
        self._aux.draw_statistics(eta, self.s_auxiliary, self.rng)

    def _fitting(self, move):
        """Return a move as it is compiled for exact draws, or for the interpreter that asks simulations."""
        return move if self._aux.by_edge else move.py_func

    def _sweep_labels(self, groups, base):
        n_new, n_accepted, n_changes = self._fitting(kernels.propose_labels)(
            groups,
            self._s,
            base.alpha,
            self._n_proposals,
            self._moller,
            self._estimate,
            self.s_auxiliary,
            self._prior.density(base),
            self._aux,
            self.rng,
        )
        # handed on to the statistics of the same step
        self._label_acceptance = n_accepted / n_changes if n_changes else np.nan
        return n_new

    def _draw_values(self, labels, eta, base):
        if self.count.has_just_tuned and not self.tune:
            self.complaints = self._short_chains(labels, eta)
        eta = eta.copy()
        reference = self._tied_estimate(labels, base) if self._moller or self._restart else eta
        if self._restart:
            eta = reference.copy()
        n_accepted = self._fitting(kernels.walk_values)(
            labels,
            eta,
            self._s,
            kernels.Walk(self._n_value_steps, self._sigma, self._slope),
            self._prior.density(base),
            self._moller,
            reference[labels],
            self._aux,
            self.rng,
        )
        return eta, {
            "auxiliary_mh_label_acceptance": self._label_acceptance,
            "auxiliary_mh_value_acceptance": n_accepted / self._n_value_steps,
            "auxiliary_mh_draws": self._draws,
            "auxiliary_mh_n_sweeps": self._n_sweeps,
        }

    def _short_chains(self, labels: np.ndarray, eta: np.ndarray) -> list[str]:
        """Complain if Gibbs chains are too short for the group values `eta` (K,), all else fixed."""
        if self._intractable is None:
            return []
        node_tables, statistic = self._link.tables(self._field.constant_node_parameter())
        members = np.equal.outer(labels, np.arange(len(eta))).astype(float)  # (r, K)
        covariance = np.linalg.inv(len(self._field.x) * (members.T @ self._information @ members))

        def evaluate(values: np.ndarray) -> tuple[float, list[np.ndarray]]:
            edge_tables = values[labels][:, None, None] * statistic
            return 0.0, [np.concatenate([edge_tables.ravel(), node_tables.ravel()])[None]]

        fields, left = [self._intractable], [np.zeros(self._intractable.graph.n_nodes, dtype=bool)]
        points, gaps = sets_around(evaluate, fields, eta, np.linalg.cholesky(covariance), left, self.rng)
        return short_chains(fields, points, gaps, left, WORDS)

    def _warn_at_end(self) -> list[str]:
        return super()._warn_at_end() + self.complaints

    def _tied_estimate(self, labels: np.ndarray, base: BaseMeasure) -> np.ndarray:
        """Estimate of the group values (K,) tied by `labels`, a function of data, grouping and base.

        Generalised least squares from the free estimate, then stochastic Newton steps 1 / t towards
        equal moments of data and simulations, inside the support of the base.
        """
        rng = np.random.default_rng(0)  # no randomness of the chain may enter
        low, high = max(base.bounds[0], -ETA_MAX), min(base.bounds[1], ETA_MAX)
        members = np.equal.outer(labels, np.arange(labels.max() + 1)).astype(float)  # (r, K)
        weighted = members.T @ self._information  # (K, r)
        inverse = np.linalg.inv(weighted @ members)  # (K, K)
        tied = np.clip(inverse @ (weighted @ self._estimate), low, high)
        simulated = np.empty(len(labels))
        for t in range(1, TIED_ITERATIONS + 1):
            self._aux.draw_statistics(tied[labels], simulated, rng)
            gap = members.T @ (self._s - simulated) / len(self._field.x)  # (K,)
            step = np.clip(inverse @ gap / t, -STEP_MAX, STEP_MAX)
            tied = np.clip(tied + step, low, high)
        return tied


def _estimate(
    field: ObservedField, s: np.ndarray, node_tables: np.ndarray, statistic: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Free estimate eta~ (r,) by persistent contrastive divergence, and its information (r, r)."""
    graph, n = field.graph, len(field.x)
    rng = np.random.default_rng(0)  # the estimate belongs to the data: the same for every chain
    particles = field.x[rng.integers(n, size=N_PARTICLES)]
    mean = (s + 0.5) / (n + 1.0)
    eta = np.clip(np.log(mean) - np.log1p(-mean), *LOGIT_BOUNDS)
    labels = np.arange(graph.n_edges)
    simulator = GibbsSimulator(graph, len(statistic), N_PARTICLES)
    for n_iterations in (BURN_IN // 2, BURN_IN - BURN_IN // 2, ITERATIONS):
        eta, _gap = tied_pcd(
            eta, labels, s / n, particles, statistic, node_tables, simulator, n_iterations, rng
        )
    statistics = np.empty((N_PARTICLES, graph.n_edges))
    pair_counts.tied_statistics(particles, labels, graph.edges, statistic, statistics)
    return eta, regularised_covariance(statistics, 0.5 * mean * (1.0 - mean))
