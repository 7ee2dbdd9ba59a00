"""The pseudo-likelihood of a binary field as a function of one edge, and of all present edges jointly.

Besag (1975): every variable given all others, so that a change of one edge touches two variables only.
"""

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import pseudo_edges, pseudo_joint
from pymc_mrf.kernels.edge_slab import EdgePrior, precisions


class PseudoEdges:
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
    information : (d,) array
        Sum over rows of the conditional variance of every node; scales joint moves. Learnt in tuning.
    """

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
            graph.edges,
            T,
            Z,
            n,
            c,
            m,
            (Z**2).sum(axis=1) / n,
            s,
            np.zeros((d, N)),
            np.zeros((d, N)),
            np.zeros((d, N)),
            np.zeros(d),
            np.zeros(d),
            np.zeros((13, N)),
        )
        self._moves_biases = moves_biases
        self._beta = np.zeros(d)
        self.information = n * (T[:, :n].mean(axis=1) * (1 - T[:, :n].mean(axis=1)) + 0.5 / n)

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn; `w` (r,) and `b` (d,) are changed in place.

        Returns the numbers of proposals that would change an edge, and of those accepted.
        """
        field = self._field
        pseudo_edges.centred(field, w, b, self._beta)
        pseudo_edges.refresh(field, w, self._beta)
        return pseudo_edges.sweep_edges(
            field, w, b, prior.log_odds, prior.slab, prior.bias, corrected, rng
        )

    def learn(self, weight: float) -> None:
        """Move `information` towards its present value; call after `sweep`."""
        self.information += weight * (self._field.v - self.information)

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly, after `sweep`; the acceptance probability."""
        field = self._field
        active = np.flatnonzero(w)
        n_biases = len(b) if self._moves_biases else 0
        if not len(active) + n_biases:
            return 1.0
        u, v = field.edges[active].T
        slab_precision = precisions(prior.slab)[0]
        mass = self.information[u] * field.z2[v] + self.information[v] * field.z2[u] + slab_precision
        if n_biases:
            mass = np.concatenate([mass, field.c**2 * self.information + precisions(prior.bias)])
        pseudo_edges.centred(field, w, b, self._beta)
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
            n_steps,
            rng,
            np.empty((4, len(mass))),
        )
