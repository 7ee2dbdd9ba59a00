"""Whether the error of a path of couplings shows in a posterior."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis.coupling_strength import at_some_draws
from pymc_mrf.analysis.findings import AGAINST, FOR, Finding


def path_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Compare, at some posterior draws, the errors of paths and grids with the width of the posterior."""
    import pytensor.tensor as pt

    from pymc_mrf.distributions.parents import fields_under, rows_of_field
    from pymc_mrf.distributions.path import NEGLIGIBLE, path_coupling, path_weights
    from pymc_mrf.likelihood.path.field_grid import FieldGrid

    found = []
    for rv, node in fields_under("path", model):
        family, path, parameters = node.op.family, node.op.path, node.op.dist_params(node)
        at = path_coupling(path, family, parameters[0])[None]
        if isinstance(path, FieldGrid):
            at = pt.concatenate([at, path_weights(family, parameters[1])])
        draws = np.array(at_some_draws(at, idata, model, group), dtype=np.float64)
        if isinstance(path, FieldGrid):
            errors = max((path.error(draw[0], draw[1:]) for draw in draws), key=np.trace)
        else:
            errors = np.diag([max(path.error(t) for [t] in draws) ** 2])
        off = _moved(draws, errors, rows_of_field(node))
        name = str(rv.name)
        moves = f"moves the posterior by {off:.2f} of its standard deviations"
        if off <= NEGLIGIBLE:
            found.append(Finding(FOR, name, float(off), f'simulation of likelihood="path" {moves}', ""))
        else:
            text = f'simulation of likelihood="path" is too short, or does not mix: it {moves}'
            found.append(Finding(AGAINST, name, float(off), text, 'likelihood="particles"'))
    return found


def _moved(draws: np.ndarray, errors: np.ndarray, n_rows: int) -> float:
    """Return how far errors of means move a posterior, at most in units of its standard deviations.

    An error of the mean of a statistic, times the number of rows, is one of the slope of the log-likelihood.
    Times the covariances of the posterior it is how far that is moved. `draws` (n, m) are of the m natural
    parameters, `errors` (m, m) the covariances of the errors of their means.
    """
    posterior = np.atleast_2d(np.cov(draws.T, bias=True))
    variances = np.diag(posterior)
    moved = n_rows**2 * np.diag(posterior @ errors @ posterior)
    return float(np.sqrt(np.max(moved[variances > 0] / variances[variances > 0], initial=0.0)))
