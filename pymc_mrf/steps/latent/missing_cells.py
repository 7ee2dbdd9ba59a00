"""Steps that draw cells of a field given its other cells and its parameters, and nothing else.

`GaussianGibbs`, `MixedGibbs` and `SeriesGibbs`, for fields of measurements, of several kinds, and in
time.
"""

from typing import ClassVar

import numpy as np

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.kinetic_rv import KineticRV
from pymc_mrf.distributions.likelihood import APPROXIMATE, EXACT
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.distributions.parents import field_node, is_missing_part
from pymc_mrf.kernels.gaussian import draw_missing
from pymc_mrf.kernels.mixed_missing import redraw_missing
from pymc_mrf.kernels.simulation import series as kernels
from pymc_mrf.likelihood.conditional.likelihood import Conditional, PseudoOfLinks
from pymc_mrf.likelihood.gaussian.likelihood import Normal
from pymc_mrf.likelihood.mixed.likelihood import ExactOfMixed, PseudoOfMixed
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import HeldData, PointFunction, children
from pymc_mrf.steps.common.model_field import field_of
from pymc_mrf.steps.common.statistics import Healthy, Statistic, Statistics

N_SWEEPS = 3
"""Sweeps of the missing answers of a row in a step."""


class MissingCellsStep(MRFStep):
    """Base of the steps for missing cells on which no other variable depends.

    A subclass says of which fields, supplies `_update`, and warms up.

    `kinds`: Op of these fields. `n_read`: how many of their parameters the step reads; the means of
    measurements come last. `takes_whole`: whether the step is made for fields without data as well.
    `samples`, `field` and `remedy`: for messages: what the step samples, of which field, and what helps
    where another variable depends on the cells {0}.
    """

    default_blocked = False
    n_read: ClassVar[int | None] = None
    takes_whole: ClassVar[bool] = True
    samples: ClassVar[str]
    field: ClassVar[str]
    remedy: ClassVar[str]

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        (rv, _), model, step = self._only_variable(), self._model, type(self).__name__
        if not self.competence(rv, has_grad=False):
            raise TypeError(
                f"{step} samples {self.samples}, but {rv.name} is something else: leave the choice of the "
                "step to pm.sample()"
            )
        node = field_node(rv)
        self._op = node.op
        others = [child.name for child in children(rv, model) if field_node(child) is not node]
        if others:
            raise ValueError(
                f"{step} draws {rv.name} given {self.field} alone, but {', '.join(others)} depends on it, "
                f"too: {self.remedy.format(rv.name)}"
            )
        parameters = list(node.op.dist_params(node))
        self._held = [HeldData(rv.name, step, parameters)]
        self._field = field_of(node, model)
        self._read = PointFunction(parameters[: self.n_read], model, self._compile_kwargs)
        self._rows = np.flatnonzero(self._field.free.any(axis=1))

    @classmethod
    def claims(cls, var):
        """Whether it holds missing cells, or may be a field without data."""
        return cls.takes_whole or is_missing_part(var)

    def _with_cells(self, point, values: np.ndarray) -> dict:
        name = self._field.name
        return {**point, name: values.reshape(np.shape(point[name]))}


class GaussianGibbs(MissingCellsStep):
    """Gibbs sampling of the missing cells of a Gaussian field.

    Leaves invariant: the posterior, exactly. The missing cells of a row are drawn at once from their normal
    distribution given its other cells and the parameters (Rue & Held, 2005, sec. 2.3.3): independent draws,
    whatever the cells were before.

    Parameters
    ----------
    vars : list of one variable
        ``x_unobserved`` of a `GaussianMRF` ``x`` with missing cells.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    TypeError
        If the variable is none of the missing cells of a `GaussianMRF`.
    ValueError
        If another variable depends on the cells.

    Notes
    -----
    Rows cost the cube of the number of their missing cells, and that number times the nodes.
    """

    name = "gaussian_gibbs"
    invariant: ClassVar = {Normal: EXACT}
    prefix = "gaussian_gibbs"
    kinds = (GaussianFieldRV,)
    n_read = 2
    takes_whole = False
    samples = "the missing cells of a pymc_mrf.GaussianMRF that is observed"
    field = "the Gaussian field"
    remedy = "leave {0} to NUTS, as in step=pm.NUTS([{0}])"

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        self._warm_up()

    def _update(self, point):
        field, rows, graph = self._field, self._rows, self._op.graph
        mean, scale = field.means(point)[rows], field.scale
        x = (field.table[rows] - mean) / scale
        w, diagonal = (
            np.asarray(v, np.float64).reshape(-1, n)
            for v, n in zip(self._read(point), (graph.n_edges, graph.n_nodes), strict=True)
        )
        w, diagonal = (v if len(v) == 1 else v[rows] for v in (w, diagonal))
        draw_missing(x, graph.edges, w, diagonal, self.rng)
        return self._with_cells(point, (mean + scale * x)[field.free[rows]]), {}, True


