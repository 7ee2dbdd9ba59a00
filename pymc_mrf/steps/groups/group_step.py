"""Gibbs sampling of grouped edge parameters: eq. (4) of Liu & Page (2013) over a likelihood engine.

The state of the sampler is the parameter vector itself: exact ties are groups. One step redraws every
label in turn, then every group's value. What the step leaves invariant depends on the engine.

Edge parameters with state axes, statistics that differ between edges, and factor graphs are not implemented.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import likelihoods_fed
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.crp import Groups, make_groups
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.observed_field import ObservedField, check_vector, observed_fields
from pymc_mrf.steps.common.statistics import Statistic, Statistics
from pymc_mrf.steps.groups.base_measure import BaseMeasure, BaseMeasureReader, Link

ROUNDING = 1e-9  # relative changes of parameters that come from theta = sigmoid(eta) and back


def is_dirichlet_process(rv) -> bool:
    """Whether a variable is a Dirichlet process of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, DirichletProcessRV)


class GroupStep(MRFStep):
    """Base of the group samplers.

    A subclass says by `invariant` which kinds of likelihood it can serve, for which it is the default, and
    whether it serves data with missing cells; and supplies `_start` (parameters near the data), `_begin`
    (of a chain), `_sweep_labels` and `_draw_values`.
    """

    default_blocked = False
    default_for: ClassVar[tuple[type[Likelihood], ...]] = ()
    fills_missing_cells: bool = False
    n_rounds: int = 1
    n_tuning_rounds: int = 1
    """Sweeps of labels and moves of values in one step, and in one while tuning."""
    prefix = "group_gibbs"
    title = "group sampler"
    statistics: Statistics = (
        Statistic(
            "n_groups",
            "number of groups",
            dtype=np.int64,
            shown="always",
            should_vary=True,
            column="Groups",
        ),
        Statistic("n_new", "groups opened", dtype=np.int64, shown="always"),
    )

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        (rv, value), model, step = self._only_variable(), self._model, type(self).__name__
        if not is_dirichlet_process(rv):
            raise TypeError(f"{step} samples a pymc_mrf.DirichletProcess, but {rv.name} is none")
        remedy = "DirichletProcess for each; they may share alpha and the parameters of the base"
        check_vector(rv, model, step, remedy)
        self._fields = observed_fields(rv, model, step, self.serves, fills=self.fills_missing_cells)
        field = self._fields[0]
        if field.family.has_own_scores:
            raise ValueError(
                f"{step} groups edges of one statistic, but the nodes of {field.name} have scores of their "
                f"own: declare {field.name} with one vector of scores for all nodes, or {rv.name} as a "
                "pymc_mrf.SpikeAndSlab"
            )
        self._link = Link(field.family)
        self._held = [field.held for field in self._fields]
        self._prior = BaseMeasureReader(rv, model, self._link, self._compile_kwargs)
        self._name = value.name
        self._prior.read(self._point)  # refuses a base that does not fit before sampling

    def _the_field(self) -> ObservedField:
        """Return the only field of a step, whose edge parameters are all entries in their order."""
        [field, *others] = self._fields
        r = len(np.atleast_1d(self._point[self._name]))
        if others or not np.array_equal(field.entries, np.arange(r)):
            names = ", ".join(field.name for field in self._fields)
            raise ValueError(
                f"{type(self).__name__} samples the edge parameters of one field, all in its order, but "
                f"{self._name} feeds {names}; use pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs"
            )
        return field

    @classmethod
    def claims(cls, var, has_grad):
        """Whether it is a Dirichlet process that feeds a field for which the step is the default."""
        return is_dirichlet_process(var) and any(map(cls.is_default_for, likelihoods_fed(var)))

    @classmethod
    def is_default_for(cls, likelihood: Likelihood) -> bool:
        """Whether `pm.sample` gives processes that feed a field with this likelihood to the step."""
        return isinstance(likelihood, cls.default_for)

    def _update(self, point):
        """Redraw all labels, then all group values."""
        base = self._prior.read(point)
        self._read_point(point)
        self._read_data(point)
        theta = point[self._name]
        if not self.started:
            self._check_base(base)
            fresh = self._starts_at_default(point, [self._name])  # all entries in one group
            eta = self._default(base) if fresh else self._link.natural(theta)
            self._begin(eta, base)
            theta = np.asarray(self._link.parameter(eta)) if fresh else theta
            self.started = True
        values, labels = np.unique(theta, return_inverse=True)
        labels = labels.reshape(-1).astype(np.int64)
        # parameters next to 1 come back from double precision beyond the end of the base
        values = np.clip(self._link.natural(values), *base.bounds)
        total = 0
        for _ in range(self.n_tuning_rounds if self.tune else self.n_rounds):
            groups = make_groups(labels, values, group_labels.N_AUXILIARY)
            total += self._sweep_labels(groups, base)
            labels = groups.labels
            values, stats = self._draw_values(labels, groups.values[: groups.n_groups[0]].copy(), base)
        theta = np.asarray(self._link.parameter(values), dtype=theta.dtype)[labels]
        stats |= {"group_gibbs_n_groups": len(values), "group_gibbs_n_new": total}
        moved = not np.allclose(theta, point[self._name], rtol=ROUNDING, atol=0.0)
        return self._new_point(point, theta), stats, moved

    def _check_base(self, base: BaseMeasure) -> None:
        """Refuse a base with which the step cannot sample; none by default."""

    def _read_point(self, point) -> None:
        """Take what else the step needs to know from `point`; nothing by default."""

    def _read_data(self, point) -> None:
        """Take the present states of missing cells from `point`; nothing by default."""

    def _new_point(self, point, theta: np.ndarray) -> dict:
        """Return the point with the new parameters."""
        return {**point, self._name: theta}

    def _warn_at_end(self) -> list[str]:
        if not self.count.stood_still:
            return []
        return [
            f"{self._name} never changed in {self.count.n_draws} draws: {type(self).__name__} accepted no "
            "proposal. Shorten its proposals (AuxiliaryVariableMH: a smaller sigma), or let "
            "pymc_mrf.steps.GroupGibbs or ParticleRatioGibbs sample it"
        ]

    @abstractmethod
    def _start(self) -> np.ndarray:
        """Find parameters (r,) near the data, edge by edge."""

    def _default(self, base: BaseMeasure) -> np.ndarray:
        """Tied parameters (r,) near the data, where a chain starts if users do not say where."""
        return k_means_start(self._start(), base, self.rng)

    @abstractmethod
    def _begin(self, eta: np.ndarray, base: BaseMeasure) -> None:
        """Prepare a chain that starts at `eta` (r,)."""

    @abstractmethod
    def _sweep_labels(self, groups: Groups, base: BaseMeasure) -> int:
        """Redraw all labels in place; return the number of groups opened."""

    @abstractmethod
    def _draw_values(self, labels, eta, base: BaseMeasure) -> tuple[np.ndarray, dict]:
        """Redraw group values (K,) given labels; return them and the engine's statistics."""


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
