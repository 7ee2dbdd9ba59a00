"""Gibbs sampling of grouped edge parameters: eq. (4) of Liu & Page (2013) over a likelihood engine.

The state of the sampler is the parameter vector itself: exact ties are groups. One step redraws every
label in turn, then every group's value. What the step leaves invariant depends on the engine.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator
from rich.progress import TextColumn
from rich.table import Column

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.mrf_rv import likelihoods_fed
from pymc_mrf.kernels import group_labels
from pymc_mrf.steps.base_measure import BaseMeasure, BaseMeasureReader, Link
from pymc_mrf.steps.chain_report import WARNING_STAT, ChainCount, chain_warning
from pymc_mrf.steps.observed_field import ObservedField, observed_fields
from pymc_mrf.steps.pymc_steps import check_step_arguments, one_variable, warm_up

ROUNDING = 1e-9  # relative changes of parameters that come from theta = sigmoid(eta) and back


def is_dirichlet_process(rv) -> bool:
    """Whether a variable is a Dirichlet process of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, DirichletProcessRV)


class GroupGibbs(BlockedStep):
    """Base of the group samplers.

    A subclass says which kinds of likelihood it can serve and for which it is the default, and supplies
    `_begin` (chain start), `_sweep_labels` and `_draw_values`.
    """

    default_blocked = False
    serves: tuple[str, ...] = ()
    default_for: str = ""
    n_rounds: int = 1
    n_tuning_rounds: int = 1
    """Sweeps of labels and moves of values in one step, and in one while tuning."""
    stats_dtypes_shapes: ClassVar[dict] = {
        "group_gibbs_n_groups": (np.int64, []),
        "group_gibbs_n_new": (np.int64, []),
        "warning": WARNING_STAT,
    }

    def __new__(cls, vars, *args, **kwargs):
        """Refuse variables and models that PyMC would refuse with fewer words."""
        check_step_arguments(cls.__name__, vars, kwargs.get("model"))
        return super().__new__(cls, vars, *args, **kwargs)

    def __init__(
        self,
        vars,
        *,
        model: pm.Model | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        rng=None,
        blocked: bool = False,
    ) -> None:
        model = pm.modelcontext(model)
        value = one_variable(type(self).__name__, vars, model)
        self.vars = [value]
        self.rng = get_random_generator(rng)
        rv = model.values_to_rvs[value]
        step = type(self).__name__
        if not is_dirichlet_process(rv):
            raise TypeError(f"{step} samples a pymc_mrf.DirichletProcess, but {rv.name} is none")
        if rv.ndim != 1:
            raise ValueError(
                f"{step} samples one vector of parameters, but {rv.name} has {rv.ndim} dimensions: declare "
                "one DirichletProcess for each; they may share alpha and the parameters of the base"
            )
        if value.dtype != "float64":
            raise ValueError(
                f"{step} tells groups by exact equality and needs double precision, but {rv.name} is "
                f'{value.dtype}; set pytensor.config.floatX = "float64"'
            )
        self._fields = observed_fields(rv, model, step, self.serves)
        self._link = Link(self._fields[0].family)
        self._prior = BaseMeasureReader(rv, model, self._link, compile_kwargs)
        self._name = value.name
        self._point = model.initial_point() if initial_point is None else initial_point
        self._default_start: np.ndarray | None = None
        if model.rvs_to_initial_values[rv] is None:
            self._default_start = model.initial_point()[self._name]
        self._prior.read(self._point)  # refuses a base that does not fit before sampling
        self.tune = True
        self.started = False
        self._count_from(0, 0)

    def _the_field(self) -> ObservedField:
        """Return the field of a step that serves one only, all entries being edge parameters in its order."""
        [field, *others] = self._fields
        r = len(np.atleast_1d(self._point[self._name]))
        if others or not np.array_equal(field.entries, np.arange(r)):
            names = ", ".join(field.name for field in self._fields)
            raise ValueError(
                f"{type(self).__name__} samples the edge parameters of one field, all in its order, but "
                f"{self._name} feeds {names}; use ExactGibbs or ParticleRatioGibbs"
            )
        return field

    def _count_from(self, tune: int, draws: int) -> None:
        """Begin to count the steps of a chain."""
        self.count = ChainCount(tune, draws)

    def _warm_up(self) -> None:
        """Take a step and forget it; to be called at the end of `__init__`."""
        warm_up(self, self._point)
        self.started = False

    @classmethod
    def competence(cls, var, has_grad):
        """Ideal for a Dirichlet process that feeds a field for which the step is the default."""
        served = is_dirichlet_process(var) and cls.default_for in likelihoods_fed(var)
        return Competence.IDEAL if served else Competence.INCOMPATIBLE

    def setup_chain(self, rng, tune: int, draws: int) -> None:
        """Forget the previous chain; refuse data set since the step was made."""
        for field in self._fields:
            field.held.check_unchanged()
        super().setup_chain(rng, tune, draws)
        self.tune = tune > 0
        self.started = False
        self._count_from(tune, draws)

    def step(self, point):
        """Redraw all labels, then all group values."""
        base = self._prior.read(point)
        self._read_point(point)
        theta = point[self._name]
        if not self.started:
            # PyMC's default start, all entries in one group, is replaced; any other is the user's
            start = self._default_start
            fresh = start is not None and np.array_equal(theta, start)
            eta = self._begin(None if fresh else self._link.natural(theta), base)
            theta = np.asarray(self._link.parameter(eta)) if fresh else theta
            self.started = True
        values, labels = np.unique(theta, return_inverse=True)
        labels = labels.reshape(-1).astype(np.int64)
        # parameters next to 1 come back from double precision beyond the end of the base
        values = np.clip(self._link.natural(values), *base.bounds)
        r, total = len(theta), 0
        for _ in range(self.n_tuning_rounds if self.tune else self.n_rounds):
            n_groups = len(values)
            eta, sizes = np.empty(r + group_labels.N_AUXILIARY), np.zeros(r, dtype=np.int64)
            eta[:n_groups] = values
            sizes[:n_groups] = np.bincount(labels)
            n_groups, n_new = self._sweep_labels(labels, eta, sizes, n_groups, base)
            values, stats = self._draw_values(labels, eta[:n_groups].copy(), base)
            total += n_new
        theta = np.asarray(self._link.parameter(values), dtype=theta.dtype)[labels]
        stats |= {"group_gibbs_n_groups": len(values), "group_gibbs_n_new": total}
        moved = not np.allclose(theta, point[self._name], rtol=ROUNDING, atol=0.0)
        ends = self.count.add(self.tune, moved)
        stats["warning"] = chain_warning(self._complaints()) if ends else None
        return self._new_point(point, theta), [stats]

    def _read_point(self, point) -> None:
        """Take from `point` what else the step needs to know; by default nothing."""

    def _new_point(self, point, theta: np.ndarray) -> dict:
        """Point with the new parameters."""
        return {**point, self._name: theta}

    def _complaints(self) -> list[str]:
        """Say what speaks against the chain that ends here, each with its remedy."""
        if not self.count.stood_still:
            return []
        return [
            f"{self._name} never changed in {self.count.n_draws} draws: {type(self).__name__} accepted no "
            "proposal. Shorten its proposals (AuxiliaryVariableMH: a smaller sigma), or let ExactGibbs or "
            "ParticleRatioGibbs sample it"
        ]

    @abstractmethod
    def _begin(self, eta: np.ndarray | None, base: BaseMeasure) -> np.ndarray:
        """Prepare a chain that starts at `eta` (r,); None asks for a start, which is returned."""

    @abstractmethod
    def _sweep_labels(self, labels, eta, sizes, n_groups: int, base: BaseMeasure):
        """Redraw all labels in place; return the numbers of groups and of groups opened."""

    @abstractmethod
    def _draw_values(self, labels, eta, base: BaseMeasure) -> tuple[np.ndarray, dict]:
        """Redraw group values (K,) given labels; return them and the engine's statistics."""

    @staticmethod
    def _progressbar_config(n_chains=1):
        column = TextColumn("{task.fields[n_groups]}", table_column=Column("Groups", ratio=1))
        return [column], {"n_groups": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update(stats):
            return {"n_groups": stats["group_gibbs_n_groups"]}

        return (update,)


def k_means_start(eta: np.ndarray, base: BaseMeasure, rng: np.random.Generator) -> np.ndarray:
    """K-means on theta = sigmoid(eta), K = max(1, floor(alpha log r)): tied eta (r,) to start from.

    The start of Liu & Page (2013), Algorithms 1 and 2, with `eta` a free estimate (r,).
    """
    from scipy.cluster.vq import kmeans2

    theta = 0.5 * (1.0 + np.tanh(0.5 * eta))
    k = min(max(1, int(base.alpha * np.log(len(theta)))), len(np.unique(theta)))
    _, labels = kmeans2(theta, k, minit="++", rng=rng)
    _, labels = np.unique(labels, return_inverse=True)  # clusters that ended up empty
    means = np.bincount(labels, theta) / np.bincount(labels)
    inside = np.clip(means, 1e-6, 1.0 - 1e-6)
    low, high = base.bounds
    margin = 1e-3 * min(high - low, 1.0)  # a density may vanish at the ends of its support
    return np.clip(np.log(inside) - np.log1p(-inside), low + margin, high - margin)[labels]
