"""`SeriesGibbs`: missing cells and rows of fields in time, cell by cell."""

from typing import ClassVar

import numpy as np
from pymc.step_methods.compound import Competence

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.kinetic_rv import KineticRV
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.kernels.simulation import series as kernels
from pymc_mrf.steps.common.base import EXACT, OF_PSEUDO, MRFStep
from pymc_mrf.steps.common.held_data import HeldData
from pymc_mrf.steps.common.model_field import ModelField
from pymc_mrf.steps.common.observed_field import children
from pymc_mrf.steps.common.point_inputs import PointFunction
from pymc_mrf.steps.common.statistics import Healthy, Statistic, Statistics


class SeriesGibbs(MRFStep):
    """Gibbs sampling of the missing cells of a field in time.

    Leaves invariant: the posterior, exactly; with links within rows under ``likelihood="pseudo"`` the
    distribution proportional to prior times pseudo-likelihood.

    Each missing cell is drawn in turn given all others, from its own conditional probability times those of
    all cells that depend on it, in later rows and, over links, in its own. Rows that are missing as a whole
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
    invariant: ClassVar = {"conditional": EXACT, "pseudo": OF_PSEUDO}
    prefix = "series_gibbs"
    default_blocked = False
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
        value, model = self._only_variable(), self._model
        self._n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        rv = model.values_to_rvs[value]
        node = field_node(rv)
        if node is None or not isinstance(node.op, KineticRV):
            raise TypeError(
                f"SeriesGibbs samples cells of a pymc_mrf.KineticMRF, but {rv.name} is none: leave the "
                "choice of the step to pm.sample()"
            )
        others = [child.name for child in children(rv, model) if field_node(child) is not node]
        if others:
            raise ValueError(
                f"SeriesGibbs draws {rv.name} given the field in time alone, but {', '.join(others)} depends "
                "on it, too: a KineticMRF cannot be a hidden field of other data"
            )
        self._op, self._dtype = node.op, value.dtype
        parameters = list(node.op.dist_params(node))
        self._held = [HeldData(rv.name, "SeriesGibbs", parameters)]
        self._read = PointFunction(parameters, model, self._compile_kwargs)
        self._field = ModelField(node, model)
        self._cells = np.argwhere(self._field.free)
        self._local = np.zeros(self._field.free.shape)
        self._warm_up()

    @staticmethod
    def competence(var, has_grad):
        """Ideal for fields in time and their missing cells."""
        node = field_node(var)
        is_kinetic = node is not None and isinstance(node.op, KineticRV)
        return Competence.IDEAL if is_kinetic else Competence.INCOMPATIBLE

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
        if op.lists_rows:
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
        value = op.decode(new).astype(self._dtype).reshape(np.shape(point[self._field.name]))
        stats = {"series_gibbs_changed": changed}
        return {**point, self._field.name: value}, stats, bool(changed)
