"""Exact maximum likelihood where the junction tree is small enough: free or tied parameters.

The log-likelihood of an exponential family is concave, its gradient is the gap between observed and
expected statistics, and minus its Hessian is n times their covariance (Wainwright & Jordan, 2008,
ch. 3 and 6). All three come from the junction tree. In agreement fields on forests the edges are
independent, and the estimate has a closed form (Liu & Page, 2013, sec. 2).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.fields.families import Family
from pymc_mrf.graph.junction_tree import check_tractable, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import junction_tree as kernel
from pymc_mrf.kernels.junction_tree_derivatives import covariance

GAP = 1e-7
"""Largest difference of fitted and observed moments (per observation) that counts as converged."""

COVARIANCE_CELLS = 10**9
"""Standard errors are computed up to this number of parameters times table cells: some 30 s."""


class ExactEstimate(NamedTuple):
    """Result of `maximize_likelihood`.

    Attributes
    ----------
    eta : (G,) array
        One natural parameter for each group of edges.
    b : (d,) array or None
        Node parameters, if the family has them.
    eta_error, b_error : arrays or None
        Standard errors from the inverse Fisher information; None where it is too large to compute.
    log_likelihood : float
        Of all n observations.
    moment_gap : float
        Largest difference between fitted and observed moments, per observation.
    converged : bool
    n_iterations : int
    """

    eta: np.ndarray
    b: np.ndarray | None
    eta_error: np.ndarray | None
    b_error: np.ndarray | None
    log_likelihood: float
    moment_gap: float
    converged: bool
    n_iterations: int


def maximize_likelihood(
    x: np.ndarray, graph: PairwiseGraph, family: Family, labels: np.ndarray
) -> ExactEstimate:
    """Exact maximum-likelihood estimate of tied edge parameters and free node parameters.

    Parameters
    ----------
    x : (n, d) int8 array
        State indices. No statistic may lie on its bound (`FitProblem.check_estimable`).
    graph : PairwiseGraph
    family : Family
    labels : (r,) int array
        Group 0..G-1 of each edge; every group has at least one edge.

    Raises
    ------
    ValueError
        If the junction tree is too large or the estimate does not exist: some combination of states
        never occurs.
    """
    import networkx as nx

    n = len(x)
    u, v = graph.edges.T
    sizes = np.bincount(labels)
    observed = family.edge_statistic[x[:, u], x[:, v]].mean(axis=0)  # (r,)
    edge_target = np.bincount(labels, observed, len(sizes))  # (G,)
    node_target = np.empty(0)
    if family.node_parameter is not None:
        node_target = family.node_statistic[x].mean(axis=0)  # (d,)
    if family.node_parameter is None and nx.is_forest(graph.to_networkx()):
        return _independent_edges(edge_target / sizes, sizes, family, n, graph.n_nodes)
    return _Likelihood(graph, family, labels, edge_target, node_target).maximize(n)


def _independent_edges(
    mean: np.ndarray, sizes: np.ndarray, family: Family, n: int, n_nodes: int
) -> ExactEstimate:
    """Use the closed form of agreement fields on forests: each edge agrees by itself, P = mean."""
    k = family.n_states
    eta = np.log(mean) - np.log1p(-mean) + np.log(k - 1)
    log_likelihood = -n * n_nodes * np.log(k) + n * np.sum(
        sizes * (np.log(k) + mean * np.log(mean) + (1 - mean) * (np.log1p(-mean) - np.log(k - 1)))
    )
    error = 1.0 / np.sqrt(n * sizes * mean * (1.0 - mean))
    return ExactEstimate(eta, None, error, None, float(log_likelihood), 0.0, True, 0)


class _Likelihood:
    """Mean negative log-likelihood, its gradient and Hessian, in (eta of the groups, b)."""

    def __init__(
        self,
        graph: PairwiseGraph,
        family: Family,
        labels: np.ndarray,
        edge_target: np.ndarray,
        node_target: np.ndarray,
    ) -> None:
        self._family, self._labels, self._graph = family, labels, graph
        self._n_groups = len(edge_target)
        self._target = np.concatenate([edge_target, node_target])  # (P,)
        tree = junction_tree(graph, family.n_states)
        self._n_cells = tree.n_cells
        check_tractable(tree, remedy='use method="pcd" or "pseudo" instead, or a sparser graph')
        self._tree = tree.arrays
        self._work = kernel.allocate(self._tree)
        self._marginals = np.empty_like(self._work.tables)

    def _split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eta of the groups (G,), node parameters (d,)."""
        eta, b = np.split(parameters, [self._n_groups])
        return eta, b if len(b) else np.zeros(self._graph.n_nodes)

    def value_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return A - parameters . target and its gradient, the moment gap (P,)."""
        family = self._family
        eta, b = self._split(parameters)
        kernel.pack_pairwise(
            family.edge_tables(eta[self._labels]), family.node_tables(b), self._work.tables
        )
        log_partition = kernel.log_partition_and_marginals(
            self._tree, self._work.tables, self._work, self._marginals
        )
        cells = self._graph.n_edges * family.n_states**2
        edge = self._marginals[:cells].reshape(-1, family.n_states**2) @ family.edge_statistic.ravel()
        moments = np.bincount(self._labels, edge, self._n_groups)
        if family.node_parameter is not None:
            node = self._marginals[cells:].reshape(-1, family.n_states) @ family.node_statistic
            moments = np.concatenate([moments, node])
        return log_partition - parameters @ self._target, moments - self._target

    def hessian(self) -> np.ndarray:
        """Covariance of the statistics (P, P) at the last parameters of `value_and_gradient`."""
        graph, family = self._graph, self._family
        n_parameters = len(self._target)
        statistics = np.zeros((n_parameters, len(self._marginals)))
        cells = graph.n_edges * family.n_states**2
        edges = statistics[:, :cells].reshape(n_parameters, graph.n_edges, family.n_states**2)
        edges[self._labels, np.arange(graph.n_edges)] = family.edge_statistic.ravel()
        if family.node_parameter is not None:
            nodes = statistics[:, cells:].reshape(n_parameters, graph.n_nodes, family.n_states)
            i = np.arange(graph.n_nodes)
            nodes[self._n_groups + i, i] = family.node_statistic
        out = np.empty((n_parameters, n_parameters))
        covariance(
            self._tree, self._work, statistics, np.empty_like(self._work.belief),
            np.empty_like(self._marginals), out,
        )  # fmt: skip
        return 0.5 * (out + out.T)

    def maximize(self, n: int) -> ExactEstimate:
        """L-BFGS-B, then Newton steps as far as the Hessian can be afforded."""
        from scipy.optimize import minimize

        result = minimize(
            self.value_and_gradient,
            np.zeros(len(self._target)),
            jac=True,
            method="L-BFGS-B",
            options=dict(maxiter=10_000, maxfun=20_000, maxcor=20, ftol=1e-15, gtol=0.1 * GAP),
        )
        parameters, error = result.x, None
        value, gap = self.value_and_gradient(parameters)
        if len(parameters) * self._n_cells <= COVARIANCE_CELLS:
            information = self.hessian()
            self._check_information(n, information, parameters)
            if np.abs(gap).max(initial=0.0) > 0.1 * GAP:
                parameters = parameters - np.linalg.solve(information, gap)
                value, gap = self.value_and_gradient(parameters)
            error = np.sqrt(np.diag(np.linalg.inv(information)) / n)
        largest = float(np.abs(gap).max(initial=0.0))
        eta, b = self._split(parameters)
        has_nodes = self._family.node_parameter is not None
        return ExactEstimate(
            eta=eta,
            b=b if has_nodes else None,
            eta_error=None if error is None else error[: self._n_groups],
            b_error=error[self._n_groups :] if has_nodes and error is not None else None,
            log_likelihood=-n * float(value),
            moment_gap=largest,
            converged=largest <= GAP,
            n_iterations=int(result.nit),
        )

    def _check_information(self, n: int, information: np.ndarray, parameters: np.ndarray) -> None:
        """Refuse data on a face of the moment polytope: a direction of no information.

        There the likelihood approaches its supremum at infinity and the optimiser stops on a plateau
        where the field no longer varies along some direction. Moments inside the polytope are of
        order 1 / n away from its faces, which keeps n times the variance along them near one.
        """
        if not len(information):
            return
        values, vectors = np.linalg.eigh(information)
        if n * values[0] > 1e-3 * min(1.0, n * values[-1]):
            return
        k = int(np.abs(vectors[:, 0] * parameters).argmax())
        if k < self._n_groups:
            e = int(np.flatnonzero(self._labels == k)[0])
            name = f"the {self._family.edge_parameter} of edge {self._graph.edge_labels[e]}"
        else:
            node = self._graph.nodes[k - self._n_groups]
            name = f"the {self._family.node_parameter} of node {node!r}"
        raise ValueError(
            f"x: the maximum-likelihood estimate does not exist: {name} goes to infinity (the search "
            f"stopped at {parameters[k]:.3g}), because some combination of states never occurs; tie "
            "edges to others by `groups`, drop the edge or use a Bayesian prior"
        )
