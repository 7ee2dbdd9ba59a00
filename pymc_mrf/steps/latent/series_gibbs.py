"""`SeriesGibbs`: missing cells and rows of fields in time, cell by cell."""

from typing import ClassVar

import numpy as np

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.kinetic_rv import KineticRV
from pymc_mrf.distributions.likelihood import APPROXIMATE, EXACT
from pymc_mrf.kernels.simulation import series as kernels
from pymc_mrf.likelihood.conditional.likelihood import Conditional, PseudoOfLinks
from pymc_mrf.steps.common.statistics import Healthy, Statistic, Statistics
from pymc_mrf.steps.latent.missing_cells import MissingCellsStep


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
    fields = KineticRV
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
