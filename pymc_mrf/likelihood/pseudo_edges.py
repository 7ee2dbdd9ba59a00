"""The pseudo-likelihood of a binary field as a function of one edge, and of all present edges jointly.

Besag (1975): every variable given all others, so that a change of one edge touches two variables only.
"""

from typing import Any, ClassVar

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import pseudo_edges, pseudo_joint, pseudo_wedges
from pymc_mrf.kernels.edge_slab import EdgePrior, centred, precisions
from pymc_mrf.likelihood.edge_engine import EdgeEngine
from pymc_mrf.likelihood.wedges import make_wedges

WEDGES = 0.04  # looked at in a step, relative to the candidate edges, at most
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
        low, high = family.states
        c = float(high - low)
        values = np.array(family.states, dtype=np.float64)[x.T]  # (d, n)
        m = values.mean(axis=1) if moves_biases else np.zeros(d)
        N = -(-n // pseudo_edges.LANES) * pseudo_edges.LANES
        T, Z = np.zeros((d, N)), np.zeros((d, N))
        T[:, :n] = x.T
        Z[:, :n] = c * (values - m[:, None])
        u, v = graph.edges.T
        s = np.einsum("en,en->e", T[u], Z[v]) + np.einsum("en,en->e", T[v], Z[u])
        self._field = pseudo_edges.PseudoField(
            edges=graph.edges,
            T=T,
            Z=Z,
            n=n,
            c=c,
            m=m,
            z2=(Z**2).sum(axis=1) / n,
            s=s,
            L=np.zeros((d, N)),
            R=np.zeros((d, N)),
            V=np.zeros((d, N)),
            v=np.zeros(d),
            A=np.zeros(d),
            room=np.zeros((20, N)),
        )
        self._wedges = make_wedges(x, graph, WEDGES)
        self._moves_biases = moves_biases
        self._beta = np.zeros(d)
        self._norms = np.zeros(d)
        self._last: tuple[np.ndarray, Any] = np.zeros(graph.n_edges), None
        self.information = np.zeros(3 * d + graph.n_edges)
        p = T[:, :n].mean(axis=1)
        self.information[:d] = n * (p * (1 - p) + 0.5 / n)
        self.information[3 * d :] = 1.0

    def _learnt(self) -> list[np.ndarray]:
        """Parts of `information`: variances, means, mean squares, curvatures."""
        d = len(self._beta)
        return np.split(self.information, [d, 2 * d, 3 * d])  # views

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn, then some pairs; `w` (r,) and `b` (d,) are changed in place.

        Returns the numbers of proposals that would change a single edge, and of those accepted.
        """
        field = self._field
        centred(field, w, b, self._beta)
        pseudo_edges.refresh(field, w, self._beta)
        counts = pseudo_edges.sweep_edges(field, w, b, prior, corrected, rng)
        pseudo_wedges.sweep_wedges(field, self._wedges, w, b, prior, corrected, rng)
        return counts

    def learn(self, weight: float) -> None:
        """Move `information` towards its present value; call after `joint`."""
        variance, mean, square, curvature = self._learnt()
        variance += weight * (self._field.v - variance)
        # recent draws count for more: norms grow much after the start
        recent = min(RECENT * weight, 1.0)
        weight = recent if square.any() else 1.0
        mean += weight * (self._norms - mean)
        square += weight * (self._norms**2 - square)
        w, slab = self._last
        pseudo_joint.learn_curvature(np.flatnonzero(w), w, slab, recent, curvature)

    def stretch(self) -> float:
        """How many times longer trajectories are than for independent coordinates of unit variance.

        If parameters are many for the rows, local fields of a node may all grow together, held back only by
        the prior: the norm of its weights varies far more than one weight given the others.
        """
        _, mean, square, _ = self._learnt()
        widest = np.quantile(square - mean**2, WIDEST)
        return min(max(float(np.sqrt(max(widest, 0.0))), 1.0), MAX_STRETCH)

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly, after `sweep`; the acceptance probability.

        Makes `n_steps` leapfrog steps times `stretch`.
        """
        field = self._field
        active = np.flatnonzero(w)
        n_biases = len(b) if self._moves_biases else 0
        self._last = w, prior.slab
        if not len(active) + n_biases:
            return np.nan
        u, v = field.edges[active].T
        variance, _, _, curvature = self._learnt()
        slab_precision = precisions(prior.slab)[0] * curvature[active]
        mass = variance[u] * field.z2[v] + variance[v] * field.z2[u] + slab_precision
        squares = mass * w[active] ** 2
        self._norms = np.sqrt(np.bincount(u, squares, len(b)) + np.bincount(v, squares, len(b)))
        if n_biases:
            mass = np.concatenate([mass, field.c**2 * variance + precisions(prior.bias)])
        centred(field, w, b, self._beta)
        return pseudo_joint.hamiltonian_move(
            field,
            active,
            w,
            b,
            self._beta,
            prior.slab,
            prior.bias,
            n_biases,
            1.0 / mass,
            step,
            int(np.rint(n_steps * self.stretch())),
            rng,
            np.empty((4, len(mass))),
        )
