"""Samples of a field at one place, the reference of a Monte Carlo likelihood, and how good they are.

The place is found from the data alone: draws under a vague spike-and-slab prior, by the likelihood itself,
from the pseudo-likelihood estimate on. It need not be the mean of the posterior; it has to be near it in
units of the data's sampling error, which `kernels.views.weighted_sample` tells by the weights.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import ssyrk
from scipy.sparse import csr_array, eye_array

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views.monte_carlo_edges import REACH
from pymc_mrf.kernels.views.questions import Field
from pymc_mrf.kernels.views.sample_sums import fill_statistics

MOST_PARAMETERS = 5000
"""Parameters of a field beyond which the covariance of their statistics, the square of them numbers, is not
kept: then the longer simulation corrects the mean of the sample only."""

AT_ONCE = 2000  # points of a sample whose statistics are held
TINY = 1e-12  # variance of a statistic that never changed
BURN_IN = 50  # sweeps of chains that start at rows of the data, or anywhere
SETTLE, SETTLE_LAGS = 10, 5.0  # of chains that stood for parameters nearby: sweeps at least, and lags
N_GROUPS = 32  # of chains, between which the means of a statistic tell how fast chains move
# share of the statistics that are faster; how much slower they look by chance
SLOW, BY_CHANCE = 0.95, 1.42


@dataclass(frozen=True, eq=False)
class Reference:
    """States at parameters `place`, and cumulants of the statistics in a longer simulation less theirs.

    Attributes
    ----------
    place : (p,) array
        Weights (r,) and centred biases (d q,).
    states : (d, m) int8 array
        Of independent chains; m is even.
    mean : (p,) array
        Of the statistics, in the longer simulation.
    covariance : (p, p) float32 array
        Of the statistics, in the longer simulation; its diagonal (p,) only if p is beyond `MOST_PARAMETERS`.
    gap : (p,) array
    excess : (p, p) float32 array
        Zeros (0, 0) if only the mean is corrected.
    apart : (p,) array
        Half the difference of the means in both halves of the longer simulation.
    centre : (r, 2, M) array
        What is taken from the features of the ends of each edge, as in `Field`.
    reach : (r,) array
        How far from the place the sample tells of the parameter of each edge.
    lag : float
        Integrated autocorrelation time of the slower statistics, in sweeps.
    n_squared : int
        Draws of the longer simulation behind the covariance.
    noise : float
        Of the likelihood, as of `reference_search`; NaN where it was not estimated.
    """

    place: np.ndarray
    states: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    gap: np.ndarray
    excess: np.ndarray
    apart: np.ndarray
    centre: np.ndarray
    reach: np.ndarray
    lag: float
    n_squared: int
    noise: float = np.nan

    @property
    def variances(self) -> np.ndarray:
        """Variances of the statistics, (p,)."""
        return self.covariance if self.covariance.ndim == 1 else self.covariance.diagonal()

    def recentred(self, centre: np.ndarray, lift: np.ndarray, edges: np.ndarray) -> "Reference":
        """Return the same with the statistics of edges (r, 2) centred otherwise, but for `mean`.

        Parameters
        ----------
        centre : (r, 2, M) array
            As in `Field`; zeros for statistics as they are, and biases that are not centred.
        lift : (d q, M) array
            As in `Field`.
        edges : (r, 2) int64 array
        """
        r, q = len(edges), len(lift) // len(self.states)
        if not q or np.array_equal(centre, self.centre):
            return self
        # of each edge, by how much more of the statistics of its ends it has now
        nodes = r + edges[:, :, None] * q + np.arange(q)  # (r, 2, q)
        more = np.einsum("eukl,eul->euk", lift[nodes - r], (self.centre - centre)[:, ::-1])
        turn = csr_array(
            (more.ravel(), (np.repeat(np.arange(r), 2 * q), nodes.ravel())), shape=(len(self.place),) * 2
        ) + eye_array(len(self.place), format="csr")
        place = self.place.copy()
        np.subtract.at(place, nodes, self.place[:r, None, None] * more)
        is_wide = self.covariance.ndim == 1
        narrow = turn.astype(np.float32)
        return replace(
            self,
            place=place,
            covariance=self.covariance if is_wide else np.asarray(narrow @ (narrow @ self.covariance).T),
            gap=turn @ self.gap,
            excess=self.excess if is_wide else np.asarray(narrow @ (narrow @ self.excess).T),
            apart=turn @ self.apart,
            centre=centre,
        )

    def sample_means(self, field: Field) -> np.ndarray:
        """Means (p,) of the statistics of `field`, centred as those of this reference, in the sample."""
        total, m = np.zeros(len(self.place)), self.states.shape[1]
        values = np.empty((len(self.place), AT_ONCE), dtype=np.float32)
        for start in range(0, m, AT_ONCE):
            part = statistics_of(field, self.states[:, start : start + AT_ONCE], values)
            total += part.sum(axis=1, dtype=np.float64)
        return total / m

    def halves_apart(self, field: Field, y: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Half the difference of the slopes of A by all parameters, (T, p), by both halves of the sample.

        Without what the longer simulation replaces: the noise of the third and higher cumulants.

        Parameters
        ----------
        field : Field
            Whose statistics are those of this reference.
        y : (T, m) float32 array
            Of T places, the exponents of the points' weights.
        beyond : (T, p) array
            How far parameters are beyond where they count in the cumulants, which most are not.
        """
        known = y - _exponents(beyond, field, self.states)
        half = self.states.shape[1] // 2
        values, slopes = np.empty((len(self.place), half), dtype=np.float32), []
        for part in (slice(None, half), slice(half, 2 * half)):
            statistics_of(field, self.states[:, part], values)
            weights = np.exp(y[:, part] - y[:, part].max(axis=1)[:, None])
            weights /= weights.sum(axis=1)[:, None]
            weights -= 1.0 / half
            if self.excess.size:
                weights -= (known[:, part] - known[:, part].mean(axis=1)[:, None]) / half
            slopes.append(weights @ (values - values.mean(axis=1)[:, None]).T)
        return 0.5 * (slopes[0] - slopes[1])


