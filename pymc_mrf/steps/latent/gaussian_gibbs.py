"""`GaussianGibbs`: missing cells of Gaussian fields, all of a row at once."""

from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.likelihood import EXACT
from pymc_mrf.kernels.gaussian import draw_missing
from pymc_mrf.likelihood.gaussian.likelihood import Normal
from pymc_mrf.steps.latent.missing_cells import MissingCellsStep


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
    fields = GaussianFieldRV
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
        mean, scale = field.means(point)[rows], np.array(self._op.scale)
        x = (field.table[rows] - mean) / scale
        w, diagonal = (
            np.asarray(v, np.float64).reshape(-1, n)
            for v, n in zip(self._read(point), (graph.n_edges, graph.n_nodes), strict=True)
        )
        w, diagonal = (v if len(v) == 1 else v[rows] for v in (w, diagonal))
        draw_missing(x, graph.edges, w, diagonal, self.rng)
        return self._with_cells(point, (mean + scale * x)[field.free[rows]]), {}, True
