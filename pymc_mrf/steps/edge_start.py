"""Where chains of edge samplers start: ridge pseudo-likelihood estimates without their uncertain edges."""

from functools import cached_property

import numpy as np

from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.kernels.densities import log_density
from pymc_mrf.kernels.edge_moves import EdgePrior, Field, add_shifts
from pymc_mrf.likelihood.edge_engine import data_information
from pymc_mrf.likelihood.shared_edges import Share
from pymc_mrf.steps.observed_field import ObservedField

START_SCORE = 2.0  # standard errors at which the estimate of an edge is taken for a start


class EdgeStart:
    """Starts of chains near one estimate of each field, made when the first of them is asked for.

    Parameters
    ----------
    fields : list of ObservedField
    data : kernels.edge_moves.Field
        The same fields, blocks of one, as the kernels take them.
    share : Share
        What the vector of the step is in the parameters of its edges.
    scale : float
        Standard deviation of the ridge penalty: the scale of the slab where the step is made.
    moves_biases : bool
    """

    def __init__(
        self, fields: list[ObservedField], data: Field, share: Share, scale: float, moves_biases: bool
    ) -> None:
        self._fields = fields
        self._data = data
        self._share = share
        self._scale = scale
        self._moves_biases = moves_biases
        self._information = data_information([field.x for field in fields], data)

    @cached_property
    def _estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Edge parameters (r,) and biases (d q,) of all fields, one after the other."""
        weights, biases = [], []
        for field in self._fields:
            labels = np.arange(field.graph.n_edges)
            problem = FitProblem(field.x, field.graph, field.family, labels, labels)
            ridge = 1.0 / (len(field.x) * self._scale**2)
            estimate, _, _ = maximise(problem, ridge=ridge, max_iterations=50)
            w, b = problem.split(estimate)
            weights.append(w)
            biases.append(np.nan_to_num(b).ravel())
        return np.concatenate(weights), np.concatenate(biases)

    def draw(
        self, prior: EdgePrior, b: np.ndarray, offset: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vector and biases (d q,) near the estimate, random so that chains differ.

        Parameters
        ----------
        prior : EdgePrior
        b : (d q,) array
            Biases; returned as they are if they are not to be moved.
        offset : (r,) array
            Edge parameters without the vector.
        rng : numpy.random.Generator
        """
        (w, fitted), (entries, factors), n = self._estimate, self._share, len(prior.log_odds)
        of_edges, of_biases = np.split(self._information, [len(w)])
        # both ends contribute as much as one under independence
        information = 2.0 * np.bincount(entries, factors**2 * of_edges, n)
        estimate = 2.0 * np.bincount(entries, factors * of_edges * (w - offset), n) / information
        information += prior.slab.scale**-2
        noise = rng.standard_normal(n) / np.sqrt(information)
        keep = np.abs(estimate) * np.sqrt(information) > START_SCORE
        inside = np.array(
            [np.isfinite(log_density(prior.slab, x)) for x in estimate + noise], dtype=bool
        )
        new = np.where(keep & inside, estimate + noise, 0.0)
        if not self._moves_biases:
            return new, b
        varies = of_biases > 1.0  # more than the half that is added
        b = fitted + np.where(varies, rng.standard_normal(len(b)) * 0.1, 0.0)
        add_shifts(self._data, w - offset - factors * new[entries], 1.0, b)  # centred biases stay
        return new, b
