"""The exact likelihood of a binary field as a function of one edge, and of all present edges jointly."""

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import exact_edges, exact_joint
from pymc_mrf.kernels import junction_tree as kernels
from pymc_mrf.kernels.edge_slab import EdgePrior
from pymc_mrf.kernels.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.split_field import LEAST_NODES, allocate_rows, default_blocks, make_windows
from pymc_mrf.likelihood.edge_engine import EdgeEngine

MAX_ENUMERATED = 24
"""Nodes of which all configurations are summed over. On a complete graph that is much faster than the
junction tree of one clique, so only memory limits it: two lists of 2^d numbers, 0.27 GB for 24 nodes, which
are used if the field is too strong for `kernels.split_field`."""

CELL_COST = 16
"""A cell of a junction tree's tables costs about as much as this many configurations in enumeration, measured
on random graphs of 8 to 16 nodes."""


def binary_field(
    x: np.ndarray, graph: PairwiseGraph, family: Family, moves_biases: bool, order: np.ndarray
) -> tuple[exact_edges.ExactField, np.ndarray]:
    """Make the kernels' view of a field, its edges visited in `order`, and its engine's `information`."""
    n, d = x.shape
    y = np.array(family.states, dtype=np.float64)
    values = y[x]  # (n, d)
    u, v = graph.edges.T
    m = values.mean(axis=0) if moves_biases else np.zeros(d)
    y_u, y_v = np.repeat(y, 2), np.tile(y, 2)
    t = values.sum(axis=0)
    cells = y_u * y_v - m[v][:, None] * y_u - m[u][:, None] * y_v  # (r, 4)
    field = exact_edges.ExactField(
        edges=graph.edges,
        y=y,
        n=float(n),
        m=m,
        s=np.einsum("ce,ce->e", values[:, u], values[:, v]) - m[v] * t[u] - m[u] * t[v],
        t=t,
        cells=cells,
        spreads=np.ptp(cells, axis=1),
        order=order,
    )
    return field, n * values.var(axis=0) + 0.5


class ExactEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves of edges, weights and biases of a binary field.

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

    Raises
    ------
    ValueError
        If the junction tree is too wide.

    Attributes
    ----------
    information : (d,) array
        Sum over rows of the variance of every node's state value; scales joint moves.
    """

    def __init__(self, x: np.ndarray, graph: PairwiseGraph, family: Family, moves_biases: bool) -> None:
        d = graph.n_nodes
        tree = field_tree(graph, 2)
        self._tree = tree.arrays
        order = tree.factor_order[tree.factor_order < graph.n_edges]
        self._field, self.information = binary_field(x, graph, family, moves_biases, order)
        enumerates = LEAST_NODES <= d <= MAX_ENUMERATED and 2**d <= CELL_COST * tree.n_cells
        # the layout is unused, and so kept small, with a junction tree
        edges, nodes = (graph.edges, d) if enumerates else (graph.edges[:0], LEAST_NODES)
        windows = make_windows(edges, nodes, default_blocks(nodes))
        work = kernels.allocate(self._tree)
        size = 2**d if enumerates else 1
        self._machine = exact_edges.Machine(
            enumerates=enumerates,
            tree=self._tree,
            focus=allocate_focus(self._tree),
            work=work,
            marginals=np.empty_like(work.tables),
            P=np.zeros(size),
            h=np.zeros(size),
            W=np.zeros((d + 1, d)),
            moments=np.zeros((d, d)),
            windows=windows,
            rows=allocate_rows(windows),
        )
        self._moves_biases = moves_biases

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn; `w` (r,) and `b` (d,) are changed in place.

        Returns the numbers of proposals that would change an edge, and of those accepted.
        """
        return exact_edges.sweep_edges(self._field, w, b, prior, corrected, self._machine, rng)

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly; the acceptance probability, NaN without any."""
        n_biases = len(b) if self._moves_biases else 0
        return exact_joint.hamiltonian_move(
            self._field, w, b, prior, n_biases, self.information, step, n_steps, self._machine, rng
        )
