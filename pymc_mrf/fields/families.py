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

A parameter has one number per edge or node, or some more *state axes*; its log table is the parameter,
repeated over the axes that it lacks, times a statistic over all of them. Kernels work on state
*indices* 0..K-1 and on log tables; this module translates.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from pymc_mrf.checks import numeric_array


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
    """

    name: str
    states: tuple[int, ...]
    edge_parameter: str
    node_parameter: str | None
    edge_axes: int = 0
    node_axes: int = 0

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return len(self.states)

    @property
    def is_log_odds(self) -> bool:
        """Whether eta is the log odds of the edge parameter, a probability; else it is the parameter."""
        return self.name == "agreement"

    @cached_property
    def edge_statistic(self) -> np.ndarray:
        """Edge statistic f as a (K, K) table over state indices."""
        if self.edge_axes == 2:
            return np.ones((self.n_states, self.n_states))
        if self.name in ("agreement", "potts"):
            return np.eye(self.n_states)
        return np.outer(self.states, self.states).astype(np.float64)

    @cached_property
    def node_statistic(self) -> np.ndarray:
        """Node statistic g as a (K,) table over state indices; zero without a node parameter."""
        if self.node_parameter is None:
            return np.zeros(self.n_states)
        return np.ones(self.n_states) if self.node_axes else np.array(self.states, dtype=np.float64)

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

    def edge_tables(self, eta: Any) -> Any:
        """Log tables of the edges, (..., r, K, K), from eta (..., r) with its state axes."""
        return _array(eta)[(..., *[None] * (2 - self.edge_axes))] * self.edge_statistic

    def node_tables(self, b: Any) -> Any:
        """Log tables of the nodes, (..., d, K), from the node parameters (..., d) with their state axes."""
        return _array(b)[(..., *[None] * (1 - self.node_axes))] * self.node_statistic

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
        """Raise a ValueError that names the first cell of `x` which is not a state.

        `missing` is the remedy for NaN.
        """
        wrong = ~np.isin(x, self.states)
        if wrong.any():
            cell = tuple(int(i) for i in np.argwhere(wrong)[0])
            value = x[cell]
            remedy = missing if x.dtype.kind == "f" and np.isnan(value) else "recode the data"
            raise ValueError(
                f"{name}{list(cell)} is {value}, which is not a state of this field "
                f"(states: {', '.join(map(str, self.states))}); {int(wrong.sum())} such cells; "
                f"{remedy}"
            )


def _array(value: Any) -> Any:
    """Return numbers as a float64 array, symbolic variables as they are."""
    return value if hasattr(value, "owner") else np.asarray(value, dtype=np.float64)


def _states(n_states: int) -> tuple[int, ...]:
    if isinstance(n_states, bool) or not isinstance(n_states, int | np.integer):
        raise TypeError(f"n_states must be an integer, not {n_states!r}")
    if not 2 <= n_states <= 127:
        raise ValueError(f"n_states must be between 2 and 127, not {n_states}")
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


ISING = Family("ising", (-1, 1), "coupling", "field")
BOLTZMANN = Family("boltzmann", (0, 1), "weight", "bias")


def get_family(name: str, n_states: int = 2) -> Family:
    """Look a family up by name: "agreement", "ising" or "boltzmann"."""
    if name == "agreement":
        return agreement(n_states)
    families = {"ising": ISING, "boltzmann": BOLTZMANN}
    if not isinstance(name, str) or name not in families:
        raise ValueError(f'family must be "agreement", "ising" or "boltzmann", not {name!r}')
    if n_states != 2:
        raise ValueError(f"the {name} family has two states; n_states={n_states!r} does not apply")
    return families[name]
