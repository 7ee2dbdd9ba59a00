"""The exact likelihood of a Gaussian field as a function of its weights and the diagonal of its precision."""

from typing import Any

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.edges.hamiltonian import NormalCoordinates, normal_coordinates, prior_precisions
from pymc_mrf.kernels.views import gaussian_edges as kernels
from pymc_mrf.kernels.views.questions import bias_prior
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


class GaussianLikelihood(EdgeEngine):
    """Moves of a Gaussian field, given its means.

    Joint moves follow the normal approximation of the posterior at a reference, the mean of the precisions
    that tuning has seen. It is no place where chains must stay: it shapes moves, which are corrected.

    Parameters
    ----------
    x : (n, d) array
        Deviations of the data from their means.
    graph : PairwiseGraph
    family : Family
    moves_biases : bool
        Whether the diagonal of the precision is this engine's to move.

    Attributes
    ----------
    information : (r + d,) array
        Weights of the reference, and its diagonal.
    """

    view: kernels.GaussianEdges
    starts_empty = True

    def __init__(self, x: Any, graph: Any, family: Family, moves_biases: bool) -> None:
        r, d, n = graph.n_edges, graph.n_nodes, len(x)
        variance = x.var(axis=0)
        variance[variance == 0.0] = 1.0  # as of one row
        u, v = graph.edges.T
        contrast = float(np.sqrt(variance[u] * variance[v]).min(initial=np.inf))
        self.view = kernels.GaussianEdges(
            kernels.GaussianField(graph.edges, np.arange(r), contrast),
            np.zeros(r), np.zeros(d), np.zeros(d if moves_biases else 0), d if moves_biases else 0, float(n),
            x.T @ x, np.zeros((d, d)), np.zeros((d, d)), np.zeros(7),
        )  # fmt: skip
        self.information = np.concatenate([np.zeros(r), 1.0 / variance])

    def set_data(self, x) -> None:
        """Take other deviations (n, d)."""
        np.matmul(x.T, x, out=self.view.scatter)

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        view = self.view
        view.w[:], view.b[:] = w, b
        view.beta[:] = b[: len(view.beta)]

    def refresh(self, rng) -> None:
        """Compute the inverse of the precision anew.

        Raises
        ------
        ValueError
            If the precision is not positive definite, as only that of a start can be.
        """
        if not np.isfinite(kernels.invert(self.view)):
            raise ValueError(
                "the precision of a GaussianMRF is not positive definite at the start of a chain: start from "
                "smaller weights or a larger diagonal, as in pm.sample(initvals={...})"
            )

    def coordinates(  # type: ignore[override]
        self, active: np.ndarray, prior: EdgePrior
    ) -> NormalCoordinates:
        """Centre on the normal approximation at the reference."""
        view, r, d = self.view, len(self.view.w), len(self.view.b)
        edges, (u, v) = view.field.edges, view.field.edges.T
        w, diagonal = np.split(self.information, [r])
        place = np.concatenate([w, np.log(diagonal)])
        K = np.diag(diagonal)
        K[u, v] = K[v, u] = -w
        S = np.linalg.inv(K)
        slope = np.concatenate(
            [view.scatter[u, v] - view.n * S[u, v], 0.5 * diagonal * np.diag(view.n * S - view.scatter)]
        )
        of_prior, by_prior, fixed = np.zeros((3, r + d))
        of_prior[:r] = prior_precisions(prior, of_prior[r:])
        bias_prior(prior.bias, place[r:], by_prior[r:])
        by_prior[:r] = of_prior[:r] * (prior.slab.location - w)
        moved = np.concatenate([active, np.arange(r, r + view.n_biases)])
        if not view.n_biases:
            fixed[r:] = view.b
        curvature = np.empty((len(moved), r + d))
        kernels.fill_curvature(edges, K, S, moved, curvature)
        curvature *= view.n
        curvature[np.arange(len(moved)), moved] += of_prior[moved]
        precision = np.ascontiguousarray(curvature[:, moved])
        shift = curvature @ (place - fixed) + (slope + by_prior)[moved]
        return normal_coordinates(np.linalg.solve(precision, shift), precision)

    def stretch(self, rng) -> float:
        """Up to twice as far: always twice would be half an oscillation, which leaves distances alone."""
        return rng.uniform(1.0, 2.0)

    def learn(self, weight: float) -> None:
        """Let the reference follow the chain; a mean of positive definite matrices is one."""
        now = np.concatenate([self.view.w, np.exp(self.view.b)])
        self.information += weight * (now - self.information)
