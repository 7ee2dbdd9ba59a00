"""`EdgeGibbs`: which edges a field has, how strong they are, and its biases."""

from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import BlockedStep, Competence, CompoundStep, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from rich.progress import TextColumn
from rich.table import Column

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.mrf_rv import field_node, likelihoods_fed
from pymc_mrf.likelihood.edge_engine import EdgeEngine
from pymc_mrf.likelihood.exact_edges import ExactEdges
from pymc_mrf.likelihood.particle_edges import ParticleEdges
from pymc_mrf.likelihood.pseudo_edges import PseudoEdges
from pymc_mrf.steps.chain_report import WARNING_STAT, ChainCount, ChainCountState, chain_warning
from pymc_mrf.steps.edge_checks import is_kept, never_changed, strong_couplings, too_few_particles
from pymc_mrf.steps.edge_prior import EdgePriorReader, has_readable_prior
from pymc_mrf.steps.edge_start import EdgeStart
from pymc_mrf.steps.edge_target import (
    bias_variable,
    edge_target,
    is_spike_and_slab,
    simulation_options,
    warn_of_constant_columns,
)
from pymc_mrf.steps.observed_field import children, constant_value
from pymc_mrf.steps.pymc_steps import check_step_arguments, hand_back, warm_up

ENGINES: dict[str, type[EdgeEngine]] = {
    "exact": ExactEdges,
    "pseudo": PseudoEdges,
    "particles": ParticleEdges,
}
# length of a joint move, in standard deviations: a quarter of an oscillation; engines may stretch it
TRAJECTORY = 1.6
LONGEST_LOG_STEP = float(np.log(TRAJECTORY))
MAX_LEAPFROG = 16
TARGET_ACCEPT = 0.8


@dataclass_state
class EdgeGibbsState(StepMethodState):
    """Everything that changes while a chain runs."""

    tune: bool
    started: bool
    n_tuned: int
    log_step: float
    information: np.ndarray
    particles: tuple
    count: ChainCountState
    noise: list
    weights: list


def _belongs_to_nuts(rv) -> bool:
    """Whether biases feed another likelihood beside a field; only the model of the context tells.

    Without one, `EdgeGibbs.__new__` finds out.
    """
    try:
        model = pm.modelcontext(None)
    except TypeError:
        return False
    movable = rv in model.free_RVs and "particles" not in likelihoods_fed(rv)
    return movable and len(children(rv, model)) > 1


