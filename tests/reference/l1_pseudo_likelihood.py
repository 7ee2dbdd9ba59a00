"""L1-penalised pseudo-likelihood by a general optimiser: weights split into positive and negative parts."""

import numpy as np
from scipy.optimize import minimize

from tests.reference.pseudo_likelihood import log_pseudo_likelihood


def tables(weight, bias, states):
    """Log tables of a field with statistics y_u y_v and y_i."""
    y = np.asarray(states, dtype=float)
    return np.array([w * np.outer(y, y) for w in weight]), np.array([b * y for b in bias])


def objective(x, edges, weight, bias, states, penalty, bias_sd):
    """Minus the mean log pseudo-likelihood, the penalty and the prior of biases."""
    rows, counts = np.unique(x, axis=0, return_counts=True)
    lpl = counts @ log_pseudo_likelihood(rows, edges, *tables(weight, bias, states)) / len(x)
    return -lpl + penalty * np.abs(weight).sum() + 0.5 * np.sum(bias**2) / (len(x) * bias_sd**2)


def minimum(x, edges, d, states, penalty, bias_sd):
    """Weights (r,) and biases (d,) of the joint estimate."""
    r = len(edges)

    def split(parameters):
        return parameters[:r] - parameters[r : 2 * r], parameters[2 * r :]

    def smooth(parameters):
        weight, bias = split(parameters)
        # the penalty is linear in the parts
        fit = objective(x, edges, weight, bias, states, 0.0, bias_sd)
        return fit + penalty * parameters[: 2 * r].sum()

    bounds = [(0.0, None)] * (2 * r) + [(None, None)] * d
    found = minimize(
        smooth, np.full(2 * r + d, 0.01), method="L-BFGS-B", bounds=bounds, tol=1e-13,
        options={"maxfun": 20_000},
    )  # fmt: skip
    return split(found.x)
