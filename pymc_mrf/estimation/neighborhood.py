"""Structure by node-wise L1 logistic regression: Ravikumar, Wainwright & Lafferty (2010).

Every node is regressed on all others with one penalty for all nodes; edge {i, j} is selected when
i's regression uses j *or* j's uses i (their "max" combination). The penalty is not chosen by theory
or cross-validation: it is searched for the number of edges that the caller asks for.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, is_integer
from pymc_mrf.estimation.columns import check_varies, graph_of_columns, read_columns

if TYPE_CHECKING:
    import networkx as nx


BISECTIONS = 30


class _Regressions:
    """All node-wise regressions at one penalty after another, each warm-started from the last."""

    def __init__(self, spins: np.ndarray) -> None:
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise ImportError(
                "neighborhood_selection needs scikit-learn; install it with "
                'pip install "pymc-mrf[structure]"'
            ) from error
        self._spins = spins
        self._models = [
            LogisticRegression(
                l1_ratio=1.0, solver="saga", warm_start=True, tol=1e-5, max_iter=20_000,
                random_state=0,
            )
            for _ in range(spins.shape[1])
        ]  # fmt: skip

    def strengths(self, penalty: float) -> np.ndarray:
        """max(abs(beta_ij), abs(beta_ji)) as an upper triangular (d, d) matrix.

        Minimises ``mean logistic loss + penalty * sum(abs(beta))`` for every node; the intercept is
        free of penalty.
        """
        n, d = self._spins.shape
        beta = np.zeros((d, d))
        for i, model in enumerate(self._models):
            others = np.arange(d) != i
            model.C = 1.0 / (n * penalty)
            model.fit(self._spins[:, others], self._spins[:, i])
            beta[i, others] = np.abs(model.coef_[0])
        return np.triu(np.maximum(beta, beta.T))


def _spins(x: Any, nodes: Sequence[Hashable] | None) -> tuple[np.ndarray, list[Hashable]]:
    """Validate binary observations; return them as -1, +1 with the node labels."""
    x, labels = read_columns(x, nodes, 2)
    states = np.unique(x)
    if len(states) > 2 or not np.all(np.isfinite(states)):
        raise ValueError(
            f"x has the values {states[:5].tolist()}{'...' if len(states) > 5 else ''}; "
            "node-wise logistic regression needs two states, such as 0 and 1, and no missing cell; "
            f"{MEASUREMENTS}"
        )
    check_varies(x, labels, "its neighbourhood cannot be estimated", "drop these columns")
    return np.where(x == states[1], 1.0, -1.0), labels


def neighborhood_selection(
    x: Any, n_edges: int, *, nodes: Sequence[Hashable] | None = None
) -> "nx.Graph":
    """Find a graph with `n_edges` edges by node-wise L1 logistic regression.

    The penalty is bisected, on a logarithmic scale, between the smallest one that leaves no edge and
    one at which the union of all neighbourhoods has at least `n_edges` edges. If no penalty gives
    exactly `n_edges`, the surplus edges are dropped in increasing order of strength, ties by column
    order. The result is a deterministic function of the data.

    Parameters
    ----------
    x : (n, d) array_like, or table
        Observations in two states (0 and 1, or -1 and +1). A table may have two texts or categories in each
        column.
    n_edges : int
        Between 0 and d (d - 1) / 2.
    nodes : sequence of d hashables, optional
        Node labels; by default 0..d-1.

    Returns
    -------
    networkx.Graph
        Nodes in column order, edges in lexicographic column order. Edge attribute ``strength``: the
        larger absolute coefficient of the two regressions, with states coded -1 and +1.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    ValueError
        If `x` is not a complete binary matrix, a column is constant, or so many edges cannot be had.

    References
    ----------
    Ravikumar, Wainwright & Lafferty (2010), High-dimensional Ising model selection using
    l1-regularized logistic regression, Annals of Statistics 38, section 2.2 (estimation per node);
    Höfling & Tibshirani (2009), section 4 ("Wainwright-max").
    """
    spins, labels = _spins(x, nodes)
    d = len(labels)
    most = d * (d - 1) // 2
    if not is_integer(n_edges):
        raise TypeError(f"n_edges must be an integer, not {n_edges!r}")
    if not 0 <= n_edges <= most:
        raise ValueError(f"n_edges must be between 0 and {most} for {d} nodes, not {n_edges}")
    strength = np.zeros((d, d))
    if n_edges:
        strength = _search(_Regressions(spins), spins, int(n_edges), labels)
    chosen = np.argwhere(strength > 0)
    # stable sort on exact strengths: equal ones stay in column order
    weakest_last = np.argsort(-strength[tuple(chosen.T)], kind="stable")[:n_edges]
    return graph_of_columns(labels, chosen[np.sort(weakest_last)].tolist(), strength, "strength")


def _search(
    regressions: _Regressions, spins: np.ndarray, n_edges: int, labels: list[Hashable]
) -> np.ndarray:
    """Strengths at the largest penalty found that selects at least `n_edges` edges."""
    covariance = np.abs(np.cov(spins.T, bias=True))
    np.fill_diagonal(covariance, 0.0)
    # gradient at beta = 0 with a free intercept; the loss of spins has half the slope per unit
    upper = 0.5 * covariance.max()
    if upper == 0.0:
        raise ValueError("x: all columns are uncorrelated, so no edge can be selected")
    lower = upper
    strength = np.zeros((len(labels), len(labels)))
    while np.count_nonzero(strength) < n_edges:
        upper, lower = lower, 0.5 * lower
        if lower < 1e-6:
            raise ValueError(
                f"n_edges={n_edges} cannot be reached: the regressions use only "
                f"{np.count_nonzero(strength)} pairs even without a penalty; ask for fewer edges"
            )
        strength = regressions.strengths(lower)
    for _ in range(BISECTIONS):
        if np.count_nonzero(strength) == n_edges or upper / lower < 1.0 + 1e-6:
            break
        middle = np.sqrt(upper * lower)
        candidate = regressions.strengths(middle)
        if np.count_nonzero(candidate) >= n_edges:
            lower, strength = middle, candidate
        else:
            upper = middle
    return strength
