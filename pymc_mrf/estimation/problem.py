"""What every estimator is given, and what it returns."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.checks import check_labels, first_cell
from pymc_mrf.estimation.columns import read_states
from pymc_mrf.fields.families import get_family
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.tables import DistinctRows, distinct_rows
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.estimates.pseudo_likelihood import Statistics, log_pseudo_likelihood
from pymc_mrf.kernels.simulation.gibbs import edge_statistics

# Estimates are searched in this range of natural parameters
PARAMETER_MAX = 30.0


@dataclass(frozen=True)
class FitResult:
    """A point estimate of a pairwise field.

    Attributes
    ----------
    method, family : str
    parameter : (r,) array
        Edge parameters as users write them: theta, coupling or weight; tied ones are equal.
    eta : (r,) array
        Natural edge parameters: logit theta for the agreement family, else `parameter` itself.
    standard_error : (r,) array or None
        Of `eta`; None where the method does not provide it.
    node_parameter : (d,) or (d, K - 1) array or None
        Field or bias, or the thresholds of an ordinal field, NaN beyond the states of a node; None for the
        agreement family.
    node_standard_error : array of the same shape, or None
    groups : (r,) int array
        Edges with equal labels were tied.
    converged : bool
    n_iterations : int
    moment_gap : float or None
        Largest difference between a moment of the data and of the fitted field: f averaged over the
        edges of a group, or g of a node. None if the method does not compute moments.
    log_pseudo_likelihood : float
        Of the data at the estimate, summed over rows.
    nodes : tuple
        Node labels in column order.
    edge_labels : tuple of str
        Edge labels "u--v" in parameter order.
    """

    method: str
    family: str
    parameter: np.ndarray
    eta: np.ndarray
    standard_error: np.ndarray | None
    node_parameter: np.ndarray | None
    node_standard_error: np.ndarray | None
    groups: np.ndarray
    converged: bool
    n_iterations: int
    moment_gap: float | None
    log_pseudo_likelihood: float
    nodes: tuple[Hashable, ...]
    edge_labels: tuple[str, ...]

    def __repr__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        gap = "" if self.moment_gap is None else f", moment gap {self.moment_gap:.2g}"
        return (
            f"FitResult({self.family} by {self.method}: {len(self.eta)} edges in "
            f"{len(np.unique(self.groups))} groups, {state} in {self.n_iterations} iterations{gap}, "
            f"log pseudo-likelihood {self.log_pseudo_likelihood:.2f})"
        )


@dataclass(frozen=True)
class FitProblem:
    """Validated data and the parameters to estimate: one per group of edges, then those of the nodes.

    A parameter vector has p = G entries for a family without node parameters, G + d for one with one number
    per node, and G + sum_i (K_i - 1) for thresholds.

    `x` (n, d) int8: state indices. `groups` (r,) int64: labels as the user gave them. `labels` (r,)
    int64: the same labels as 0..G-1.
    """

    x: np.ndarray
    graph: PairwiseGraph
    family: Family
    groups: np.ndarray
    labels: np.ndarray

    @classmethod
    def create(cls, x: Any, graph: Any, family: str, groups: Any, n_states: Any) -> "FitProblem":
        graph = as_graph(graph)
        if graph.n_edges == 0:
            raise ValueError("graph has no edges; there is no edge parameter to estimate")
        rule = get_family(family, n_states)
        rule.check_nodes(graph.n_nodes)
        indices = read_states(x, graph.nodes, rule)
        check_labels(groups, graph.edge_labels, "groups", "edge")
        given = np.arange(graph.n_edges) if groups is None else _as_labels(groups)
        if given.shape != (graph.n_edges,):
            raise ValueError(
                f"groups has shape {given.shape} but the graph has {graph.n_edges} edges; "
                "give one label per edge, in edge order"
            )
        if given.dtype.kind not in "iu":
            raise ValueError(
                f"groups must be integer labels, not of dtype {given.dtype}; "
                "numpy.unique(values, return_inverse=True)[1] makes them from values"
            )
        _, labels = np.unique(given, return_inverse=True)
        return cls(indices, graph, rule, given.astype(np.int64), labels.astype(np.int64))

    @property
    def has_nodes(self) -> bool:
        return self.family.node_parameter is not None

    @cached_property
    def n_groups(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def n_parameters(self) -> int:
        return self.n_groups + int(self.node_entries.sum())

    @cached_property
    def node_entries(self) -> np.ndarray:
        """Which of the q numbers of each node are parameters, (d, q)."""
        return self.family.node_entries(self.graph.n_nodes)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """Number of edges behind each parameter, 1 for nodes, (p,)."""
        return np.concatenate([np.bincount(self.labels), np.ones(self.n_parameters - self.n_groups)])

    @cached_property
    def distinct_rows(self) -> DistinctRows:
        return distinct_rows(self.x)

    @cached_property
    def target(self) -> np.ndarray:
        """Data means of the sufficient statistics, summed over each group's edges, (p,)."""
        return self.moments(self.x)

    def moments(self, x: np.ndarray) -> np.ndarray:
        """Means of the statistics over the rows of x (n, d), summed over each group's edges, (p,)."""
        sums = np.empty(self.graph.n_edges)
        edge_statistics(x, self.graph.edges, self.family.edge_statistic, sums)
        return self.collect(sums / len(x), self._state_counts(x) / len(x))

    def _state_counts(self, x: np.ndarray) -> np.ndarray:
        """How many rows of x (n, d) have each node in each state, (d, K)."""
        return np.stack([(x == k).sum(axis=0) for k in range(self.family.n_states)], axis=1)

    def collect(self, by_edge: np.ndarray, by_state: np.ndarray) -> np.ndarray:
        """Parameters' values (p,) from those of edges (r,), which are summed, and of node states (d, K)."""
        tied = np.bincount(self.labels, by_edge, self.n_groups)
        return np.concatenate([tied, (by_state @ self.family.node_basis.T)[self.node_entries]])

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eta (r,) and node parameters (d,) or (d, q), NaN for none, of a parameter vector (p,)."""
        nodes = np.full(self.node_entries.shape, np.nan)
        nodes[self.node_entries] = parameters[self.n_groups :]
        is_vector = nodes.shape[1] == 1 and not self.family.node_axes
        return parameters[: self.n_groups][self.labels], nodes[:, 0] if is_vector else nodes

    def tables(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log tables (r, K, K) and (d, K) of a parameter vector (p,)."""
        eta, nodes = self.split(parameters)
        nodes = np.nan_to_num(nodes) if self.has_nodes else np.zeros(self.graph.n_nodes)
        return self.family.edge_tables(eta, self.graph.edges), self.family.node_tables(nodes)

    @cached_property
    def statistics(self) -> Statistics:
        """What the parameters multiply, as the kernels take it."""
        columns = np.full(self.node_entries.shape, -1)
        columns[self.node_entries] = np.arange(self.n_groups, self.n_parameters)
        return Statistics(self.labels, self.family.edge_statistic, columns, self.family.node_basis)

    def spread(self) -> np.ndarray:
        """Half the variances of the statistics if edges were independent with the target's mean."""
        mean = self.target / self.multiplicity
        low, high = self._bounds()
        return 0.5 * self.multiplicity * (mean - low) * (high - mean)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value of each parameter's statistic, per edge or node, (p,)."""
        (n_nodes, q), (u, v) = self.node_entries.shape, self.graph.edges.T
        possible = self.family.possible(n_nodes)
        pairs = possible[u][:, :, None] & possible[v][:, None, :]  # (r, K, K)

        def bound(extreme: Callable, least: float) -> np.ndarray:
            of_edges = extreme(np.where(pairs, self.family.edge_statistic, least), axis=(1, 2))
            by_group = np.bincount(self.labels, of_edges, self.n_groups) / np.bincount(self.labels)
            of_nodes = extreme(self.family.node_basis, axis=1) if q else np.zeros(0)
            return np.concatenate([by_group, np.tile(of_nodes, (n_nodes, 1))[self.node_entries]])

        return bound(np.min, np.inf), bound(np.max, -np.inf)

    def check_estimable(self) -> None:
        """Raise if a moment lies on its bound: the maximum-likelihood estimate is infinite then."""
        self._check_states()
        low, high = self._bounds()
        # integer statistics: sums over rows and edges are exact, their means within rounding
        mean = self.target / self.multiplicity
        slack = 0.25 / (len(self.x) * self.multiplicity)
        stuck = np.flatnonzero((mean < low + slack) | (mean > high - slack))
        if len(stuck) == 0:
            return
        k = stuck[0]
        others = f" ({len(stuck)} such parameters)" if len(stuck) > 1 else ""
        remedy = "use a Bayesian prior (pymc_mrf in a PyMC model)"
        if k >= self.n_groups:
            raise ValueError(
                f"x: the column of node {self.graph.nodes[k - self.n_groups]!r} is constant, so the "
                f"maximum-likelihood {self.family.node_parameter} is infinite{others}; drop the node "
                f"or {remedy}"
            )
        members = [self.graph.edge_labels[e] for e in np.flatnonzero(self.labels == k)]
        names = members[0] if len(members) == 1 else f"{members[0]} and the edges tied to it"
        largest, least = self.family.extremes
        what = least if mean[k] < low[k] + slack[k] else largest
        raise ValueError(
            f"x: the two ends of edge {names} {what}, so the maximum-likelihood "
            f"{self.family.edge_parameter} is infinite{others}; tie the edge to others by `groups` "
            f"or {remedy}"
        )

    def _check_states(self) -> None:
        """Refuse states of an ordinal field that never occur: their log weights go to minus infinity."""
        if not self.family.node_axes:
            return
        empty = (self._state_counts(self.x) == 0) & self.family.possible(self.graph.n_nodes)
        if empty.any():
            node, state = first_cell(empty)
            others = f" ({int(empty.sum())} such states)" if empty.sum() > 1 else ""
            raise ValueError(
                f"x: node {self.graph.nodes[node]!r} is never in state {state}, so the maximum-likelihood "
                f"{self.family.node_parameter} is infinite{others}; join states, drop the node or use a "
                "Bayesian prior (pymc_mrf in a PyMC model)"
            )

    def name_of(self, k: int) -> str:
        if k < self.n_groups:
            e = int(np.flatnonzero(self.labels == k)[0])
            return f"the {self.family.edge_parameter} of edge {self.graph.edge_labels[e]}"
        i = np.argwhere(self.node_entries)[k - self.n_groups][0]
        return f"the {self.family.node_parameter} of node {self.graph.nodes[i]!r}"

    def result(
        self,
        method: str,
        parameters: np.ndarray,
        standard_error: np.ndarray | None,
        *,
        converged: bool,
        n_iterations: int,
        moment_gap: float | None,
    ) -> FitResult:
        """`FitResult` of a parameter vector and its standard errors, both (p,)."""
        eta, nodes = self.split(parameters)
        rows, counts, _ = self.distinct_rows
        lpl = np.empty(len(rows))
        log_pseudo_likelihood(rows, *self.tables(parameters), self.graph.arrays, lpl)
        edge_error, node_error = (None, None) if standard_error is None else self.split(standard_error)
        return FitResult(
            method=method,
            family=self.family.name,
            parameter=self.family.parameter(eta),
            eta=eta,
            standard_error=edge_error,
            node_parameter=nodes if self.has_nodes else None,
            node_standard_error=node_error if self.has_nodes else None,
            groups=self.groups,
            converged=converged,
            n_iterations=n_iterations,
            moment_gap=moment_gap,
            log_pseudo_likelihood=float(counts @ lpl),
            nodes=self.graph.nodes,
            edge_labels=self.graph.edge_labels,
        )


def _as_labels(groups: Any) -> np.ndarray:
    try:
        return np.asarray(groups)
    except ValueError as error:
        raise ValueError(f"groups must be a vector of integer labels, not {groups!r}") from error
