"""`GaussianGibbs`: missing cells of Gaussian fields, all of a row at once."""

from typing import ClassVar

import numpy as np
from pymc.step_methods.compound import Competence

from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.kernels.gaussian import draw_missing
from pymc_mrf.steps.common.base import EXACT, MRFStep
from pymc_mrf.steps.common.held_data import HeldData
from pymc_mrf.steps.common.measured_field import MeasuredField
from pymc_mrf.steps.common.observed_field import children
from pymc_mrf.steps.common.point_inputs import PointFunction


class GaussianGibbs(MRFStep):
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
    invariant: ClassVar = {"gaussian": EXACT}
    prefix = "gaussian_gibbs"
    default_blocked = False

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        value, model = self._only_variable(), self._model
        rv = model.values_to_rvs[value]
        if not _is_missing_part(rv):
            raise TypeError(
                "GaussianGibbs samples the missing cells of a pymc_mrf.GaussianMRF that is observed, but "
                f"{rv.name} is something else: leave the choice of the step to pm.sample()"
            )
        node = field_node(rv)
        others = [child.name for child in children(rv, model) if field_node(child) is not node]
        if others:
            raise ValueError(
                f"GaussianGibbs draws {rv.name} given the Gaussian field alone, but {', '.join(others)} "
                f"depends on it, too: leave {rv.name} to NUTS, as in step=pm.NUTS([{rv.name}])"
            )
        parameters = list(node.op.dist_params(node))
        self._held = [HeldData(rv.name, "GaussianGibbs", parameters)]
        self._read = PointFunction(parameters[:2], model, self._compile_kwargs)
        self._field, self._edges = MeasuredField(node, model), node.op.graph.edges
        self._rows = np.flatnonzero(self._field.free.any(axis=1))
        self._warm_up()

    @staticmethod
    def competence(var, has_grad):
        """Ideal for missing cells of Gaussian fields."""
        return Competence.IDEAL if _is_missing_part(var) else Competence.INCOMPATIBLE

    def _update(self, point):
        field, rows, d = self._field, self._rows, self._field.table.shape[1]
        mean = np.broadcast_to(field.means(point), field.table.shape)[rows]
        x = field.table[rows] - mean
        w, diagonal = (
            np.asarray(v, np.float64).reshape(-1, n)
            for v, n in zip(self._read(point), (len(self._edges), d), strict=True)
        )
        w, diagonal = (v if len(v) == 1 else v[rows] for v in (w, diagonal))
        draw_missing(x, self._edges, w, diagonal, self.rng)
        values = (x + mean)[field.free[rows]].reshape(np.shape(point[field.name]))
        return {**point, field.name: values}, {}, True


def _is_missing_part(rv) -> bool:
    """Whether a variable holds the missing cells of a Gaussian field."""
    node = field_node(rv)
    return node is not None and isinstance(node.op, GaussianFieldRV) and node is not rv.owner