class MixedGibbs(MissingCellsStep):
    """Gibbs sampling of the missing cells of a mixed field.

    Leaves invariant: the distribution of the missing cells given the others and the parameters, exactly. The
    missing answers of a row are drawn in turn, three times in a step, its missing measurements integrated
    out; then these at once from their normal distribution. So cells of rows without more than one missing
    answer are independent draws. Under ``likelihood="pseudo"`` this step and `EdgeGibbs` together are an
    approximation: there is no distribution of which both have the conditionals.

    Parameters
    ----------
    vars : list of one variable
        ``x_unobserved`` of a `MixedMRF` ``x`` with missing cells.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    TypeError
        If the variable is none of the missing cells of a `MixedMRF`.
    ValueError
        If another variable depends on the cells, or all of them are missing.

    Notes
    -----
    A row costs the squared number of features times the squared number of its missing measurements.
    """

    name = "mixed_gibbs"
    invariant: ClassVar = {ExactOfMixed: EXACT, PseudoOfMixed: EXACT}
    prefix = "mixed_gibbs"
    kinds = (MixedFieldRV,)
    n_read = 3
    samples = "the missing cells of a pymc_mrf.MixedMRF that is observed"
    field = "the mixed field"
    remedy = "let it depend on the observed cells only"

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        if not is_missing_part(self._rvs[0]):
            raise ValueError(
                f"{self._field.name} is a MixedMRF without data, whose answers no step draws: give it "
                "`observed`, of which cells may be missing, or draw it by pm.sample_prior_predictive"
            )
        self._warm_up()

    def _update(self, point):
        field, op, rows = self._field, self._op, self._rows
        answers, measured, scale = op.columns.answers, field.measured, field.scale
        free, x = field.free[rows], field.values(point)[rows]
        mean = field.means(point)[rows]
        states = np.ascontiguousarray(x[:, answers]).astype(np.int8)
        y = (x[:, measured] - mean) / scale
        w, b, diagonal = (np.asarray(v, np.float64).ravel() for v in self._read(point))
        redraw_missing(
            op.layout, w, b, diagonal, states, y, np.ascontiguousarray(free[:, answers]),
            np.ascontiguousarray(free[:, measured]), N_SWEEPS, self.rng,
        )  # fmt: skip
        x[:, answers], x[:, measured] = states, mean + scale * y
        return self._with_cells(point, x[free]), {}, True


class SeriesGibbs(MissingCellsStep):
    """Gibbs sampling of the missing cells of a field in time.

    Leaves invariant: the posterior, exactly; with links within rows under ``likelihood="pseudo"`` an
    approximation: cells are drawn from the field itself, later rows being seen by the product of their
    conditionals, as if the weight of these were 1.

    Each missing cell is drawn in turn given all others, from its own conditional probability times those of
    all cells in later rows that depend on it. Rows that are missing as a whole
    are drawn in the same way, not at once by a forward and a backward pass: where many of them follow one
    another, and arrows and links are strong, they need more sweeps.

    Parameters
    ----------
    vars : list of one variable
        ``x_unobserved`` of a `KineticMRF` ``x`` with missing cells, or a `KineticMRF` without data.
    n_sweeps : int
        Sweeps over all cells in one step. They cost little beside a step for the arrows, which passes over
        all rows, and missing rows that follow one another mix slowly.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    TypeError
        If the variable is no `KineticMRF`.
    ValueError
        If `n_sweeps` is no positive integer, or another variable depends on the cells.

    Notes
    -----
    A chain that starts at PyMC's default, all cells in their first state, first takes the states of other
    rows at random.

    Sampler statistic: ``series_gibbs_changed`` (share of the missing cells that changed).
    """

    name = "series_gibbs"
    invariant: ClassVar = {Conditional: EXACT, PseudoOfLinks: APPROXIMATE}
    prefix = "series_gibbs"
    kinds = (KineticRV,)
    samples = "cells of a pymc_mrf.KineticMRF"
    field = "the field in time"
    remedy = "a KineticMRF cannot be a hidden field of other data"
    statistics: Statistics = (
        Statistic(
            "changed",
            "share of missing cells changed",
            Healthy("see whether nearly all cells are certain; else n_sweeps", low=1e-4),
            column="Changed",
        ),
    )

    def __init__(self, vars, *, n_sweeps: int = 10, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        self._n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        self._cells = np.argwhere(self._field.free)
        self._local = np.zeros(self._field.free.shape)
        self._warm_up()

    def _update(self, point):
        op, rows, arrows, scores = self._op, self._op.rows, self._op.graph.arrays, self._op.scores
        eta, tables = (np.asarray(table, np.float64) for table in op.log_tables(self._read(point)))
        eta, tables = np.atleast_2d(eta), tables.reshape(-1, *scores.shape)
        x = self._field.states(point)
        if not self.started:
            if self._starts_at_default(point, [self._field.name]):
                x = self._field.plausible(self.rng)
            self.started = True
        old = x[self._field.free]
        possible = op.family.possible(op.n_variables)
        if op.likelihood.lists_rows:
            for _ in range(self._n_sweeps):
                kernels.sweep_cells_of_listed_rows(
                    x, self._cells, rows.earlier, rows.later, eta, tables, possible, scores, arrows,
                    op.row_states, self.rng,
                )  # fmt: skip
        else:
            kernels.fill_local_fields(x, rows.windows, eta, scores, arrows, self._local)
            for _ in range(self._n_sweeps):
                kernels.sweep_cells(
                    x, self._cells, ~rows.is_first, rows.later, eta, tables, possible, scores, arrows,
                    self._local, self.rng,
                )  # fmt: skip
        new = x[self._field.free]
        changed = np.count_nonzero(new != old) / len(old)
        values = op.decode(new).astype(point[self._field.name].dtype)
        return self._with_cells(point, values), {"series_gibbs_changed": changed}, bool(changed)
