"""What neighbours within a row are expected to be given earlier rows: arrows beside links are counted once.

To the power of one half, the conditional of a node given its neighbours and the earlier rows counts links
once, as they stand in two of them, and arrows half, as they stand in one. The other half of an arrow is in a
second conditional, to the power of what lacks to one. In its local field the neighbours are what they are
expected to be given the earlier rows, and deviations from that have constant weights in place of those of the
links: near independence all that it says is of arrows and biases, to which deviations are orthogonal. The
constants are estimated from the data before sampling, so that a density is left invariant.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.frozen import Frozen
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.threads import minimise

PRIOR_SD = 0.5
"""Of a weight times the standard deviations of both of its ends, a priori."""


class Constants(NamedTuple):
    """Estimates of a field of d nodes and L lags.

    Attributes
    ----------
    mean : (d,) array
        Expected scores where those of earlier rows are 0.
    slope : (L d, d) array
        Change of them by the scores of the earlier rows, those of the first lag first.
    weight : (d, d) array
        Weight of each neighbour, by row, in the local field of each node.
    """

    mean: np.ndarray
    slope: np.ndarray
    weight: np.ndarray


class ExpectedNeighbours(Frozen):
    """Expected neighbours of the nodes of a field in time with links and arrows, frozen.

    Parameters
    ----------
    windows : (n, (1 + L) d) int8 array
        State indices of the rows and of the earlier ones beside each, without missing cells.
    graph : LaggedGraph
    family : Family
        With one feature for each node, its scores.
    """

    windows: np.ndarray
    graph: LaggedGraph
    family: Family

    def __init__(self, windows: np.ndarray, graph: LaggedGraph, family: Family) -> None:
        self._hold(windows=windows, graph=graph, family=family)

    @cached_property
    def constants(self) -> Constants:
        """Estimates, found when they are first asked for."""
        d, n, F = self.graph.n_nodes, len(self.windows), self.family.edge_features
        scores = np.broadcast_to(F, (d, *F.shape[-2:]))[:, 0]
        possible = self.family.possible(d)
        middle = (scores * possible).sum(axis=1) / possible.sum(axis=1)
        each = np.arange(self.windows.shape[1]) % d
        values = scores[each, self.windows]  # (n, (1 + L) d)
        # half a row in each state, so that no column is constant
        spread = ((scores - middle[:, None]) ** 2 * possible).sum(axis=1) / possible.sum(axis=1)
        origin = (values.sum(axis=0) + middle[each]) / (n + 1)
        sd = np.sqrt((((values - origin) ** 2).sum(axis=0) + spread[each]) / (n + 1))
        z = (values - origin) / sd
        own, past = z[:, :d], z[:, d:]
        # a share of one half is explained a priori
        ridge = past.T @ past + past.shape[1] * np.eye(past.shape[1])
        slope = np.linalg.solve(ridge, past.T @ own) * sd[:d] / sd[d:, None]
        weight = self._weights(z, scores / sd[:d, None], possible) / (sd[:d, None] * sd[:d])
        return Constants(origin[:d] - origin[d:] @ slope, slope, weight)

    def _weights(self, z: np.ndarray, scores: np.ndarray, possible: np.ndarray) -> np.ndarray:
        """Weights (d, d) of neighbours, by row, each node's own regression on neighbours and sources.

        Of standardised values `z` (n, (1 + L) d), and `scores` (d, K) in the same units.
        """
        graph, basis = self.graph, self.family.node_basis
        (d, K), D = scores.shape, z.shape[1]
        is_free, (u, v) = np.zeros((D, d), dtype=bool), graph.edges.T
        place = np.searchsorted(np.array([0, *graph.lags]), graph.lag_of) * d + u
        is_free[place, v] = True
        is_link = graph.lag_of == 0
        is_free[v[is_link], u[is_link]] = True
        in_state = self.windows[:, :d, None] == np.arange(K)
        floor = np.where(possible, 0.0, -np.inf)
        n_biases, n_weights = d * len(basis), int(is_free.sum())
        seen = in_state.sum(axis=0)  # (d, K)
        of_own = (scores[np.arange(d), self.windows[:, :d]]).astype(float)

        def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            W = np.zeros((D, d))
            W[is_free] = parameters[:n_weights]
            b = parameters[n_weights:].reshape(d, -1)
            tables = b @ basis + floor
            L = z @ W
            log_p = tables + scores * L[:, :, None]
            top = log_p.max(axis=2, keepdims=True)
            p = np.exp(log_p - top)
            total = p.sum(axis=2, keepdims=True)
            p /= total
            value = (np.log(total) + top).sum() - (of_own * L).sum() - (seen * (b @ basis)).sum()
            slope = z.T @ ((p * scores).sum(axis=2) - of_own)
            by_bias = (p.sum(axis=0) - seen) @ basis.T
            penalty = np.concatenate([np.full(n_weights, PRIOR_SD**-2), np.full(n_biases, 0.01)])
            gradient = np.concatenate([slope[is_free], by_bias.ravel()]) + penalty * parameters
            return value + 0.5 * (penalty * parameters**2).sum(), gradient

        found = minimise(objective, np.zeros(n_weights + n_biases), options={"maxiter": 200})
        W = np.zeros((D, d))
        W[is_free] = found.x[:n_weights]
        return W[:d]

    def expected(self, past: Any) -> Any:
        """Expect scores (n, d) given the scores of earlier rows `past` (n, L d); symbolic if these are."""
        return self.constants.mean + past @ self.constants.slope

    def given(self, own: Any, expected: Any) -> Any:
        """Local fields (n, d) by what deviates: scores `own` from those `expected`, both (n, d)."""
        return (own - expected) @ self.constants.weight

    def _content(self) -> bytes:
        return b"|".join(
            [repr(self.windows.shape).encode(), self.windows.tobytes(), self.graph.digest.encode()]
            + [np.ascontiguousarray(one).tobytes() for one in (self.family.edge_features,)]
        )

    def __repr__(self) -> str:
        return f"ExpectedNeighbours({self.windows.shape[0]} rows, sha256={self.digest[:16]})"

    def __reduce__(self):
        return ExpectedNeighbours, (self.windows.copy(), self.graph, self.family)
