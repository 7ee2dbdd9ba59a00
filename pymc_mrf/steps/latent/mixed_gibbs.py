"""`MixedGibbs`: missing cells of mixed fields, answers and measurements."""

from typing import ClassVar

import numpy as np
from pymc.step_methods.compound import Competence

from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.kernels.mixed_missing import draw_missing
from pymc_mrf.steps.common.base import EXACT, MRFStep
from pymc_mrf.steps.common.held_data import HeldData
from pymc_mrf.steps.common.mixed_field import MixedCells
from pymc_mrf.steps.common.observed_field import children
from pymc_mrf.steps.common.point_inputs import PointFunction

N_SWEEPS = 3
"""Sweeps of the missing answers of a row in a step."""


class MixedGibbs(MRFStep):
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
    invariant: ClassVar = {"mixed-exact": EXACT, "mixed-pseudo": EXACT}
    prefix = "mixed_gibbs"
    default_blocked = False

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        value, model = self._only_variable(), self._model
        rv = model.values_to_rvs[value]
        if field_node(rv) is rv.owner and isinstance(rv.owner.op, MixedFieldRV):
            raise ValueError(
                f"{rv.name} is a MixedMRF without data, whose answers no step draws: give it `observed`, of "
                "which cells may be missing, or draw it by pm.sample_prior_predictive"
            )
        if not _is_missing_part(rv):
            raise TypeError(
                "MixedGibbs samples the missing cells of a pymc_mrf.MixedMRF that is observed, but "
                f"{rv.name} is something else: leave the choice of the step to pm.sample()"
            )
        node = field_node(rv)
        others = [child.name for child in children(rv, model) if field_node(child) is not node]
        if others:
            raise ValueError(
                f"MixedGibbs draws {rv.name} given the mixed field alone, but {', '.join(others)} depends on "
                "it, too: let it depend on the observed cells only"
            )
        parameters = list(node.op.dist_params(node))
        self._held = [HeldData(rv.name, "MixedGibbs", parameters)]
        self._read = PointFunction(parameters[:3], model, self._compile_kwargs)
        self._field, self._op = MixedCells(node, model), node.op
        self._rows = np.flatnonzero(self._field.free.any(axis=1))
        self._warm_up()

    @staticmethod
    def competence(var, has_grad):
        """Ideal for missing cells of mixed fields, and for whole ones, which it refuses."""
        node = field_node(var)
        is_mixed = node is not None and isinstance(node.op, MixedFieldRV)
        return Competence.IDEAL if is_mixed else Competence.INCOMPATIBLE

    def _update(self, point):
        field, op, rows = self._field, self._op, self._rows
        answers, measured, scale = op.columns.answers, op.columns.measurements, np.array(op.scale)
        free, x = field.free[rows], field.values(point)[rows]
        mean = np.broadcast_to(field.means(point), (len(field.table), len(measured)))[rows]
        states = np.ascontiguousarray(x[:, answers]).astype(np.int8)
        y = (x[:, measured] - mean) / scale
        w, b, diagonal = (np.asarray(v, np.float64).ravel() for v in self._read(point))
        draw_missing(
            op.layout, w, b, diagonal, states, y, np.ascontiguousarray(free[:, answers]),
            np.ascontiguousarray(free[:, measured]), N_SWEEPS, self.rng,
        )  # fmt: skip
        x[:, answers], x[:, measured] = states, mean + scale * y
        return {**point, field.name: x[free].reshape(np.shape(point[field.name]))}, {}, True


def _is_missing_part(rv) -> bool:
    """Whether a variable holds the missing cells of a mixed field."""
    node = field_node(rv)
    return node is not None and isinstance(node.op, MixedFieldRV) and node is not rv.owner
