"""The exact likelihood of a field as a function of one edge at a time, by junction tree.

Identity (A1): with mu the probability of f = 1 on edge e at the present parameters, moving eta_e alone
by delta changes the log-partition function by log(1 - mu + mu exp(delta)). So one edge marginal gives
the likelihood of the data as a function of that edge's parameter over its whole range, exactly.
"""

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.junction_tree import junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import exact_edges, exact_groups, gibbs
from pymc_mrf.kernels import junction_tree as kernels
from pymc_mrf.kernels.edge_slab import EdgePrior, precisions
from pymc_mrf.kernels.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.pseudo_edges import centred
from pymc_mrf.kernels.split_field import LEAST_NODES, allocate_rows, default_blocks, make_windows

MAX_ENUMERATED = 24
"""Nodes of which all configurations are summed over. On a complete graph that is much faster than the
junction tree of one clique, so only memory limits it: two lists of 2^d numbers, 0.27 GB for 24 nodes, which
are used if the field is too strong for `kernels.split_field`."""

CELL_COST = 16
"""A cell of a junction tree's tables costs about as much as this many configurations in enumeration, measured
on random graphs of 8 to 16 nodes."""


class ExactLikelihood:
    """Engine: exact moves of labels and group values for one field and its data.

    Parameters
    ----------
    x : (n, d) int8 array
        Observed state indices.
    graph : PairwiseGraph
    statistic : (K, K) array
        Table of f, with values in {0, 1}; eta multiplies it.
    node_tables : (d, K) array
        Log tables of the nodes.

    Raises
    ------
    ValueError
        If the junction tree is too wide.

    Attributes
    ----------
    n : int
    s : (r,) array
        Sum of f over the observations.
    """

    def __init__(
        self, x: np.ndarray, graph: PairwiseGraph, statistic: np.ndarray, node_tables: np.ndarray
    ) -> None:
        self.n = len(x)
        self.s = np.empty(graph.n_edges)
        gibbs.edge_statistics(x, graph.edges, statistic, self.s)
        self._statistic = statistic
        self._node_tables = node_tables
        tree = junction_tree(graph, node_tables.shape[1])
        self._tree = tree.arrays
        order = tree.factor_order
        self._order = order[order < graph.n_edges]  # the other factors are single nodes
        self._work = kernels.allocate(self._tree)
        self._focus = allocate_focus(self._tree)

    def sweep_labels(self, labels, eta, sizes, n_groups, log_alpha, base, edge_work, rng):
        """Redraw every label in turn from eq. (4), exactly; see `kernels.exact_groups`."""
        self._pack(eta[labels])
        return exact_groups.sweep_labels(
            labels,
            eta,
            sizes,
            n_groups,
            self.s,
            float(self.n),
            log_alpha,
            base,
            self._statistic,
            self._order,
            self._tree,
            self._work.tables,
            self._focus,
            edge_work,
            rng,
        )

    def slice_values(self, labels, eta, base, rng) -> int:
        """Slice-sampling update of every group value eta (K,) in place; number of evaluations."""
        # some eight posterior standard deviations if agreements are independent: few rejections, and
        # no evaluations spent on finding the ends of the slice; a function of data and labels only
        sums, trials = np.bincount(labels, self.s), np.bincount(labels) * float(self.n)
        p = (sums + 0.5) / (trials + 1.0)
        widths = 8.0 / np.sqrt((trials + 1.0) * p * (1.0 - p))
        kernels.pack_pairwise(
            np.zeros((len(labels), *self._statistic.shape)), self._node_tables, self._work.tables
        )
        return exact_groups.slice_values(
            labels,
            eta,
            sums,
            float(self.n),
            widths,
            base,
            self._statistic,
            self._tree,
            self._work.tables,
            self._work,
            rng,
        )

    def _pack(self, eta: np.ndarray) -> None:
        kernels.pack_pairwise(eta[:, None, None] * self._statistic, self._node_tables, self._work.tables)


