"""The pseudo-likelihood of a binary field as `EdgeGibbs` asks for it.

Besag (1975): every variable given all others, so that a change of one edge touches two variables only.
"""

from typing import ClassVar

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import pseudo_edges
from pymc_mrf.kernels.edge_moves import EdgePrior
from pymc_mrf.kernels.hamiltonian import fill_relative_curvatures, prior_precisions
from pymc_mrf.likelihood.edge_engine import EdgeEngine, binary_field, pair_sums

RECENT = 5.0  # draw k of the tuning has a weight proportional to k^4
WIDEST = 0.9  # quantile over the nodes
MAX_STRETCH = 8.0


class PseudoEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves for prior times pseudo-likelihood.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices, 0 or 1.
    graph : PairwiseGraph
        Candidate edges.
    family : Family
        ``ISING`` or ``BOLTZMANN``.
    moves_biases : bool
        Whether the node parameters are this engine's to move.

    Attributes
    ----------
    information : (3 d + r,) array
        Learnt in tuning. Sum over rows of the conditional variance of every node, and curvature of the slab
        at the weight of every edge relative to its centre (the last r), which scale joint moves; between
        them mean and mean square of the norm of each node's weights, so scaled, which tell how far to move.
    """

    assumes_weak_couplings: ClassVar[bool] = True

    def __init__(self, x: np.ndarray, graph: PairwiseGraph, family: Family, moves_biases: bool) -> None:
        n, d = x.shape
        r = graph.n_edges
        field = binary_field(x, graph, family, moves_biases, np.arange(r))
        c = float(np.diff(field.y)[0])
        N = -(-n // pseudo_edges.LANES) * pseudo_edges.LANES
        T, Z = np.zeros((d, N)), np.zeros((d, N))
        T[:, :n] = x.T
        Z[:, :n] = c * (field.y[x.T] - field.m[:, None])
        self.view = pseudo_edges.PseudoEdges(
            field=field,
            w=np.zeros(r),
            b=np.zeros(d),
            beta=np.zeros(d),
            n_biases=d if moves_biases else 0,
            T=T,
            Z=Z,
            c=c,
            z2=(Z**2).sum(axis=1) / n,
            s=pair_sums(T.T, graph.edges, Z.T) + pair_sums(Z.T, graph.edges, T.T),
            now=pseudo_edges.allocate_node_terms(d, r, N),
            without=pseudo_edges.allocate_terms(N),
            proposed=pseudo_edges.allocate_terms(N),
            factor=np.zeros(N),
        )
        self._norms = np.zeros(d)
        self._variance = np.zeros(d)
        self._curvature = np.ones(r)
        self.information = np.zeros(3 * d + r)
        p = T[:, :n].mean(axis=1)
        self.information[:d] = n * (p * (1 - p) + 0.5 / n)
        self.information[3 * d :] = 1.0

    def refresh(self, rng) -> None:
        """Recompute all local fields."""
        pseudo_edges.refresh(self.view)

    def _learnt(self) -> list[np.ndarray]:
        """Parts of `information`: variances, means, mean squares, curvatures."""
        d = len(self._norms)
        return np.split(self.information, [d, 2 * d, 3 * d])  # views

    def learn(self, weight: float) -> None:
        """Move `information` towards its value before the last `joint`."""
        variance, mean, square, curvature = self._learnt()
        variance += weight * (self._variance - variance)
        # recent draws count for more: norms grow much after the start
        recent = min(RECENT * weight, 1.0)
        weight = recent if square.any() else 1.0
        mean += weight * (self._norms - mean)
        square += weight * (self._norms**2 - square)
        curvature += recent * (self._curvature - curvature)

    def stretch(self) -> float:
        """How many times longer trajectories are than for independent coordinates of unit variance.

        If parameters are many for the rows, local fields of a node may all grow together, held back only by
        the prior: the norm of its weights varies far more than one weight given the others.
        """
        _, mean, square, _ = self._learnt()
        widest = np.quantile(square - mean**2, WIDEST)
        return min(max(float(np.sqrt(max(widest, 0.0))), 1.0), MAX_STRETCH)

    def variances(self, active: np.ndarray, prior: EdgePrior) -> np.ndarray:
        """Variances of the weights of the edges `active` (k,) and of the biases, roughly; (k + n_biases,)."""
        view = self.view
        biases = np.empty(len(view.b))
        slab = prior_precisions(prior, biases)
        u, v = view.field.edges[active].T
        variance, _, _, curvature = self._learnt()
        precision = variance[u] * view.z2[v] + variance[v] * view.z2[u] + slab * curvature[active]
        squares = precision * view.w[active] ** 2
        self._norms = np.sqrt(
            np.bincount(u, squares, len(biases)) + np.bincount(v, squares, len(biases))
        )
        if view.n_biases:
            precision = np.concatenate([precision, view.c**2 * variance + biases])
        return 1.0 / precision

    def trajectory(self, active: np.ndarray, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """As of the base, with `n_steps` leapfrog steps times `stretch`; remembers what `learn` needs."""
        if not pseudo_edges.is_up_to_date(self.view):  # after a rejection
            pseudo_edges.refresh(self.view)
        self._variance[:] = self.view.now.v
        n_steps = int(np.rint(n_steps * self.stretch()))
        accept = super().trajectory(active, prior, step, n_steps, rng)
        _, _, _, curvature = self._learnt()
        self._curvature[:] = curvature
        fill_relative_curvatures(active, self.view.w, prior.slab, self._curvature)
        return accept
