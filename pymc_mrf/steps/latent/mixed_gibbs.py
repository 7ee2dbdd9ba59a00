"""`MixedGibbs`: missing cells of mixed fields, answers and measurements."""

from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.likelihood import EXACT
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.kernels.mixed_missing import draw_missing
from pymc_mrf.likelihood.mixed.likelihood import ExactOfMixed, PseudoOfMixed
from pymc_mrf.steps.latent.missing_cells import MissingCellsStep

N_SWEEPS = 3
"""Sweeps of the missing answers of a row in a step."""


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
    fields = MixedFieldRV
    n_read = 3
    samples = "the missing cells of a pymc_mrf.MixedMRF that is observed"
    field = "the mixed field"
    remedy = "let it depend on the observed cells only"

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        if self._is_whole:
            raise ValueError(
                f"{self._field.name} is a MixedMRF without data, whose answers no step draws: give it "
                "`observed`, of which cells may be missing, or draw it by pm.sample_prior_predictive"
            )
        self._warm_up()

    def _update(self, point):
        field, op, rows = self._field, self._op, self._rows
        answers, measured, scale = op.columns.answers, op.columns.measurements, np.array(op.scale)
        free, x = field.free[rows], field.values(point)[rows]
        mean = field.means(point)[rows]
        states = np.ascontiguousarray(x[:, answers]).astype(np.int8)
        y = (x[:, measured] - mean) / scale
        w, b, diagonal = (np.asarray(v, np.float64).ravel() for v in self._read(point))
        draw_missing(
            op.layout, w, b, diagonal, states, y, np.ascontiguousarray(free[:, answers]),
            np.ascontiguousarray(free[:, measured]), N_SWEEPS, self.rng,
        )  # fmt: skip
        x[:, answers], x[:, measured] = states, mean + scale * y
        return self._with_cells(point, x[free]), {}, True