class EdgeGibbs(BlockedStep):
    """Edges, weights and biases of an observed field with a `SpikeAndSlab` prior on its weights.

    Leaves invariant: the posterior, exactly, under ``likelihood="exact"``; the distribution
    proportional to prior times pseudo-likelihood, exactly, under ``likelihood="pseudo"``; in both cases
    up to 1e-11 in the log density of a slab that is not pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace,
    which is tabulated. Under ``likelihood="particles"``, for fields of any treewidth: an approximation of the
    posterior, whose error vanishes as the particles increase. On a complete field of four nodes (n = 80
    and 600) the largest error of an inclusion probability was 0.007 with m = 5 n particles, where its
    Monte-Carlo error is 0.006, and up to 0.026 with m = n; twelve strongly coupled nodes are in
    ``docs/results.md``. Adaptation ends with tuning, which the correction for noise needs.

    One step updates every candidate edge in turn, presence and value together: the proposal does not
    depend on the present state of the edge and approximates its full conditional by Laplace's method,
    and a Metropolis-Hastings step corrects the rest. A change of an edge keeps the biases centred at
    the data, b_i + sum_j w_ij mean(y_j), if the biases belong to this step. Under ``"pseudo"`` and
    ``"particles"`` some pairs of edges follow, updated in the same way but together: edges that share a node
    and whose other ends are so closely linked that the data hardly tell one from the other. Then Hamiltonian
    Monte Carlo moves the weights of all present edges, and the biases, jointly.

    Under ``likelihood="particles"`` what enumeration or the junction tree tells otherwise is estimated
    from weighted particles: the weights follow every change exactly, particles are drawn anew where an edge
    changes, swept, and resampled when the effective size of their weights falls below one half; joint moves
    are cut into pieces that the weights can follow; estimates are corrected for their own noise, by means
    that are learnt in tuning (`pymc_mrf.kernels.particle_edges`, `pymc_mrf.kernels.particle_joint`).

    Parameters
    ----------
    vars : list of variables
        A `SpikeAndSlab` that is the weight of an observed `BoltzmannMachine` or the coupling of an
        `Ising` field; optionally the free variable that is the bias (field) of the same field, if its
        prior is a vector of pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace and it feeds nothing else. Other
        biases are read, and left to other steps; under ``likelihood="particles"`` they must be constants.
    n_joint : int
        Joint moves in a step.
    n_particles : int, optional
        Particles, under ``likelihood="particles"`` only: 5 times the rows of the data and at least 500 by
        default. A test of their number is that twice as many change nothing.
    n_sweeps : int, optional
        Gibbs sweeps of the particles after every sweep over the edges and after resampling in it, under
        ``likelihood="particles"`` only: 1 by default.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError, TypeError
        If the variable feeds no field, anything else or a field through a transformation, the data are
        incomplete, an option is out of range or without meaning for the field's likelihood, or biases
        are random that this step cannot or does not move although the likelihood is from particles.

    Warns
    -----
    UserWarning
        If a column of the data is constant: then only the prior keeps its parameters finite.

    Notes
    -----
    A chain that starts at PyMC's default, no edges, is moved to the ridge pseudo-likelihood estimate,
    cut where it is less than two standard errors from zero; any other start is kept.

    Sampler statistics: ``edge_gibbs_n_active`` (present edges), ``edge_gibbs_accept`` (accepted share of
    the single-edge proposals that would change something), ``edge_gibbs_joint_accept`` (mean acceptance
    probability of joint moves) and ``edge_gibbs_step_size`` (of their leapfrog steps);
    ``edge_gibbs_noise`` (standard deviation of the estimated log-likelihood ratio between two values of an
    edge one posterior standard deviation apart, root mean square over the edges that were not hopeless),
    ``edge_gibbs_ess`` (smallest effective size of the weights in the step, relative to the particles) and
    ``edge_gibbs_resamplings``, which are 0, 1 and 0 where nothing is estimated. The weights follow every
    change, so that particles cannot lag behind it: noise and effective size say whether they are enough.

    A warning at the end of a chain says if the noise, root mean square over the draws, was above 0.5; if the
    couplings are too strong for ``likelihood="pseudo"`` (`pymc_mrf.fields.coupling_strength`); or if
    neither an edge nor a weight ever changed in 50 draws or more.

    References
    ----------
    Chen & Welling (2012); Besag (1975); Neal (2011); Geyer (1991) and Asuncion et al. (2010) for weighted
    particles; Ceperley & Dewing (1999) for corrections of random log ratios.
    """

    name = "edge_gibbs"
    default_blocked = True
    _state_class = EdgeGibbsState
    stats_dtypes_shapes: ClassVar[dict] = {
        "edge_gibbs_n_active": (np.int64, []),
        "edge_gibbs_accept": (np.float64, []),
        "edge_gibbs_joint_accept": (np.float64, []),
        "edge_gibbs_step_size": (np.float64, []),
        "edge_gibbs_noise": (np.float64, []),
        "edge_gibbs_ess": (np.float64, []),
        "edge_gibbs_resamplings": (np.int64, []),
        "warning": WARNING_STAT,
    }

    def __new__(cls, vars, *args, **kwargs):
        """Build the step; one for each field if there are several."""
        check_step_arguments(cls.__name__, vars, kwargs.get("model"))
        model = pm.modelcontext(kwargs.get("model"))
        values = get_value_vars_from_user_vars(vars, model)
        edges = [v for v in values if is_spike_and_slab(model.values_to_rvs[v])]
        blocks = []
        for value in edges:
            found = bias_variable(model.values_to_rvs[value], model)
            blocks.append([value, *(v for v in values if model.values_to_rvs[v] is found)])
        others = [v for v in values if not any(v in block for block in blocks)]
        if others and kwargs.get("initial_point") is not None:
            return cls._leave_biases(others, [v for v in values if v not in others], model, args, kwargs)
        if len(edges) < 2:
            return super().__new__(cls, values, *args, **kwargs)
        if others:
            blocks.append(others)
        return CompoundStep([cls(block, *args, **kwargs) for block in blocks])

    @classmethod
    def _leave_biases(cls, others, values, model: pm.Model, args, kwargs):
        """Give biases that this step cannot move to PyMC's own, if those can; make the step for `values`.

        Their edges may be in another step, or they feed another likelihood beside the field.
        """
        for value in others:
            rv = model.values_to_rvs[value]
            if "particles" not in likelihoods_fed(rv):
                continue
            fed = [child for child in children(rv, model) if field_node(child) is None]
            remedy = "Pass it to the step of the edges, EdgeGibbs or PersistentLangevin, as well"
            if fed:
                remedy = (
                    f'Declare the field with likelihood="exact" or "pseudo", or let {fed[0].name} depend on '
                    f"something else than {rv.name}"
                )
            raise ValueError(
                f"{rv.name} is left to no step that can move it: it parametrises a field whose partition "
                f"function is intractable. {remedy}"
            )
        own = (lambda: cls(values, *args, **kwargs)) if values else None
        return hand_back(cls, others, model, kwargs, own, has_grad=True)

    def __init__(
        self,
        vars,
        *,
        n_joint: int = 1,
        n_particles: int | None = None,
        n_sweeps: int | None = None,
        model: pm.Model | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        rng=None,
        blocked: bool = True,
    ) -> None:
        model = pm.modelcontext(model)
        self.vars = get_value_vars_from_user_vars(vars, model)
        self.rng = get_random_generator(rng)
        self._n_joint = whole_number(n_joint, "n_joint", 0)
        rvs = [model.values_to_rvs[value] for value in self.vars]
        rv, bias_rv, field, likelihood = edge_target(rvs, model, "EdgeGibbs", tuple(ENGINES))
        options = simulation_options(field, likelihood, n_particles, n_sweeps, 1)
        self._field = field
        d = field.graph.n_nodes
        self._name = model.rvs_to_values[rv].name
        self._bias_name = None if bias_rv is None else model.rvs_to_values[bias_rv].name
        self._prior = EdgePriorReader(rv, bias_rv, field.node_parameter, d, model, compile_kwargs)
        warn_of_constant_columns(field, stacklevel=4)
        if likelihood == "particles":
            self._check_biases(rv, bias_rv, bias_variable(rv, model))
        engine = ENGINES[likelihood]
        self._engine = engine(field.x, field.graph, field.family, bias_rv is not None, **options)
        self._information = self._engine.information.copy()
        self._point = model.initial_point() if initial_point is None else initial_point
        self._default_start: np.ndarray | None = None
        if model.rvs_to_initial_values[rv] is None:
            self._default_start = model.initial_point()[self._name]
        scale = float(self._prior.read(self._point)[0].slab.scale[0])
        self._start = EdgeStart(field, scale, bias_rv is not None)
        self._reset()
        warm_up(self, self._point)
        self._reset()

    def _check_biases(self, rv, bias_rv, found) -> None:
        """Refuse random biases that another step would have to move: none can, under particles."""
        field = self._field
        if bias_rv is None and field.node_parameter is not None:
            if constant_value(field.node_parameter) is None:
                what = (
                    "give numbers, or a vector of pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace that feeds "
                    "nothing else"
                )
                if found is not None:
                    what = f"pass {found.name} too, as in step=EdgeGibbs([{rv.name}, {found.name}])"
                raise ValueError(
                    f'under likelihood="particles" EdgeGibbs moves the {field.family.node_parameter} of '
                    f"{field.name} itself, or it must be a constant: {what}"
                )

    @property
    def particles(self) -> tuple:
        """States, weights and parameters of the particles, part of the resumable state; else empty."""
        return self._engine.get_state()

    @particles.setter
    def particles(self, state: tuple) -> None:
        self._engine.set_state(*state)

    @property
    def information(self) -> np.ndarray:
        """What the engine has learnt about the scale of joint moves: part of the resumable state."""
        return self._engine.information.copy()

    @information.setter
    def information(self, information: np.ndarray) -> None:
        self._engine.information[:] = information

    def _reset(self) -> None:
        """Forget everything learnt."""
        self.tune = True
        self.started = False
        self.n_tuned = 0
        self.log_step = float(np.log(0.4))
        self.count = ChainCount()
        self.noise: list[float] = []
        self.weights: list[np.ndarray] = []
        self.information = self._information
        self._engine.forget()

    @staticmethod
    def competence(var, has_grad):
        """Ideal for a spike-and-slab variable, and for biases of the field that it feeds."""
        bias = getattr(var.tag, "mrf_edge_gibbs_bias", False) and has_readable_prior(var)
        if is_spike_and_slab(var) or (bias and not _belongs_to_nuts(var)):
            return Competence.IDEAL
        return Competence.INCOMPATIBLE

    def setup_chain(self, rng, tune: int, draws: int) -> None:
        """Forget the previous chain; refuse data set since the step was made."""
        self._field.held.check_unchanged()
        super().setup_chain(rng, tune, draws)
        self._reset()
        self.tune = tune > 0
        self.count = ChainCount(tune, draws)

    def step(self, point):
        """Update every edge, then present edges and biases jointly."""
        prior, b = self._prior.read(point)
        w = np.array(point[self._name], dtype=np.float64)
        if not self.started:
            # PyMC's default start, no edges, is replaced; any other is the user's
            if self._default_start is not None and np.array_equal(w, self._default_start):
                w, b = self._start.draw(prior, b, self.rng)
            self.started = True
        old = w.copy()
        n_proposed, n_accepted = self._engine.sweep(w, b, prior, self.rng)
        if self.tune:
            self._engine.learn_sweep()
        accepts = [self._joint(w, b, prior) for _ in range(self._n_joint)]
        accepts = [accept for accept in accepts if not np.isnan(accept)]  # where anything was to move
        stats = {
            "edge_gibbs_n_active": int(np.count_nonzero(w)),
            "edge_gibbs_accept": n_accepted / n_proposed if n_proposed else 1.0,
            "edge_gibbs_joint_accept": sum(accepts) / len(accepts) if accepts else 1.0,
            "edge_gibbs_step_size": float(np.exp(self.log_step)),
            **{f"edge_gibbs_{name}": value for name, value in self._engine.statistics().items()},
        }
        # without an edge, nor a proposal of one, there is nothing that could have moved
        moved = not np.array_equal(w, old) or not (w.any() or n_proposed)
        stats["warning"] = self._speak(w, moved, stats["edge_gibbs_noise"])
        new = {**point, self._name: w}
        if self._bias_name is not None:
            new[self._bias_name] = b
        return new, [stats]

    def _speak(self, w, moved: bool, noise: float):
        """Count a draw; at the end of a chain, say what speaks against it."""
        ends = self.count.add(self.tune, moved)
        engine = self._engine
        if not self.tune:
            self.noise.append(noise**2)
            if engine.assumes_weak_couplings and is_kept(self.count):
                self.weights.append(w.copy())
        if not ends:
            return None
        complaints = never_changed(self._name, self.count)
        if self.noise:
            complaints += too_few_particles(self._name, self.noise, engine.n_particles)
        if self.weights:
            complaints += strong_couplings(self._field, self.weights)
        return chain_warning(complaints)

    def _joint(self, w, b, prior) -> float:
        """One joint move, and what is learnt from it in tuning; NaN if there was nothing to move."""
        step = float(np.exp(self.log_step))
        n_steps = min(max(round(TRAJECTORY / step), 1), MAX_LEAPFROG)
        accept = self._engine.joint(w, b, prior, step * self.rng.uniform(0.8, 1.2), n_steps, self.rng)
        if self.tune and not np.isnan(accept):
            self.n_tuned += 1
            self.log_step += (self.n_tuned + 4.0) ** -0.6 * (accept - TARGET_ACCEPT)
            self.log_step = min(self.log_step, LONGEST_LOG_STEP)
            self._engine.learn(1.0 / (self.n_tuned + 10.0))
        return accept

    @staticmethod
    def _progressbar_config(n_chains=1):
        column = TextColumn("{task.fields[n_edges]}", table_column=Column("Edges", ratio=1))
        return [column], {"n_edges": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update(stats):
            return {"n_edges": stats["edge_gibbs_n_active"]}

        return (update,)
