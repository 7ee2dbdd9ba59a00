"""`Family`: what a pairwise field of discrete states is, as data; the rows are in `fields.families`.

A parameter of an edge has one number, or some more *state axes*; its log table is the parameter, repeated
over the axes that it lacks, times a statistic over all of them. A node has q numbers, of which each
multiplies a row of the *node basis*. Kernels work on state *indices* 0..K-1 and on log tables; this module
translates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, check_complete, first_cell, numeric_array
from pymc_mrf.fields.tables import read_answers
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

OR_OBSERVED = "drop those rows, or declare the data as `observed` of a PyMC field"


@dataclass(frozen=True)
class Family:
    """One row of the table above.

    Attributes
    ----------
    name : str
    states : tuple of int
        Values that a variable takes, in index order.
    edge_parameter : str
        What users call the parameter of an edge.
    node_parameter : str or None
        What users call the parameter of a node; None if the family has none.
    edge_axes : int
        State axes of the edge parameter: 0, 1 or 2.
    node_axes : int
        State axes of the node parameter: 0 or 1.
    scores : tuple of float, or of such tuples
        What stands for the states in products: K numbers for all nodes, or K for each, of which those beyond
        its states repeat its last; empty where that is the states themselves.
    cards : tuple of int
        Number of states of each node, if it was given for each; else empty.
    title : str
        Class by which users know the field.
    is_log_odds : bool
        Whether eta is the log odds of the edge parameter, a probability; else it is the parameter.
    is_categorical : bool
        Whether the statistic of an edge is agreement of its ends; else it is the product of what stands for
        their states.
    has_reference_state : bool
        Whether state 0 has no node parameter, all others being relative to it.
    has_blocks : bool
        Whether an edge has a *block* of parameters, one for each product of a feature of one end and a
        feature of the other; else it has one, which multiplies the sum of the products of equal features.
    blocks_asked : str
        What users pass as `blocks` of a `SpikeAndSlab` of such edges.
    extremes : tuple of str
        What is true of the ends of an edge whose statistic is the largest in every row, and the least.
    """

    name: str
    states: tuple[int, ...]
    edge_parameter: str
    node_parameter: str | None
    edge_axes: int = 0
    node_axes: int = 0
    scores: tuple[Any, ...] = ()
    cards: tuple[int, ...] = ()
    # what follows from the name is not told in `repr`
    title: str = field(default="", kw_only=True, repr=False)
    is_log_odds: bool = field(default=False, kw_only=True, repr=False)
    is_categorical: bool = field(default=False, kw_only=True, repr=False)
    has_reference_state: bool = field(default=False, kw_only=True, repr=False)
    has_blocks: bool = field(default=False, kw_only=True, repr=False)
    blocks_asked: str = field(default="", kw_only=True, repr=False)
    extremes: tuple[str, str] = field(default=("never differ", "never agree"), kw_only=True, repr=False)

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def has_own_scores(self) -> bool:
        return bool(self.scores) and isinstance(self.scores[0], tuple)

    @cached_property
    def edge_statistic(self) -> np.ndarray:
        """Edge statistic f as a (K, K) table over state indices, the same for all edges."""
        if self.edge_axes == 2:
            return np.ones((self.n_states, self.n_states))
        if self.has_own_scores or self.has_blocks:
            raise NotImplementedError("edges of this family have no statistic in common")
        return self.edge_features.T @ self.edge_features

    def edge_statistics(self, edges: np.ndarray | None) -> np.ndarray:
        """Statistics (r, K, K) of the parameters of `edges`, or (K, K) if they have one in common.

        `edges` (r, 2) are the ends of every edge; if it has a block, there are as many statistics as
        parameters.
        """
        if self.has_blocks:
            assert edges is not None
            pair, products = self.edge_products(edges)
            (of_u, of_v), (k, l) = self._features_at(edges[pair].T), products[:, 0].T
            each = np.arange(len(pair))
            return of_u[each, k][:, :, None] * of_v[each, l][:, None]
        if edges is None or not self.has_own_scores:
            return self.edge_statistic
        of_u, of_v = self.edge_features[edges.T]
        return of_u.swapaxes(1, 2) @ of_v

    def _features_at(self, nodes: np.ndarray) -> np.ndarray:
        """Features (..., M, K) of `nodes` (...,)."""
        F = self.edge_features
        return F[nodes] if F.ndim == 3 else np.broadcast_to(F, (*nodes.shape, *F.shape))

    def block_sizes(self, edges: np.ndarray) -> np.ndarray:
        """Numbers of parameters (r,) of `edges` (r, 2)."""
        if not self.has_blocks:
            return np.ones(len(edges), dtype=np.int64)
        return np.prod(
            np.array(self.cards)[edges] - 1 if self.cards else np.full(edges.shape, self.n_states - 1),
            axis=1,
        )

    def edge_products(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which edge each parameter is one of, (P,), and products of features that it multiplies, (P, L, 2).

        Those of one of `edges` (r, 2) follow each other, the features of its second end varying fastest.
        Without blocks P is r and L is M, the number of features.
        """
        r, M = len(edges), self.edge_features.shape[-2]
        if not self.has_blocks:
            return np.arange(r), np.tile(np.arange(M)[:, None], (r, 1, 2))
        sizes = self.block_sizes(edges)
        widths = np.array(self.cards)[edges[:, 1]] - 1 if self.cards else np.full(r, M)
        pair = np.repeat(np.arange(r), sizes)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return pair, np.stack([place // widths[pair], place % widths[pair]], axis=1)[:, None]

    @cached_property
    def edge_features(self) -> np.ndarray:
        """Features F (M, K) whose products are the statistic of a parameter without state axes, F' F = f.

        Of each node, (d, M, K), if it has scores of its own: F_u' F_v = f.
        """
        if self.has_blocks:
            rows = [contrasts(k, self.n_states) for k in self.cards or (self.n_states,)]
            return np.array(rows) if self.cards else rows[0]
        if self.is_categorical:
            return np.eye(self.n_states)
        F = np.array([self.scores or self.states], dtype=np.float64)
        return F.swapaxes(0, 1) if self.has_own_scores else F

    @cached_property
    def measures_agreement(self) -> bool:
        """Whether the statistic of all edges is agreement of the states, but for a factor > 0 and a constant.

        If nodes have no parameters, all that it says holds of any two states alike, so that the edges of a
        forest are independent.
        """
        if self.edge_axes or self.scores or self.has_blocks:
            return False
        f = self.edge_statistic
        same, other = f[0, :2]
        return bool(same > other and np.array_equal(f, np.where(np.eye(self.n_states), same, other)))

    @cached_property
    def indicator(self) -> tuple[np.ndarray, float]:
        """Statistic (K, K) with the values 0 and 1, if it has two, and by how much these differ.

        Of a statistic of any other number of values, that statistic and 1.
        """
        values, place = np.unique(self.edge_statistic, return_inverse=True)
        if len(values) != 2:
            return self.edge_statistic, 1.0
        return place.reshape(self.edge_statistic.shape).astype(np.float64), float(np.ptp(values))

    @property
    def is_binary_product(self) -> bool:
        """Whether couplings multiply the product of two values per node, which biases multiply as well."""
        return self.edge_features.shape == (1, 2) and np.array_equal(self.edge_features, self.node_basis)

    @cached_property
    def node_basis(self) -> np.ndarray:
        """Log tables of each of the q numbers of a node, (q, K); (0, K) without a node parameter."""
        if self.node_parameter is None:
            return np.zeros((0, self.n_states))
        if not self.node_axes:
            return np.array([self.states], dtype=np.float64)
        return np.eye(self.n_states)[1 if self.has_reference_state else 0 :]

    def possible(self, n_nodes: int) -> np.ndarray:
        """Which states are those of each node, (d, K)."""
        cards = np.array(self.cards or [self.n_states] * n_nodes)
        return np.arange(self.n_states) < cards[:, None]

    def node_states(self, n_nodes: int) -> list[tuple[int, ...]]:
        return [self.states[:k] for k in self.cards or [self.n_states] * n_nodes]

    def of_nodes(self, nodes: np.ndarray) -> "Family":
        cards = tuple(self.cards[i] for i in nodes) if self.cards else ()
        scores = tuple(self.scores[i] for i in nodes) if self.has_own_scores else self.scores
        return replace(self, cards=cards, scores=scores)

    def check_nodes(self, n_nodes: int) -> None:
        """Raise a ValueError if the numbers of states are those of other nodes than `n_nodes`."""
        if self.cards and len(self.cards) != n_nodes:
            raise ValueError(
                f"n_states has {len(self.cards)} entries but the graph has {n_nodes} nodes; give one number "
                "of states for all nodes, or one for each in node order"
            )

    def node_shape(self, n_nodes: int) -> tuple[int, ...]:
        """Shape of the node parameters, as users write them, without batch dimensions."""
        return (n_nodes, len(self.node_basis)) if self.node_axes else (n_nodes,)

    def node_shapes(self, n_nodes: int) -> list[tuple[int, ...]]:
        """Shapes of all parameters of the nodes, as engines take them."""
        return [self.node_shape(n_nodes)]

    def axis_labels(self, graph: PairwiseGraph | LaggedGraph) -> dict[str, Sequence]:
        """Labels of the nodes, edges and states of parameters, the latter of families with state axes."""
        states = {"state": self.states[-len(self.node_basis) :]} if self.node_axes else {}
        entries = {"entry": self.entry_labels(graph)} if self.has_blocks else {}
        return {"node": graph.nodes, "edge": graph.edge_labels, **states, **entries}

    def entry_labels(self, graph: PairwiseGraph | LaggedGraph) -> list[str]:
        """Labels "u--v[k,l]" of the parameters of edges that have blocks, k and l counted from 1."""
        pair, products = self.edge_products(graph.edges)
        return [
            f"{graph.edge_labels[e]}[{k + 1},{l + 1}]"
            for e, (k, l) in zip(pair, products[:, 0], strict=True)
        ]

    def node_entries(self, n_nodes: int) -> np.ndarray:
        """Which of the q numbers of each node have a meaning, (d, q)."""
        return self.possible(n_nodes) @ (self.node_basis.T != 0)

    def natural(self, parameter: Any, xp: ModuleType = np) -> Any:
        """Eta from the parameter that users write, elementwise.

        `xp` is the module with the functions: numpy, or `pytensor.tensor` for symbolic parameters.
        """
        parameter = _array(parameter)
        if not self.is_log_odds:
            return parameter
        with np.errstate(divide="ignore"):
            return xp.log(parameter) - xp.log1p(-parameter)

    def parameter(self, eta: np.ndarray) -> np.ndarray:
        """Inverse of `natural`, elementwise."""
        eta = np.asarray(eta, dtype=np.float64)
        return 0.5 * (1.0 + np.tanh(0.5 * eta)) if self.is_log_odds else eta

    def edge_tables(self, eta: Any, edges: np.ndarray | None = None) -> Any:
        """Log tables of the edges, (..., r, K, K), from eta (..., r) with its state axes.

        `edges` (r, 2) are their ends, which count where these have scores of their own, or edges have blocks:
        eta (..., P) then has those of all edges one after the other.
        """
        if self.has_blocks:
            assert edges is not None
            sizes, f, K = self.block_sizes(edges), self.edge_statistics(edges), self.n_states
            within = np.arange(sizes.max(initial=1))
            place = (np.cumsum(sizes) - sizes)[:, None] + within  # those of smaller blocks are filled up
            is_own = within < sizes[:, None]
            place[~is_own] = 0
            f = np.where(is_own[:, :, None], f.reshape(-1, K * K)[place], 0.0)
            tables = (_array(eta)[..., place][..., None, :] @ f)[..., 0, :]
            return tables.reshape((*[tables.shape[k] for k in range(tables.ndim - 1)], K, K))
        return _array(eta)[(..., *[None] * (2 - self.edge_axes))] * self.edge_statistics(edges)

    def node_tables(self, b: Any) -> Any:
        """Log tables of the nodes, (..., d, K), from the node parameters (..., d) with their state axes.

        Without a node parameter `b` is zeros (..., d).
        """
        basis = self.node_basis if len(self.node_basis) else np.zeros((1, self.n_states))
        b = _array(b)
        tables = b @ basis if self.node_axes else b[..., None] * basis[0]
        if not self.cards:
            return tables
        return tables + np.where(self.possible(len(self.cards)), 0.0, -np.inf)

    def encode_table(self, x: Any, nodes: Sequence, name: str = "x") -> np.ndarray:
        """`encode` for tables as well, whose columns are found by the names of the nodes (`read_answers`)."""
        answers = read_answers(x, nodes, self.node_states(len(nodes)), name)
        if answers is not None:
            check_complete(answers.is_missing, name, OR_OBSERVED)
        return self.encode(x if answers is None else answers.values, n_nodes=len(nodes), name=name)

    def encode(self, x: Any, *, n_nodes: int, name: str = "x") -> np.ndarray:
        """Validate observations and translate states to indices.

        `x` (n, n_nodes). `name`: name of the argument, for error messages. Returns (n, n_nodes) int8.
        Raises a ValueError if `x` is not numeric or not two-dimensional, is empty, has another number of
        columns, has missing or non-finite cells or a value that is not a state.
        """
        check_complete(np.ma.getmask(x), name, OR_OBSERVED)
        x = numeric_array(x, name)
        if x.ndim != 2:
            remedy = f"for one observation use {name}[None, :]"
            if x.ndim > 2:
                remedy = f"use {name}.reshape(-1, {n_nodes})"
            raise ValueError(
                f"{name} must be a matrix of observations by nodes, not an array of shape "
                f"{x.shape}; {remedy}"
            )
        if x.shape[0] == 0:
            raise ValueError(f"{name} has no rows; at least one observation is needed")
        if x.shape[1] != n_nodes:
            raise ValueError(
                f"{name} has {x.shape[1]} columns but the graph has {n_nodes} nodes; "
                "columns follow the node order of the graph"
            )
        self.check_states(
            x, name=name, missing="complete data are needed here: drop rows with missing cells"
        )
        indices = np.zeros(x.shape, dtype=np.int8)
        for k, state in enumerate(self.states):
            indices[x == state] = k
        return indices

    def check_states(self, x: np.ndarray, *, name: str, missing: str, nodes: Sequence = ()) -> None:
        """Raise a ValueError that names the first cell of `x` (..., d) which is not a state.

        `missing` is the remedy for NaN, `nodes` are the names of the columns.
        """
        wrong = ~np.isin(x, self.states)
        if self.cards:
            wrong |= x >= np.array(self.cards)
        if wrong.any():
            cell = first_cell(wrong)
            value = x[cell]
            states = self.states[: self.cards[cell[-1]]] if self.cards else self.states
            remedy = "recode the data, as with pymc_mrf.recode_states"
            if x.dtype.kind == "f" and np.isnan(value):
                remedy = missing
            elif value != np.round(value):
                remedy += f", or, {MEASUREMENTS}"
            whose = "this node" if self.cards else "this field"
            whose = f"node {nodes[cell[-1]]!r}" if len(nodes) else whose
            raise ValueError(
                f"{name}{list(cell)} is {value}, which is not a state of {whose} "
                f"(states: {', '.join(map(str, states))}); {int(wrong.sum())} such cells; "
                f"{remedy}"
            )


def contrasts(n_states: int, width: int) -> np.ndarray:
    """Orthonormal contrasts of states, which sum to zero: (width - 1, width), 0 beyond `n_states`.

    Contrast k compares state k + 1 with the mean of those before it (Helmert). Any other orthonormal basis of
    the tables that sum to zero would span the same, and a rotation is between both.
    """
    F = np.zeros((width - 1, width))
    for k in range(n_states - 1):
        F[k, : k + 1], F[k, k + 1] = -1.0, k + 1.0
        F[k] /= np.sqrt((k + 1.0) * (k + 2.0))
    return F


def _array(value: Any) -> Any:
    return value if hasattr(value, "owner") else np.asarray(value, dtype=np.float64)