class ForestLikelihood:
    """Engine for forests without node terms: edges are independent, everything is in closed form.

    On a forest the agreements of the edges are independent, each with probability
    exp(eta) / (exp(eta) + K - 1) (Liu & Page, 2013, sec. 4.1, for K = 2), so that the posterior is that
    of a Dirichlet process mixture of Binomials.

    Parameters
    ----------
    x : (n, d) int8 array
    graph : PairwiseGraph
        Without cycles.
    statistic : (K, K) array
        The identity: f is agreement.

    Attributes
    ----------
    n : int
    s, lam : (r,) arrays
    """

    def __init__(self, x: np.ndarray, graph: PairwiseGraph, statistic: np.ndarray) -> None:
        self.n = len(x)
        self.s = np.empty(graph.n_edges)
        gibbs.edge_statistics(x, graph.edges, statistic, self.s)
        self.lam = np.full(graph.n_edges, -np.log(len(statistic) - 1.0))

    def group_statistics(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Statistics s, n and lam, each (K,), of the likelihood of tied values."""
        trials = np.bincount(labels) * float(self.n)
        return np.bincount(labels, self.s), trials, np.full(len(trials), self.lam[0])


class ExactEdges:
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
        n, d = x.shape
        y = np.array(family.states, dtype=np.float64)
        values = y[x]  # (n, d)
        u, v = graph.edges.T
        m = values.mean(axis=0) if moves_biases else np.zeros(d)
        y_u, y_v = np.repeat(y, 2), np.tile(y, 2)
        t = values.sum(axis=0)
        s = np.einsum("ce,ce->e", values[:, u], values[:, v]) - m[v] * t[u] - m[u] * t[v]
        cells = y_u * y_v - m[v][:, None] * y_u - m[u][:, None] * y_v  # (r, 4)
        tree = junction_tree(graph, 2)
        self._tree = tree.arrays
        order = tree.factor_order[tree.factor_order < graph.n_edges]
        self._field = exact_edges.ExactField(graph.edges, y, float(n), m, s, t, cells, order)
        enumerates = LEAST_NODES <= d <= MAX_ENUMERATED and 2**d <= CELL_COST * tree.n_cells
        # the layout is unused, and so kept small, with a junction tree
        edges, nodes = (graph.edges, d) if enumerates else (graph.edges[:0], LEAST_NODES)
        windows = make_windows(edges, nodes, default_blocks(nodes))
        work = kernels.allocate(self._tree)
        size = 2**d if enumerates else 1
        self._machine = exact_edges.Machine(
            enumerates,
            self._tree,
            allocate_focus(self._tree),
            work,
            np.empty_like(work.tables),
            np.zeros(size),
            np.zeros(size),
            np.zeros((d + 1, d)),
            np.zeros((d, d)),
            windows,
            allocate_rows(windows),
        )
        self._moves_biases = moves_biases
        self._beta = np.zeros(d)
        self.information = n * values.var(axis=0) + 0.5

    def sweep(self, w, b, prior: EdgePrior, rng, corrected: bool = True) -> tuple[int, int]:
        """Update every edge in turn; `w` (r,) and `b` (d,) are changed in place.

        Returns the numbers of proposals that would change an edge, and of those accepted.
        """
        return exact_edges.sweep_edges(self._field, w, b, prior, corrected, self._machine, rng)

    def learn(self, weight: float) -> None:
        """Nothing: `information` stays that of the data."""

    def joint(self, w, b, prior: EdgePrior, step: float, n_steps: int, rng) -> float:
        """Move all present edges and the biases jointly; the acceptance probability."""
        active = np.flatnonzero(w)
        n_biases = len(b) if self._moves_biases else 0
        if not len(active) + n_biases:
            return np.nan
        u, v = self._field.edges[active].T
        mass = self.information[u] * self.information[v] / self._field.n
        mass += precisions(prior.slab)[0]
        if n_biases:
            mass = np.concatenate([mass, self.information + precisions(prior.bias)])
        centred(self._field, w, b, self._beta)
        return exact_edges.hamiltonian_move(
            self._field,
            active,
            w,
            b,
            self._beta,
            prior,
            n_biases,
            1.0 / mass,
            step,
            n_steps,
            self._machine,
            rng,
            np.empty((4, len(mass))),
        )
