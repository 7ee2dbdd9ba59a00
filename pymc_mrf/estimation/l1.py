"""Sparse binary fields by L1-penalised pseudo-likelihood: Höfling & Tibshirani (2009).

Three estimators along one path of penalties. "joint" maximises the pseudo-likelihood in symmetric weights:

    minimise  - lpl(w, b) / n + penalty * sum_e |w_e|

"max" and "min" fit a logistic regression with the same penalty at every node by itself and make the two
weights of an edge one: the larger or the smaller in absolute value ("Wainwright-max", "Wainwright-min").
All are minimised by proximal Newton steps, found by coordinate descent and shortened until the objective
falls. Biases are centred at the data, which takes their correlation with the weights away. Not
implemented: groups of tied edges, more than two states.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pymc_mrf.checks import check_option, is_number, number, warn_user, whole_number
from pymc_mrf.estimation.columns import check_varies, read_states
from pymc_mrf.fields.families import get_family
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.tables import distinct_rows
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.estimates.l1_descent import Regressions, descend

COMBINATIONS = ("joint", "max", "min")
LEAST_VARIANCE = 1e-5  # of a row in the quadratic model: a step must exist where a node is certain
N_PASSES = 50
LEAST_STEP = 2.0**-20


@dataclass(frozen=True)
class SparsePath:
    """Estimates of a binary field at k penalties.

    Attributes
    ----------
    combine, family : str
    penalties : (k,) array
        Decreasing.
    parameter : (k, r) array
        Weights or couplings; exact zeros are absent edges.
    node_parameter : (k, d) array
        Biases or fields.
    directed : (k, r, 2) array
        Weight of every edge in the regression of its first and of its second node; equal if "joint".
    gap : (k,) array
        By how much a derivative of the objective violates the conditions of a minimum, at most.
    nodes : tuple
        Node labels in column order.
    edge_labels : tuple of str
        Edge labels "u--v" in parameter order.
    """

    combine: str
    family: str
    penalties: np.ndarray
    parameter: np.ndarray
    node_parameter: np.ndarray
    directed: np.ndarray
    gap: np.ndarray
    nodes: tuple[Hashable, ...]
    edge_labels: tuple[str, ...]

    @property
    def n_edges(self) -> np.ndarray:
        return np.count_nonzero(self.parameter, axis=1)

    def combined(self, combine: str) -> "SparsePath":
        """Return the same regressions with their weights combined by "max" or "min"."""
        if combine not in ("max", "min") or self.combine == "joint":
            raise ValueError(
                f'combine={combine!r} of a "{self.combine}" path: only separate regressions can be '
                'combined, by "max" or "min"; a joint path has combine="joint" from the start'
            )
        return replace(self, combine=combine, parameter=_combine(self.directed, combine))

    def __repr__(self) -> str:
        counts = self.n_edges
        return (
            f"SparsePath({self.family}, {self.combine}: {len(self.penalties)} penalties from "
            f"{self.penalties[0]:.3g} to {self.penalties[-1]:.3g}, {counts[0]} to {counts[-1]} of "
            f"{self.parameter.shape[1]} edges)"
        )


def l1_pseudo_likelihood(
    x: Any,
    graph: Any,
    *,
    combine: str = "joint",
    family: str = "boltzmann",
    penalties: Any = None,
    bias_sd: float = np.inf,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> SparsePath:
    """Sparse estimates of a binary field, each at a penalty started from the one before.

    Parameters
    ----------
    x : (n, d) array_like
        Complete observations in the states of the family, or a table of them, as of `elasso`; columns follow
        the node order of the graph.
    graph : networkx.Graph or PairwiseGraph
        Candidate edges, `pymc_mrf.graphs.complete(d)` for all.
    combine : {"joint", "max", "min"}
        Symmetric weights, or separate regressions of which the larger or the smaller of the two weights
        counts. "joint" estimates parameters; the other two were made for finding edges.
    family : {"boltzmann", "ising"}
    penalties : (k,) array_like, optional
        Positive multipliers of the sum of absolute weights (of both directions for "max" and "min"), in
        decreasing order. By default 20, equally spaced in their logarithms, from the smallest that
        leaves no edge to 1 % of it.
    bias_sd : float
        Standard deviation of a normal prior on biases (fields); by default they are free.
    tolerance : float
        Accepted violation of the conditions of a minimum, on the scale of the penalties.
    max_iterations : int
        Newton steps at each penalty.

    Returns
    -------
    SparsePath

    Raises
    ------
    ValueError
        If an argument is invalid, or a column is constant and biases are free.

    Warns
    -----
    UserWarning
        If `max_iterations` did not suffice at some penalty, or codes from 1 are counted from 0.

    References
    ----------
    Höfling & Tibshirani (2009), Estimation of sparse binary pairwise Markov networks using
    pseudo-likelihoods, Journal of Machine Learning Research 10; Wainwright, Ravikumar & Lafferty (2007).
    """
    check_option(combine, "combine", COMBINATIONS)
    if not is_number(bias_sd) or not bias_sd > 0.0:
        raise ValueError(f"bias_sd must be a number above 0, or infinite, not {bias_sd!r}")
    tolerance = number(tolerance, "tolerance", 0.0)
    max_iterations = whole_number(max_iterations, "max_iterations", 1)
    indices, graph, kind = read_binary(x, graph, family)
    if np.isinf(bias_sd):
        so = f"its {kind.node_parameter} has no finite estimate"
        check_varies(indices, graph.nodes, so, "drop these columns or give bias_sd")
    problem = L1Problem(indices, graph, kind, combine == "joint", 1.0 / (len(indices) * bias_sd**2))
    chosen = _checked(penalties, problem, tolerance, max_iterations)
    w, beta = np.zeros(len(problem.ends)), np.zeros(graph.n_nodes)
    directed = np.empty((len(chosen), graph.n_edges, 2))
    node_parameter = np.empty((len(chosen), graph.n_nodes))
    gap = np.empty(len(chosen))
    for k, penalty in enumerate(chosen):
        w, beta, gap[k] = problem.minimise(w, beta, penalty, tolerance, max_iterations)
        directed[k] = problem.by_direction(w)
        node_parameter[k] = problem.biases(w, beta)
    if (gap > tolerance).any():
        worst = int(np.argmax(gap))
        warn_user(
            f"max_iterations={max_iterations} did not suffice at {int((gap > tolerance).sum())} of "
            f"{len(chosen)} penalties; at {chosen[worst]:.3g} a derivative is off by {gap[worst]:.2g}"
        )
    estimates = _combine(directed, combine), node_parameter, directed
    return SparsePath(combine, family, chosen, *estimates, gap, graph.nodes, graph.edge_labels)


def read_binary(x: Any, graph: Any, family: str) -> tuple[np.ndarray, PairwiseGraph, Family]:
    """State indices (n, d) of complete observations of a binary family, the graph and the family."""
    check_option(family, "family", ("boltzmann", "ising"), ": fields of two states")
    graph, kind = as_graph(graph), get_family(family)
    if graph.n_edges == 0:
        raise ValueError("graph has no edges, so there is nothing to choose; give candidate edges")
    return read_states(x, graph.nodes, kind), graph, kind


class L1Problem:
    """Data and objective, in the terms of `kernels.l1_descent`.

    Penalties are one number, or one per coordinate. With `is_scaled` they are those of weights that multiply
    values divided by their standard deviations, and so are `w`.
    """

    def __init__(
        self,
        indices: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        symmetric: bool,
        ridge: float,
        is_scaled: bool = False,
    ) -> None:
        rows, counts, _ = distinct_rows(indices)
        values = np.array(family.states, dtype=np.float64)[rows.T]  # (d, n), n different rows
        self.d, self.n = values.shape
        self.counts = counts * (self.n / counts.sum())  # relative: their mean is 1
        self.c = float(family.states[1] - family.states[0])
        self.m = values @ self.counts / self.n
        self.Z = values - self.m[:, None]
        self.scale = np.sqrt(self.Z**2 @ self.counts / self.n) if is_scaled else np.ones(self.d)
        self.m /= self.scale
        self.Z /= self.scale[:, None]
        self.T = rows.T.astype(np.float64)
        self.ridge = ridge
        self.symmetric = symmetric
        # one coordinate per edge, or one per edge and direction
        self.ends = graph.edges if symmetric else np.concatenate([graph.edges, graph.edges[:, ::-1]])

    def by_direction(self, w: np.ndarray) -> np.ndarray:
        """Weights (r, 2) in the regressions of the first and of the second node of every edge."""
        return np.stack([w, w] if self.symmetric else np.split(w, 2), axis=1)

    def matrix(self, w: np.ndarray) -> np.ndarray:
        """Weights as (d, d): row i holds the regression of node i."""
        W = np.zeros((self.d, self.d))
        W[self.ends[:, 0], self.ends[:, 1]] = w
        return W + W.T if self.symmetric else W

    def biases(self, w: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return beta - self.matrix(w) @ self.m

    def losses(self, w, beta) -> tuple[np.ndarray, np.ndarray]:
        """Mean logistic losses of the nodes (d,), and logits (d, n)."""
        L = self.c * (self.matrix(w) @ self.Z + beta[:, None])
        losses = np.maximum(L, 0.0) + np.log1p(np.exp(-np.abs(L))) - self.T * L
        return losses @ self.counts / self.n, L

    def value(self, w, beta, penalty) -> tuple[float, np.ndarray]:
        """Objective and logits (d, n)."""
        losses, L = self.losses(w, beta)
        b = self.biases(w, beta)
        present = w != 0.0  # the penalty of others may be infinite
        size = penalty[present] @ np.abs(w[present])
        return float(losses.sum() + 0.5 * self.ridge * b @ b + size), L

    def minimise(self, w, beta, penalty, tolerance, max_iterations):
        """Minimum from a start; also by how much the conditions of a minimum are violated."""
        penalty = np.full(len(w), penalty, dtype=np.float64)
        value, L = self.value(w, beta, penalty)
        for _ in range(max_iterations):
            P = 0.5 * (1.0 + np.tanh(0.5 * L))
            R = self.counts * (self.T - P)
            score, score_bias = self._scores(R, w, beta)
            at_zero = np.maximum(np.abs(score) - penalty, 0.0)
            elsewhere = np.abs(score - np.sign(w) * np.minimum(penalty, 1e300))
            violation = np.where(w == 0.0, at_zero, elsewhere)
            gap = max(violation.max(), np.abs(score_bias).max())
            if gap <= tolerance:
                break
            active = np.flatnonzero((w != 0.0) | (at_zero > 0.0))
            new, new_beta = w.copy(), beta.copy()
            V = self.counts * np.maximum(P * (1.0 - P), LEAST_VARIANCE)
            model = Regressions(self.ends, self.symmetric, self.Z, self.m, self.c, self.ridge, V, R)
            enough = 0.1 * min(gap, 10 * tolerance) if gap < 1e-3 else 0.1 * gap
            descend(model, active, penalty, new, new_beta, self.biases(w, beta), enough, N_PASSES)
            step = 1.0
            while step > LEAST_STEP:
                trial = w + step * (new - w), beta + step * (new_beta - beta)
                new_value, new_L = self.value(*trial, penalty)
                # at the minimum the objective changes by rounding only
                if new_value <= value + 1e-13 * abs(value):
                    break
                step *= 0.5
            else:
                break
            (w, beta), value, L = trial, new_value, new_L
        return w, beta, gap

    def scores(self, w, beta) -> tuple[np.ndarray, np.ndarray]:
        """Differentiate the fit by weights (k,) and centred biases (d,)."""
        P = 0.5 * (1.0 + np.tanh(0.5 * self.losses(w, beta)[1]))
        return self._scores(self.counts * (self.T - P), w, beta)

    def _scores(self, R, w, beta) -> tuple[np.ndarray, np.ndarray]:
        """Differentiate lpl / n with the prior of biases by weights (k,) and centred biases (d,)."""
        b = self.biases(w, beta)
        G = self.c * (R @ self.Z.T) / self.n + self.ridge * np.outer(b, self.m)  # (d, d)
        if self.symmetric:
            G = G + G.T
        return G[self.ends[:, 0], self.ends[:, 1]], self.c * R.mean(axis=1) - self.ridge * b


def _combine(directed: np.ndarray, combine: str) -> np.ndarray:
    """One weight per edge, (k, r), from two, (k, r, 2)."""
    first_larger = np.abs(directed[..., 0]) >= np.abs(directed[..., 1])
    return np.where(first_larger == (combine != "min"), directed[..., 0], directed[..., 1])


def _checked(penalties: Any, problem: L1Problem, tolerance: float, max_iterations: int) -> np.ndarray:
    if penalties is None:
        w, beta = np.zeros(len(problem.ends)), np.zeros(problem.d)
        w, beta, _ = problem.minimise(w, beta, np.inf, tolerance, max_iterations)
        largest = float(np.abs(problem.scores(w, beta)[0]).max())
        if largest <= tolerance:
            raise ValueError("x: no candidate edge has any covariance, so no penalty leaves one")
        return (largest + 2.0 * tolerance) * np.geomspace(1.0, 0.01, 20)
    chosen = np.asarray(penalties, dtype=np.float64)
    if chosen.ndim != 1 or chosen.size == 0 or not np.all(np.isfinite(chosen) & (chosen > 0)):
        raise ValueError(f"penalties must be a list of finite positive numbers, not {penalties!r}")
    if np.any(np.diff(chosen) > 0):
        raise ValueError(f"penalties must decrease, so that each fit starts well; not {penalties!r}")
    return chosen
