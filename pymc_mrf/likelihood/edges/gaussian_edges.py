"""The exact likelihood of a Gaussian field as a function of its weights."""

from typing import Any

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.edges.hamiltonian import Coordinates, allocate_coordinates
from pymc_mrf.kernels.priors.densities import slope_and_precision
from pymc_mrf.kernels.views import gaussian_edges as view_kernels
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


class GaussianLikelihood(EdgeEngine):
    """Moves of the weights of a Gaussian field, given the diagonal of its precision and its means.

    Parameters
    ----------
    x : (n, d) array
        Deviations of the data from their means.
    graph : PairwiseGraph
    family : Family
    moves_biases : bool
        False: what belongs to the nodes is moved by others.
    """

    view: view_kernels.GaussianEdges
    starts_empty = True

    def __init__(self, x: Any, graph: Any, family: Family, moves_biases: bool) -> None:
        r, d, n = graph.n_edges, graph.n_nodes, len(x)
        spread = np.sqrt((x**2).sum(axis=0) / n)
        u, v = graph.edges.T
        field = view_kernels.GaussianField(
            graph.edges, np.arange(r), float((spread[u] * spread[v]).min(initial=np.inf))
        )
        self.view = view_kernels.GaussianEdges(
            field, np.zeros(r), np.ones(d), np.zeros(0), 0, float(n), np.zeros((d, d)),
            np.diag(spread**2), np.zeros((d, d)), np.zeros(7),
        )  # fmt: skip
        self.set_data(x)
        self.information = np.zeros(r)
        view_kernels.fill_information(self.view, self.information)

    def set_data(self, x) -> None:
        """Take other deviations (n, d)."""
        np.matmul(x.T, x, out=self.view.scatter)

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        self.view.w[:], self.view.b[:] = w, b

    def refresh(self, rng) -> None:
        """Compute the inverse of the precision anew.

        Raises
        ------
        ValueError
            If the precision is not positive definite, as only that of a start can be.
        """
        if not np.isfinite(view_kernels.invert(self.view)):
            raise ValueError(
                "the precision of a GaussianMRF is not positive definite at the start of a chain: start from "
                "smaller weights or a larger diagonal, as in pm.sample(initvals={...})"
            )

    def joint(self, w, b, prior, step, n_steps, rng, enters=False) -> float:
        """Move present edges jointly; the diagonal `b` stays."""
        active = np.flatnonzero(w)
        if not len(active):
            return np.nan
        accept = self.trajectory(active, prior, step, n_steps, rng, enters)
        w[:] = self.view.w
        return accept

    def coordinates(self, active, prior) -> Coordinates:
        """Masses by what has been learnt of the information about each weight."""
        of_slab = slope_and_precision(prior.slab, prior.slab.location)[1]
        return allocate_coordinates(1.0 / (self.information[active] + of_slab))

    def learn(self, weight: float) -> None:
        """Learn the information, which depends on the weights and the diagonal."""
        now = np.empty(len(self.information))
        view_kernels.fill_information(self.view, now)
        self.information += weight * (now - self.information)
