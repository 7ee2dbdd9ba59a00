"""Whether the error of a path of couplings shows in a posterior."""

from typing import Any

import numpy as np
import pytensor.tensor as pt

from pymc_mrf.distributions.findings import AGAINST, FOR, Finding
from pymc_mrf.distributions.parents import rows_of_field
from pymc_mrf.likelihood.path import path_form
from pymc_mrf.likelihood.path.field_grid import FieldGrid


def path_findings(rv: Any, node: Any, draws: Any) -> list[Finding]:
    """Compare, at some posterior draws, the errors of a path or grid with the width of the posterior."""
    family, path, parameters = node.op.family, node.op.likelihood.path, node.op.dist_params(node)
    at = path_form.path_coupling(path, family, parameters[0])[None]
    if isinstance(path, FieldGrid):
        at = pt.concatenate([at, path_form.path_weights(family, parameters[1])])
    values = np.array(draws.at_some(at), dtype=np.float64)
    if isinstance(path, FieldGrid):
        errors = max((path.error(value[0], value[1:]) for value in values), key=np.trace)
    else:
        errors = np.diag([max(path.error(t) for [t] in values) ** 2])
    off = _moved(values, errors, rows_of_field(node))
    name = str(rv.name)
    moves = f"moves the posterior by {off:.2f} of its standard deviations"
    if off <= path_form.NEGLIGIBLE:
        return [Finding(FOR, name, float(off), f'simulation of likelihood="path" {moves}', "")]
    text = f'simulation of likelihood="path" is too short, or does not mix: it {moves}'
    return [Finding(AGAINST, name, float(off), text, 'likelihood="particles"')]


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
