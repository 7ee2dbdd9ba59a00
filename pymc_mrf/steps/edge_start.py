"""Where chains of edge samplers start: the ridge pseudo-likelihood estimate without its uncertain edges."""

from functools import cached_property

import numpy as np

from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.kernels.densities import log_density
from pymc_mrf.kernels.edge_moves import EdgePrior
from pymc_mrf.steps.observed_field import ObservedField

START_SCORE = 2.0  # standard errors at which the estimate of an edge is taken for a start


class EdgeStart:
    """Starts of chains near one estimate, which is made when the first of them is asked for.

    Parameters
    ----------
    field : ObservedField
    scale : float
        Standard deviation of the ridge penalty: the scale of the slab where the step is made.
    moves_biases : bool
    """

    def __init__(self, field: ObservedField, scale: float, moves_biases: bool) -> None:
        self._field = field
        self._scale = scale
        self._moves_biases = moves_biases

    @cached_property
    def _estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (r,) and biases (d,)."""
        field = self._field
        labels = np.arange(field.graph.n_edges)
        problem = FitProblem(field.x, field.graph, field.family, labels, labels)
        ridge = 1.0 / (len(field.x) * self._scale**2)
        estimate, _, _ = maximise(problem, ridge=ridge, max_iterations=50)
        return estimate[: len(labels)], estimate[len(labels) :]

    def draw(
        self, prior: EdgePrior, b: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights (r,) and biases (d,) near the estimate, random so that chains differ.

        Parameters
        ----------
        prior : EdgePrior
        b : (d,) array
            Biases; returned as they are if they are not to be moved.
        rng : numpy.random.Generator
        """
        field = self._field
        (w, fitted), d = self._estimate, field.graph.n_nodes
        values = np.array(field.family.states, dtype=np.float64)[field.x]  # (n, d)
        m = values.mean(axis=0)
        (u, v), c = field.graph.edges.T, float(np.ptp(field.family.states))
        beta = fitted + np.bincount(u, w * m[v], minlength=d) + np.bincount(v, w * m[u], minlength=d)
        # both ends contribute about n var(x_u) var(x_v) to the curvature
        variance = values.var(axis=0) / c**2
        scale = prior.slab.scale
        information = 2.0 * c**4 * len(field.x) * variance[u] * variance[v] + scale**-2
        noise = rng.standard_normal(len(w)) / np.sqrt(information)
        keep = np.abs(w) * np.sqrt(information) > START_SCORE
        inside = np.array([np.isfinite(log_density(prior.slab, x)) for x in w + noise], dtype=bool)
        w = np.where(keep & inside, w + noise, 0.0)
        if not self._moves_biases:
            return w, b
        beta += np.where(variance > 0, rng.standard_normal(d) * 0.1, 0.0)
        return w, beta - np.bincount(u, w * m[v], minlength=d) - np.bincount(v, w * m[u], minlength=d)
