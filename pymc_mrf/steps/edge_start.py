"""Where chains of edge samplers start: the ridge pseudo-likelihood estimate without its uncertain edges."""

import numpy as np

from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.kernels.densities import log_density
from pymc_mrf.kernels.edge_moves import EdgePrior
from pymc_mrf.steps.observed_field import ObservedField

START_SCORE = 2.0  # standard errors at which the estimate of an edge is taken for a start


def pseudo_likelihood_start(
    field: ObservedField, prior: EdgePrior, b: np.ndarray, moves_biases: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (r,) and biases (d,) near the estimate, random so that chains differ.

    Parameters
    ----------
    field : ObservedField
    prior : EdgePrior
        The scale of its slab is that of the ridge penalty.
    b : (d,) array
        Biases; returned as they are if they are not to be moved.
    moves_biases : bool
    rng : numpy.random.Generator
    """
    r, d = field.graph.n_edges, field.graph.n_nodes
    labels = np.arange(r)
    problem = FitProblem(field.x, field.graph, field.family, labels, labels)
    scale = prior.slab.scale
    estimate, _, _ = maximise(problem, ridge=1.0 / (len(field.x) * scale**2), max_iterations=50)
    w, fitted = estimate[:r], estimate[r:]
    values = np.array(field.family.states, dtype=np.float64)[field.x]  # (n, d)
    m = values.mean(axis=0)
    (u, v), c = field.graph.edges.T, float(np.ptp(field.family.states))
    beta = fitted + np.bincount(u, w * m[v], minlength=d) + np.bincount(v, w * m[u], minlength=d)
    # both ends contribute about n var(x_u) var(x_v) to the curvature
    variance = values.var(axis=0) / c**2
    information = 2.0 * c**4 * len(field.x) * variance[u] * variance[v] + scale**-2
    noise = rng.standard_normal(r) / np.sqrt(information)
    keep = np.abs(w) * np.sqrt(information) > START_SCORE
    inside = np.array([np.isfinite(log_density(prior.slab, value)) for value in w + noise], dtype=bool)
    w = np.where(keep & inside, w + noise, 0.0)
    if not moves_biases:
        return w, b
    beta += np.where(variance > 0, rng.standard_normal(d) * 0.1, 0.0)
    return w, beta - np.bincount(u, w * m[v], minlength=d) - np.bincount(v, w * m[u], minlength=d)
