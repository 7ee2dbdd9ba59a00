"""Families of pairwise fields: which statistic a parameter multiplies.

log p(x) = sum_e f_e(x_u, x_v) + sum_i g_i(x_i) - A, where the log tables are

| family    | states   | f_e(a, b)          | g_i(a)  | edge parameter       | node parameter |
|-----------|----------|--------------------|---------|----------------------|----------------|
| agreement | 0..K-1   | eta_e 1[a = b]     | 0       | theta, eta = logit   | none           |
| ising     | -1, +1   | eta_e a b          | b_i a   | coupling, eta = J    | field          |
| boltzmann | 0, 1     | eta_e a b          | b_i a   | weight, eta = w      | bias           |
| potts (0) | 0..K-1   | eta_e 1[a = b]     | b_i[a]  | coupling (r,)        | field (d, K)   |
| potts (1) | 0..K-1   | eta_e[a] 1[a = b]  | b_i[a]  | coupling (r, K)      | field (d, K)   |
| potts (2) | 0..K-1   | eta_e[a, b]        | b_i[a]  | coupling (r, K, K)   | field (d, K)   |
| ordinal   | 0..K_i-1 | eta_e s_u[a]s_v[b] | b_i[a]  | weight, eta = w      | threshold (*)  |

(*) (d, K - 1): b_i[0] = 0, the first threshold is that of state 1. K is the largest K_i; what lies beyond
the states of a node is impossible, its threshold without meaning.

A parameter of an edge has one number, or some more *state axes*; its log table is the parameter, repeated
over the axes that it lacks, times a statistic over all of them. A node has q numbers, of which each
multiplies a row of the *node basis*. Kernels work on state *indices* 0..K-1 and on log tables; this module
translates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from pymc_mrf.checks import numeric_array
from pymc_mrf.fields.tables import read_answers
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph


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
    """

    name: str
    states: tuple[int, ...]
    edge_parameter: str
    node_parameter: str | None
    edge_axes: int = 0
    node_axes: int = 0
    scores: tuple[Any, ...] = ()
    cards: tuple[int, ...] = ()

    @property
    def n_states(self) -> int:
        """Number of states K, of the node that has most."""
        return len(self.states)

    @property
    def is_log_odds(self) -> bool:
        """Whether eta is the log odds of the edge parameter, a probability; else it is the parameter."""
        return self.name == "agreement"

    @property
    def has_own_scores(self) -> bool:
        """Whether each node has scores of its own."""
        return bool(self.scores) and isinstance(self.scores[0], tuple)

    @cached_property
    def edge_statistic(self) -> np.ndarray:
        """Edge statistic f as a (K, K) table over state indices, the same for all edges."""
        if self.edge_axes == 2:
            return np.ones((self.n_states, self.n_states))
        if self.has_own_scores:
            raise NotImplementedError("nodes with scores of their own have no statistic in common")
        return self.edge_features.T @ self.edge_features

    def edge_statistics(self, edges: np.ndarray | None) -> np.ndarray:
        """Statistics (r, K, K) of `edges` (r, 2), or (K, K) if they have one in common."""
        if edges is None or not self.has_own_scores:
            return self.edge_statistic
        of_u, of_v = self.edge_features[edges.T]
        return of_u.swapaxes(1, 2) @ of_v

    @cached_property
    def edge_features(self) -> np.ndarray:
        """Features F (M, K) whose products are the statistic of a parameter without state axes, F' F = f.

        Of each node, (d, M, K), if it has scores of its own: F_u' F_v = f.
        """
        if self.name in ("agreement", "potts"):
            return np.eye(self.n_states)
        F = np.array([self.scores or self.states], dtype=np.float64)
        return F.swapaxes(0, 1) if self.has_own_scores else F

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
        return np.eye(self.n_states)[1 if self.name == "ordinal" else 0 :]

    def possible(self, n_nodes: int) -> np.ndarray:
        """Which states are those of each node, (d, K)."""
        cards = np.array(self.cards or [self.n_states] * n_nodes)
        return np.arange(self.n_states) < cards[:, None]

    def node_states(self, n_nodes: int) -> list[tuple[int, ...]]:
        """States of each node."""
        return [self.states[:k] for k in self.cards or [self.n_states] * n_nodes]

    def of_nodes(self, nodes: np.ndarray) -> "Family":
        """Return the family of a field of these nodes."""
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

    def axis_labels(self, graph: PairwiseGraph | LaggedGraph) -> dict[str, Sequence]:
        """Labels of the nodes, edges and states of parameters, the latter of families with state axes."""
        states = {"state": self.states[-len(self.node_basis) :]} if self.node_axes else {}
        return {"node": graph.nodes, "edge": graph.edge_labels, **states}

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

        `edges` (r, 2) are their ends, which count where these have scores of their own.
        """
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
        if answers is not None and answers.is_missing.any():
            raise ValueError(
                f"{name} has {int(answers.is_missing.sum())} missing cells; complete data are needed here: "
                "drop those rows, or declare the data as `observed` of a PyMC field"
            )
        return self.encode(x if answers is None else answers.values, n_nodes=len(nodes), name=name)

    def encode(self, x: Any, *, n_nodes: int, name: str = "x") -> np.ndarray:
        """Validate observations and translate states to indices.

        Parameters
        ----------
        x : (n, n_nodes) array_like
        n_nodes : int
        name : str
            Name of the argument, for error messages.

        Returns
        -------
        (n, n_nodes) int8 array

        Raises
        ------
        ValueError
            If `x` is not numeric or not two-dimensional, is empty, has another number of columns, has
            missing or non-finite cells or a value that is not a state.
        """
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise ValueError(
                f"{name} has {int(np.ma.getmaskarray(x).sum())} masked cells; complete data are "
                "needed here: drop those rows, or declare the data as `observed` of a PyMC field"
            )
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

    def check_states(self, x: np.ndarray, *, name: str, missing: str) -> None:
        """Raise a ValueError that names the first cell of `x` (..., d) which is not a state.

        `missing` is the remedy for NaN.
        """
        wrong = ~np.isin(x, self.states)
        if self.cards:
            wrong |= x >= np.array(self.cards)
        if wrong.any():
            cell = tuple(int(i) for i in np.argwhere(wrong)[0])
            value = x[cell]
            states = self.states[: self.cards[cell[-1]]] if self.cards else self.states
            remedy = (
                missing
                if x.dtype.kind == "f" and np.isnan(value)
                else "recode the data, as with pymc_mrf.recode_states"
            )
            whose = "this node" if self.cards else "this field"
            raise ValueError(
                f"{name}{list(cell)} is {value}, which is not a state of {whose} "
                f"(states: {', '.join(map(str, states))}); {int(wrong.sum())} such cells; "
                f"{remedy}"
            )


def _array(value: Any) -> Any:
    """Return numbers as a float64 array, symbolic variables as they are."""
    return value if hasattr(value, "owner") else np.asarray(value, dtype=np.float64)


def _states(n_states: int, name: str = "n_states") -> tuple[int, ...]:
    if isinstance(n_states, bool) or not isinstance(n_states, int | np.integer):
        raise TypeError(f"{name} must be an integer, not {n_states!r}")
    if not 2 <= n_states <= 127:
        remedy = "; leave nodes with one state out of the graph and the data" if n_states == 1 else ""
        raise ValueError(f"{name} must be between 2 and 127, not {n_states}{remedy}")
    return tuple(range(int(n_states)))


def agreement(n_states: int = 2) -> Family:
    """Agreement field of Liu & Page (2013, eq. 1) over `n_states` >= 2 states."""
    return Family("agreement", _states(n_states), "theta", None)


def potts(n_states: int, edge_axes: int = 0) -> Family:
    """Potts model (Potts, 1952) over `n_states` >= 2 states.

    `edge_axes` tells how much an edge parameter holds: one number (0), one per state in which both ends
    agree (1), or a full table (2).
    """
    if edge_axes not in (0, 1, 2):
        raise ValueError(f"edge_axes must be 0, 1 or 2, not {edge_axes!r}")
    return Family("potts", _states(n_states), "coupling", "field", edge_axes, 1)


def ordinal(n_states: Any, scores: Any = None, nodes: Sequence | None = None) -> Family:
    """Ordinal field over states 0..K-1, one number of states for all nodes or one for each (d,).

    `scores` (K,) increase; by default they are the states. There may be a vector (K_i,) for each of the
    `nodes`, whose labels errors name.
    """
    if isinstance(n_states, np.ndarray | Sequence) and np.ndim(n_states):
        if any(np.ndim(k) for k in n_states):
            raise ValueError(
                f"n_states must be one number, or a vector with one for each node, not {n_states!r}"
            )
        cards = tuple(len(_states(k, f"n_states[{i}]")) for i, k in enumerate(n_states))
        states = _states(max(cards, default=0))
    else:
        cards, states = (), _states(n_states)
    if scores is None:
        return Family("ordinal", states, "weight", "threshold", 0, 1, cards=cards)
    if isinstance(scores, np.ndarray | Sequence) and any(np.ndim(s) for s in scores):
        given = _scores_of_nodes(scores, len(states), cards, nodes)
    else:
        given = _increasing(scores, "scores", len(states))
    given = () if given == states else given
    return Family("ordinal", states, "weight", "threshold", 0, 1, given, cards)


def _increasing(scores: Any, name: str, n_states: int) -> tuple[float, ...]:
    values = numeric_array(scores, name, "iuf").astype(np.float64)
    if values.shape != (n_states,) or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ValueError(
            f"{name} must be {n_states} increasing numbers, one for each state, not {scores!r}"
        )
    return tuple(values.tolist())


def _scores_of_nodes(
    scores: Any, n_states: int, cards: tuple[int, ...], nodes: Sequence | None
) -> tuple[Any, ...]:
    """Return the scores of each node, filled up to `n_states`, or those that all nodes have in common."""
    cards = cards or (n_states,) * (len(scores) if nodes is None else len(nodes))
    if len(scores) != len(cards):
        raise ValueError(
            f"scores has {len(scores)} vectors but there are {len(cards)} nodes; give one vector of scores "
            "for all nodes, or one for each in node order"
        )
    names = [f"scores[{i}]" for i in range(len(cards))]
    if nodes is not None:
        names = [f"{name}, of node {node!r}," for name, node in zip(names, nodes, strict=True)]
    rows = [_increasing(*own) for own in zip(scores, names, cards, strict=True)]
    longest = max(rows, key=len)
    if all(row == longest[: len(row)] for row in rows):
        return longest
    return tuple(row + row[-1:] * (n_states - len(row)) for row in rows)


ISING = Family("ising", (-1, 1), "coupling", "field")
BOLTZMANN = Family("boltzmann", (0, 1), "weight", "bias")


def get_family(name: str, n_states: Any = 2) -> Family:
    """Look a family up by name: "agreement", "ising", "boltzmann" or "ordinal"."""
    if name == "agreement":
        return agreement(n_states)
    if name == "ordinal":
        return ordinal(n_states)
    families = {"ising": ISING, "boltzmann": BOLTZMANN}
    if not isinstance(name, str) or name not in families:
        raise ValueError(f'family must be "agreement", "ising", "boltzmann" or "ordinal", not {name!r}')
    if n_states != 2:
        raise ValueError(f"the {name} family has two states; n_states={n_states!r} does not apply")
    return families[name]
