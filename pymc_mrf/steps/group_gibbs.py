"""Gibbs sampling of grouped edge parameters: eq. (4) of Liu & Page (2013) over a likelihood engine.

The state of the sampler is the parameter vector itself: exact ties are groups. One step redraws every
label in turn, then every group's value. What the step leaves invariant depends on the engine.
"""

from typing import Any

import numpy as np
import pymc as pm
from pymc.step_methods.compound import BlockedStep, Competence
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from rich.progress import TextColumn
from rich.table import Column

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.steps.base_measure import BaseMeasure, BaseMeasureReader, Link
from pymc_mrf.steps.observed_field import ObservedField


class GroupGibbs(BlockedStep):
    """Base of the group samplers.

    A subclass names its engine's likelihood in `likelihoods` and supplies `_begin` (chain start),
    `_sweep_labels` and `_draw_values`.
    """

    default_blocked = False
    likelihoods: tuple[str, ...] = ()
    stats_dtypes_shapes: dict = {
        "group_gibbs_n_groups": (np.int64, []),
        "group_gibbs_n_new": (np.int64, []),
    }

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
        [value] = get_value_vars_from_user_vars(vars, model)
        self.vars = [value]
        self.rng = get_random_generator(rng)
        rv = model.values_to_rvs[value]
        step = type(self).__name__
        if not isinstance(rv.owner.op, DirichletProcessRV):
            raise TypeError(f"{step} samples a pymc_mrf.DirichletProcess, but {rv.name} is none")
        if rv.ndim != 1:
            raise ValueError(
                f"{step} samples one vector of parameters, but {rv.name} has {rv.ndim} dimensions"
            )
        self._field = ObservedField(rv, model, step, self.likelihoods)
        self._link = Link(self._field.family)
        self._prior = BaseMeasureReader(rv, model, self._link, compile_kwargs)
        self._name = value.name
        point = model.initial_point() if initial_point is None else initial_point
        self._default_start = None
        if model.rvs_to_initial_values[rv] is None:
            self._default_start = model.initial_point()[self._name]
        self._base = self._prior.read(point)  # refuses a base that does not fit before sampling
        self.tune = True
        self.started = False

    @classmethod
    def competence(cls, var, has_grad):
        """Ideal for a Dirichlet process that feeds a field of one of the step's likelihoods."""
        is_process = var.owner is not None and isinstance(var.owner.op, DirichletProcessRV)
        fed = getattr(var.tag, "mrf_likelihoods", ())
        served = is_process and any(likelihood in cls.likelihoods for likelihood in fed)
        return Competence.IDEAL if served else Competence.INCOMPATIBLE

    def setup_chain(self, rng, tune: int, draws: int) -> None:
        """Forget the previous chain."""
        super().setup_chain(rng, tune, draws)
        self.tune = tune > 0
        self.started = False

    def step(self, point):
        """Redraw all labels, then all group values."""
        base = self._prior.read(point)
        theta = point[self._name]
        if not self.started:
            # PyMC's default start, all entries in one group, is replaced; any other is the user's
            fresh = np.array_equal(theta, self._default_start)
            eta = self._begin(None if fresh else self._link.natural(theta), base)
            theta = np.asarray(self._link.parameter(eta)) if fresh else theta
            self.started = True
        values, labels = np.unique(theta, return_inverse=True)
        labels = labels.reshape(-1).astype(np.int64)
        n_groups = len(values)
        eta, sizes = np.empty(len(theta)), np.zeros(len(theta), dtype=np.int64)
        eta[:n_groups] = self._link.natural(values)
        sizes[:n_groups] = np.bincount(labels)
        n_groups, n_new = self._sweep_labels(labels, eta, sizes, n_groups, base)
        eta, stats = self._draw_values(labels, eta[:n_groups], base)
        theta = np.asarray(self._link.parameter(eta), dtype=theta.dtype)[labels]
        stats |= {"group_gibbs_n_groups": n_groups, "group_gibbs_n_new": n_new}
        return {**point, self._name: theta}, [stats]

    def _begin(self, eta: np.ndarray | None, base: BaseMeasure) -> np.ndarray:
        """Prepare a chain that starts at `eta` (r,); None asks for a start, which is returned."""
        raise NotImplementedError

    def _sweep_labels(self, labels, eta, sizes, n_groups: int, base: BaseMeasure):
        """Redraw all labels in place; return the numbers of groups and of groups opened."""
        raise NotImplementedError

    def _draw_values(self, labels, eta, base: BaseMeasure) -> tuple[np.ndarray, dict]:
        """Redraw group values (K,) given labels; return them and the engine's statistics."""
        raise NotImplementedError

    @staticmethod
    def _progressbar_config(n_chains=1):
        column = TextColumn("{task.fields[n_groups]}", table_column=Column("Groups", ratio=1))
        return [column], {"n_groups": [0] * n_chains}

    @staticmethod
    def _make_progressbar_update_functions():
        def update(stats):
            return {"n_groups": stats["group_gibbs_n_groups"]}

        return (update,)