def statistics_of(field: Field, states: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Statistics (p, m) of `field` in `states` (d, m), in the first m columns of `room`."""
    values = room[:, : states.shape[1]]
    fill_statistics(np.ascontiguousarray(states), field.edges, field.cells, field.basis, values)
    return values


def _exponents(parameters: np.ndarray, field: Field, states: np.ndarray) -> np.ndarray:
    """Return what parameters (T, p), mostly 0, add to the exponents (T, m) of points in `states` (d, m)."""
    (q, K), r, total = field.basis.shape, len(field.edges), np.zeros((len(parameters), states.shape[1]))
    for k in np.flatnonzero(parameters.any(axis=0)):
        if k < r:
            u, v = field.edges[k]
            total += parameters[:, k, None] * field.cells[k].reshape(K, K)[states[u], states[v]]
        else:
            total += parameters[:, k, None] * field.basis[(k - r) % q, states[(k - r) // q]]
    return total


class Chains:
    """Independent chains of one field, moved by Gibbs sweeps.

    Parameters
    ----------
    x : (n, d) int8 array
        Data; every chain starts at a row of them.
    graph : PairwiseGraph
    family : Family
    field : Field
        The data as the kernels take them; its statistics are those of the reference.
    rng : numpy.random.Generator
    """

    def __init__(
        self, x: np.ndarray, graph: PairwiseGraph, family: Family, field: Field, rng: np.random.Generator
    ) -> None:
        self._x, self._graph, self._family, self._field, self._rng = x, graph, family, field, rng
        self._states = np.zeros((0, graph.n_nodes), dtype=np.int8)
        self._lag = 1.0

    def _started(self, size: int) -> np.ndarray:
        """States (size, d): the second half of the chains is one that did not start at the data."""
        halves, rng = [], self._rng
        for k, n in enumerate((size // 2, size - size // 2)):
            known = np.array_split(self._states, 2)[k]
            if len(known) == 0:
                known = self._x if k == 0 else self._anywhere(n)
            halves.append(known if len(known) == n else known[rng.integers(0, len(known), n)])
        return np.ascontiguousarray(np.concatenate(halves))

    def _anywhere(self, n: int) -> np.ndarray:
        """Independent uniform states (n, d)."""
        cards = self._family.possible(self._graph.n_nodes).sum(axis=1)
        return self._rng.integers(0, cards, (n, len(cards))).astype(np.int8)

    def at(
        self,
        w: np.ndarray,
        b: np.ndarray,
        place: np.ndarray,
        size: int,
        n_passes: int,
        n_squared: int = 2,
    ) -> Reference:
        """Make the reference of `size` points at `w` (r,) and `b` (d q,), by `n_passes` sweeps.

        The covariance is from at least `n_squared` of them.
        """
        field, rng = self._field, self._rng
        simulator = GibbsSimulator(self._graph, self._family.n_states, size)
        node_tables = field.floor + b.reshape(len(field.features), -1) @ field.basis
        tables = self._family.edge_tables(w, self._graph.edges), node_tables
        states = self._started(size)
        settle = max(SETTLE, int(np.ceil(SETTLE_LAGS * self._lag)))
        simulator.load(states)
        simulator.advance(*tables, settle if len(self._states) else max(settle, BURN_IN), rng)
        moments, every = Moments(field, size), max(n_passes // n_squared, 1)
        for k in range(n_passes):
            simulator.advance(*tables, 1, rng)
            simulator.store(states)
            moments.add(states.T, (n_passes - 1 - k) % every == 0)
        self._states = states
        reference = moments.reference(place, np.ascontiguousarray(states.T))
        self._lag = reference.lag
        return reference


class Moments:
    """Means and covariances of the statistics of `field` over passes of `size` chains."""

    def __init__(self, field: Field, size: int) -> None:
        self._field, p = field, len(field.edges) + len(field.lift)
        self._is_wide = p > MOST_PARAMETERS
        groups = np.array_split(np.arange(size), N_GROUPS)
        self._groups = [slice(group[0], group[-1] + 1) for group in groups]
        self._sizes = np.array([len(group) for group in groups])
        self._values = np.empty((p, len(groups[0])), dtype=np.float32)
        self._origin: np.ndarray | None = None
        self._n_passes, self._n_squared = 0, 0
        # of all passes; of those with squares; of the last pass
        self._sums, self._squared_sums, self._last_sums = np.zeros((3, p, N_GROUPS))
        self._squares = np.zeros(p if self._is_wide else (p, p))
        self._last_squares = self._squares

    def add(self, columns: np.ndarray, with_squares: bool) -> None:
        """Add states (d, size) of a pass, the last one `with_squares`."""
        field, sums, squares = self._field, np.empty_like(self._sums), np.zeros_like(self._squares)
        for g, group in enumerate(self._groups):
            values = statistics_of(field, columns[:, group], self._values)
            if self._origin is None:  # squares in single precision are of deviations
                self._origin = values.mean(axis=1)
            values -= self._origin[:, None]
            sums[:, g] = values.sum(axis=1)
            if with_squares and self._is_wide:
                squares += (values**2).sum(axis=1)
            elif with_squares:  # its upper triangle
                squares += ssyrk(1.0, np.ascontiguousarray(values).T, trans=1)
        self._sums += sums
        self._n_passes += 1
        if with_squares:
            self._squared_sums += sums
            self._squares += squares
            self._n_squared += 1
            self._last_sums, self._last_squares = sums, squares

    def _cumulants(
        self, sums: np.ndarray, squares: np.ndarray, n_passes: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean, less the origin, and covariance from sums over passes."""
        n = n_passes * self._sizes.sum()
        mean = sums.sum(axis=1) / n
        if self._is_wide:
            return mean, squares / n - mean**2
        return mean, (np.triu(squares) + np.triu(squares, 1).T) / n - np.outer(mean, mean)

    def reference(self, place: np.ndarray, states: np.ndarray) -> Reference:
        """Make the reference with the `states` (d, size) of the last pass."""
        assert self._origin is not None
        _, covariance = self._cumulants(self._squared_sums, self._squares, self._n_squared)
        own_mean, own_covariance = self._cumulants(self._last_sums, self._last_squares, 1)
        by_group = self._sums / (self._n_passes * self._sizes)
        mean = by_group @ self._sizes / self._sizes.sum()
        half = N_GROUPS // 2
        first, second = (
            by_group[:, part] @ self._sizes[part] / self._sizes[part].sum()
            for part in (slice(half), slice(half, None))
        )
        variances = covariance if self._is_wide else covariance.diagonal()
        between = by_group.var(axis=1, ddof=1) * self._n_passes * self._sizes.mean()
        lags = np.minimum(between / np.maximum(variances, TINY), self._n_passes)
        excess = np.zeros((0, 0)) if self._is_wide else covariance - own_covariance
        return Reference(
            place=place,
            states=states,
            mean=self._origin + mean,
            covariance=covariance.astype(np.float32),
            gap=mean - own_mean,
            excess=excess.astype(np.float32),
            apart=0.5 * (first - second),
            centre=self._field.centre,
            reach=REACH / np.sqrt(np.maximum(variances[: len(self._field.edges)], TINY)),
            lag=max(float(np.quantile(lags, SLOW)) / BY_CHANCE, float(lags.mean()), 1.0),
            n_squared=self._n_squared * int(self._sizes.sum()),
        )
