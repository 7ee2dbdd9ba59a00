"""Families of pairwise fields: which statistic an edge parameter multiplies.

log p(x) = sum_e eta_e f(x_u, x_v) + sum_i b_i g(x_i) - A(eta, b)

| family    | states   | f(a, b)   | g(a) | edge parameter       | node parameter |
|-----------|----------|-----------|------|----------------------|----------------|
| agreement | 0..K-1   | 1[a = b]  | none | theta, eta = logit   | none           |
| ising     | -1, +1   | a b       | a    | coupling, eta = J    | field          |
| boltzmann | 0, 1     | a b       | a    | weight, eta = w      | bias           |

Kernels work on state *indices* 0..K-1 and on log tables; this module translates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


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
    """

    name: str
    states: tuple[int, ...]
    edge_parameter: str
    node_parameter: str | None

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return len(self.states)

    @cached_property
    def edge_statistic(self) -> np.ndarray:
        """Edge statistic f as a (K, K) table over state indices."""
        if self.name == "agreement":
            return np.eye(self.n_states)
        return np.outer(self.states, self.states).astype(np.float64)

    @cached_property
    def node_statistic(self) -> np.ndarray:
        """Node statistic g as a (K,) table over state indices; zero without a node parameter."""
        if self.node_parameter is None:
            return np.zeros(self.n_states)
        return np.array(self.states, dtype=np.float64)

    def natural(self, parameter: np.ndarray) -> np.ndarray:
        """Eta from the parameter that users write, elementwise."""
        parameter = np.asarray(parameter, dtype=np.float64)
        if self.name == "agreement":
            with np.errstate(divide="ignore"):
                return np.log(parameter) - np.log1p(-parameter)
        return parameter

    def parameter(self, eta: np.ndarray) -> np.ndarray:
        """Inverse of `natural`, elementwise."""
        eta = np.asarray(eta, dtype=np.float64)
        return 0.5 * (1.0 + np.tanh(0.5 * eta)) if self.name == "agreement" else eta

    def edge_tables(self, eta: np.ndarray) -> np.ndarray:
        """Log tables of the edges, (r, K, K), from eta (r,)."""
        return np.asarray(eta, dtype=np.float64)[:, None, None] * self.edge_statistic

    def node_tables(self, b: np.ndarray) -> np.ndarray:
        """Log tables of the nodes, (d, K), from the node parameters (d,)."""
        return np.asarray(b, dtype=np.float64)[:, None] * self.node_statistic

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
            If `x` is not two-dimensional, is empty, has another number of columns, has missing or
            non-finite cells or a value that is not a state.
        """
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise ValueError(
                f"{name} has {int(np.ma.getmaskarray(x).sum())} masked cells; complete data are "
                "needed here: drop those rows, or declare the data as `observed` of a PyMC field"
            )
        x = np.asarray(x)
        if x.ndim != 2:
            raise ValueError(
                f"{name} must be a matrix of observations by nodes, not an array of shape "
                f"{x.shape}; for one observation use x[None, :]"
            )
        if x.shape[0] == 0:
            raise ValueError(f"{name} has no rows; at least one observation is needed")
        if x.shape[1] != n_nodes:
            raise ValueError(
                f"{name} has {x.shape[1]} columns but the graph has {n_nodes} nodes; "
                "columns follow the node order of the graph"
            )
        self.check_states(x, name=name)
        indices = np.zeros(x.shape, dtype=np.int8)
        for k, state in enumerate(self.states):
            indices[x == state] = k
        return indices

    def check_states(self, x: np.ndarray, *, name: str) -> None:
        """Raise a ValueError that names the first cell of `x` which is not a state."""
        if x.dtype == object or x.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be numeric, not of dtype {x.dtype}")
        wrong = ~np.isin(x, self.states)
        if wrong.any():
            cell = tuple(int(i) for i in np.argwhere(wrong)[0])
            value = x[cell]
            remedy = (
                "declare missing cells with numpy.ma.masked_invalid(x)"
                if x.dtype.kind == "f" and np.isnan(value)
                else "recode the data"
            )
            raise ValueError(
                f"{name}{list(cell)} is {value}, which is not a state of this field "
                f"(states: {', '.join(map(str, self.states))}); {int(wrong.sum())} such cells; "
                f"{remedy}"
            )


def agreement(n_states: int = 2) -> Family:
    """Agreement field of Liu & Page (2013, eq. 1) over `n_states` >= 2 states."""
    if isinstance(n_states, bool) or not isinstance(n_states, int | np.integer):
        raise TypeError(f"n_states must be an integer, not {n_states!r}")
    if not 2 <= n_states <= 127:
        raise ValueError(f"n_states must be between 2 and 127, not {n_states}")
    return Family("agreement", tuple(range(int(n_states))), "theta", None)


ISING = Family("ising", (-1, 1), "coupling", "field")
BOLTZMANN = Family("boltzmann", (0, 1), "weight", "bias")


def get_family(name: str, n_states: int = 2) -> Family:
    """Look a family up by name: "agreement", "ising" or "boltzmann"."""
    if name == "agreement":
        return agreement(n_states)
    families = {"ising": ISING, "boltzmann": BOLTZMANN}
    if name not in families:
        raise ValueError(f'family must be "agreement", "ising" or "boltzmann", not {name!r}')
    if n_states != 2:
        raise ValueError(f"the {name} family has two states; n_states={n_states!r} does not apply")
    return families[name]
