"""The exact likelihood of a field as a function of one edge at a time, by junction tree.

Identity (A1): with mu the probability of f = 1 on edge e at the present parameters, moving eta_e alone
by delta changes the log-partition function by log(1 - mu + mu exp(delta)). So one edge marginal gives
the likelihood of the data as a function of that edge's parameter over its whole range, exactly.
"""

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import exact_groups, gibbs
from pymc_mrf.kernels import junction_tree as kernels
from pymc_mrf.kernels.junction_tree_focus import allocate_focus


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
        tree = field_tree(graph, node_tables.shape[1])
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
