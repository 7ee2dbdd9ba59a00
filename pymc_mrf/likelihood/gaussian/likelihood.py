"""The likelihood of a `GaussianMRF`: a normal density."""

from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold

from pymc_mrf.distributions.foreign_routes import ElementwiseTerm
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV, LogDensityOfSeen
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.symbolic_tables import shared_by_rows
from pymc_mrf.likelihood.gaussian.gaussian_edges import GaussianLikelihood


class Normal(Likelihood):
    """The normal density, of which the field knows the log (`pymc_mrf.distributions.gaussian_rv`)."""

    name: ClassVar[str] = "gaussian"
    is_recommended: ClassVar[bool] = False  # there is nothing to choose
    serves_blocks: ClassVar[bool] = False
    edges: ClassVar[Any] = GaussianLikelihood

    @classmethod
    def unasked(cls, field) -> "Normal":
        """Return the only one that there is."""
        return cls()

    def log_density_of_observed(self, field: Any, table: Any, mask: Any, joint: Any) -> Any:
        """Log density of the observed cells, row by row."""
        return ElementwiseTerm()(joint, _of_measured(field.owner.op, table, mask, field))


def _of_measured(op: GaussianFieldRV, table, mask, dist):
    """Log density of the observed cells of every row that has one, in one axis for all rows."""
    d, [missing] = op.n_variables, constant_fold([mask])
    parameters = [
        v.reshape((1, -1))
        if shared_by_rows([v], [1])
        else pt.broadcast_to(v, (*table.shape[:-1], v.shape[-1])).reshape((-1, v.shape[-1]))
        for v in op.dist_params(dist.owner)
    ]
    inputs = [v.astype("float64") for v in (table.reshape((-1, d)), *parameters)]
    of_rows = LogDensityOfSeen(op.graph, op.scale)(*inputs)
    is_seen = ~missing.reshape(-1, d).all(axis=1)
    return of_rows.reshape(missing.shape[:-1]) if is_seen.all() else of_rows[np.flatnonzero(is_seen)]
