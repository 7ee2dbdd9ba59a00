"""What `EdgeGibbs` asks of an engine: the likelihood of one binary field and its data, by edges.

An engine owns a view for `pymc_mrf.kernels.edge_moves` and `pymc_mrf.kernels.hamiltonian`, where the moves
are written once; it keeps the view up to date and learns how far joint moves should go.
"""

from typing import Any, ClassVar

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edge_moves import EdgePrior, Field, centred, sweep_edges
from pymc_mrf.kernels.hamiltonian import (
    allocate_coordinates,
    draw_momentum,
    hamiltonian_move,
    prior_precisions,
)

BLOCK = 1_000_000  # numbers gathered at once
# length of a joint move, in standard deviations: a quarter of an oscillation; engines may stretch it
TRAJECTORY = 1.6
MAX_LEAPFROG = 16  # steps of one trajectory


def binary_field(
    x: np.ndarray, graph: PairwiseGraph, family: Family, is_centred: bool, order: np.ndarray
) -> Field:
    """Make the kernels' data of a field, its edges visited in `order`.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices, 0 or 1.
    graph : PairwiseGraph
    family : Family
    is_centred : bool
        Whether biases are shifted with the edges, to stay centred at the data.
    order : (r,) int64 array
    """
    n, d = x.shape
    y = np.array(family.states, dtype=np.float64)
    values = y[x]  # (n, d)
    u, v = graph.edges.T
    m = values.mean(axis=0) if is_centred else np.zeros(d)
    y_u, y_v = np.repeat(y, 2), np.tile(y, 2)
    t = values.sum(axis=0)
    return Field(
        edges=graph.edges,
        y=y,
        n=float(n),
        m=m,
        s=pair_sums(values, graph.edges) - m[v] * t[u] - m[u] * t[v],
        t=t,
        cells=y_u * y_v - m[v][:, None] * y_u - m[u][:, None] * y_v,  # (r, 4)
        order=order,
    )


def node_information(x: np.ndarray, field: Field) -> np.ndarray:
    """Sum over the rows of x (n, d) of the variance of every node's state value, (d,); never 0."""
    return len(x) * field.y[x].var(axis=0) + 0.5


def pair_sums(x: np.ndarray, edges: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Sum over the rows of x (n, d) at the first end times y (n, d), or x itself, at the other; (r,)."""
    y = x if y is None else y
    out = np.empty(len(edges))
    size = max(BLOCK // len(x), 1)  # edges at once: gathering all would take n r numbers
    for start in range(0, len(edges), size):
        u, v = edges[start : start + size].T
        out[start : start + size] = np.einsum("ce,ce->e", x[:, u], y[:, v])
    return out


class EdgeEngine:
    """Base of the engines of the edge sampler.

    A subclass supplies `__init__` and `refresh`, and what else is not as here: nothing estimated, nothing
    learnt, nothing remembered from step to step.

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
    **options : int
        Options of its own.

    Attributes
    ----------
    view : NamedTuple
        The likelihood as `edge_moves` sees it.
    information : array
        What the lengths of joint moves are scaled by, of a shape that is the engine's own; `learn` may change
        it in place.
    assumes_weak_couplings : bool
        Whether the moves are far from the posterior where couplings are strong
        (`pymc_mrf.fields.coupling_strength`).
    """

    view: Any
    information: np.ndarray
    assumes_weak_couplings: ClassVar[bool] = False

    def __init__(
        self, x: np.ndarray, graph: PairwiseGraph, family: Family, moves_biases: bool, **options: int
    ) -> None:
        raise NotImplementedError

    def refresh(self, rng) -> None:
        """Bring the view up to date with its parameters `w`, `b` and `beta`."""
        raise NotImplementedError

    def variances(self, active: np.ndarray, prior: EdgePrior) -> np.ndarray:
        """Variances of the weights of the edges `active` (k,) and of the biases, roughly; (k + n_biases,)."""
        biases = np.empty(len(self.view.b))
        slab = prior_precisions(prior, biases)
        u, v = self.view.field.edges[active].T
        precision = self.information[u] * self.information[v] / self.view.field.n + slab
        if self.view.n_biases:
            precision = np.concatenate([precision, self.information + biases])
        return 1.0 / precision

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn; `w` (r,) and `b` (d,) are changed in place.

        Without the Metropolis-Hastings correction if not `corrected`. Returns the numbers of proposals that
        would change an edge, and of those accepted.
        """
        view = self.view
        self.go_to(w, b)
        # anew in every sweep, so that rounding errors do not add up over the chain
        self.refresh(rng)
        counts = sweep_edges(view, prior, corrected, rng)
        w[:], b[:] = view.w, view.b
        return counts

    def go_to(self, w, b) -> None:
        """Give the view other parameters."""
        view = self.view
        view.w[:], view.b[:] = w, b
        centred(view.field, w, b, view.beta)

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly, in place, after `sweep`.

        By `n_steps` leapfrog steps of length `step`. Returns the acceptance probability, NaN if there is
        nothing to move.
        """
        active = self.view.field.order[w[self.view.field.order] != 0.0]
        if not len(active) + self.view.n_biases:
            return np.nan
        accept = self.trajectory(active, prior, step, n_steps, rng)
        w[:], b[:] = self.view.w, self.view.b
        return accept

    def trajectory(self, active: np.ndarray, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Make the joint move of the edges `active` (k,); the acceptance probability."""
        x = allocate_coordinates(self.variances(active, prior))
        draw_momentum(x, rng)
        return hamiltonian_move(self.view, active, prior, x, step, n_steps, rng)[0]

    def learn_sweep(self) -> None:
        """Learn from the last `sweep`; called in tuning only."""

    def learn(self, weight: float) -> None:
        """Learn from the last `joint` with this weight of the present; called in tuning only."""

    @property
    def n_particles(self) -> int:
        """Number of particles, 0 if nothing is simulated."""
        return 0

    def statistics(self) -> dict[str, float]:
        """How the estimates since the beginning of the last `sweep` fared.

        The "noise" of log-likelihood ratios, the smallest effective size ("ess") relative to the particles,
        and the number of "resamplings".
        """
        return {"noise": 0.0, "ess": 1.0, "resamplings": 0}

    def get_state(self) -> tuple[np.ndarray, ...]:
        """Copy all that is remembered from step to step, besides `information`."""
        return ()

    def set_state(self, *state: np.ndarray) -> None:
        """Restore what `get_state` gave."""

    def forget(self) -> None:
        """Unlearn and forget everything, besides `information`."""
