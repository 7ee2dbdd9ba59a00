"""Search for the reference of a Monte Carlo likelihood.

The reference is found from the data alone, so that all priors, steps and chains have the same likelihood:
from the pseudo-likelihood estimate on, by Newton steps and then by draws under a vague spike-and-slab prior,
whose share of edges and scale follow the draws.
"""

from dataclasses import replace

import numpy as np

from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import NORMAL, Densities, Density
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.likelihood.data_counts import DataCounts
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.edges.edge_engine import MAX_LEAPFROG, TRAJECTORY, EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import data_information, edge_field, fill_sums, node_parameters
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloEdges, beyond_node_limits
from pymc_mrf.likelihood.monte_carlo.reference import TINY, Chains, Reference, statistics_of
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges

TOLERANCE = 0.3
"""Error, in nats, of the log Bayes factor of an edge in doubt, and of the log-likelihood ratio of two values
of a bias one posterior standard deviation apart, that most of them have at most. Typical ones have half of
it; .3 makes .075 of an inclusion probability of one half."""

MOST = 0.9  # of the parameters in doubt
LEAST_ROWS = 5.0  # of as many as the data have, in which a state of a node is expected at the reference
# of the tolerance, the error from the mean of the longer simulation: more of it costs little
OF_MEAN = 0.35
OF_SAMPLE = np.sqrt(1.0 - OF_MEAN**2)  # the rest, of the points
DISTANCE = 2.5  # of the weight of an edge in doubt from 0, in posterior standard deviations
DOUBTFUL = 0.02  # probability of either state of an edge in doubt

PILOT_SIZE, PILOT_PASSES = 4000, 5  # points and sweeps of references on the way
PILOT_DRAWS = 40  # at each of them, of which the first third is forgotten
MOST_PILOTS = 12
LARGEST_PILOT = 32_000  # points, of those that follow on draws which the points before did not cover
START_STEPS, START_SCORE = 30, 2.0  # of the estimate; standard errors of an edge that is kept of it
# by the pseudo-likelihood where edges have blocks of parameters, in place of the estimate
START_DRAWS = 60
MOST_LONGER, LEAST_LAGS = 4, 10.0  # tries to simulate for so many lags
# passes, and states that are drawn in them, of which either is waited for: minutes, if nodes are many
MOST_PASSES, MOST_DRAWN = 200, 1e9
BY_MOST = 3.0  # times the tolerance, one statistic of many may differ between both halves of the chains
HOPELESS = 10.0  # times the tolerance, the noise of the largest sample that is not even drawn
MISSING_SWEEPS = 3  # of missing cells, whenever the reference has moved
MOST_STEPS = 20  # of Newton's method before the first pilot
# effective share of the weights at which a reference is near enough to be the last but one
GOOD_SHARE = 0.5
LEAST_SHARE = 0.05  # at the last of them
LARGEST_SIZE = 400_000  # points of a sample
# points times parameters, points and passes times their square, at least
CHEAP_SIZE, CHEAP_DRAWS = 4e6, 2e10
# points, and points times passes, that need not be exceeded for being cheap
MOST_CHEAP = 50_000, 2_000_000
# of the tolerance, the noise that more points than it asks for are taken for, being cheap; it is estimated
# from some draws, and draws far from the reference have more
ENOUGH = 0.25
MOST_NUMBERS = 2e8  # in a sample: nodes times features times points
BIAS_SCALE = 3.0  # standard deviation of biases, relative to the contrast of the basis, on the way
STEP = 0.4  # of leapfrog steps on the way


class NoReferenceError(ValueError):
    """Says why a field has no reference, as the second half of a sentence about its likelihood."""


def largest_size(n_nodes: int, n_features: int) -> int:
    """Points that a sample of so many nodes and features has at most."""
    return min(LARGEST_SIZE, int(MOST_NUMBERS / (n_features * n_nodes)))


def tolerance_for(reference: Reference, noise: float) -> float | None:
    """Tolerance whose sample has about this share, `noise`, of the noise of a reference; None if none has.

    It follows from the noise that the search has found for the points of the reference, which may be far
    below the tolerance that was asked for, as small samples cost nothing.
    """
    d, size = reference.states.shape
    if size / noise**2 > largest_size(d, reference.centre.shape[2]) or not reference.noise > 0.0:
        return None
    return reference.noise * noise / OF_SAMPLE


class Search:
    """Search for the reference of a field from its data.

    Parameters
    ----------
    x, missing : (n, d) arrays
        As of `SampledField.of`.
    graph : PairwiseGraph
    family : Family
        With one parameter for each edge.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        x: np.ndarray,
        missing: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        rng: np.random.Generator,
    ) -> None:
        x = x.copy()
        self._missing = missing
        self._moves_biases = family.node_parameter is not None
        self._field, self._data = edge_field(
            x, graph, family, self._moves_biases, np.arange(graph.n_edges)
        )
        self._x, self._graph, self._family, self._rng = x, graph, family, rng
        self._chains = Chains(x, graph, family, self._field, rng)
        self._scale = 4.0 / self._field.contrast
        self._log_odds = 0.0
        self._w, self._b = self._start()

    def _start(self) -> tuple[np.ndarray, np.ndarray]:
        """Ridge pseudo-likelihood estimate without its uncertain edges."""
        if self._family.has_blocks:
            return self._mean_of_pseudo()
        labels, n = np.arange(self._graph.n_edges), len(self._x)
        problem = FitProblem(self._x, self._graph, self._family, labels, labels)
        estimate = maximise(problem, ridge=1.0 / (n * BIAS_SCALE**2), max_iterations=START_STEPS)[0]
        w, b = problem.split(estimate)
        beta = np.empty(len(self._data.t))
        centred(self._field, w, np.nan_to_num(b).ravel()[: len(beta)], beta)
        information = data_information(self._x, self._field)[: len(w)]
        w = np.where(np.abs(w) * np.sqrt(information) > START_SCORE, w, 0.0)
        return w, self._uncentred(w, beta)

    def _mean_of_pseudo(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean of draws by the pseudo-likelihood, edges that few of them have left out."""
        pseudo = PseudoEdges(self._x, self._graph, self._family, self._moves_biases)
        engine = BlockEdges(pseudo)
        w, b, draws = np.zeros(len(self._data.s)), np.zeros(len(self._data.t)), []
        for k in range(START_DRAWS):
            self._move(engine, w, b)
            pseudo.learn(1.0 / (k + 10.0))
            draws.append(np.concatenate([w, b]))
        late = np.array(draws[START_DRAWS // 3 :])
        w, b = np.split(late.mean(axis=0), [len(w)])
        rare = (late[:, : len(w)] != 0.0).mean(axis=0) < 0.5
        beta = np.empty_like(b)
        centred(self._field, w, b, beta)
        w[rare] = 0.0
        return w, self._uncentred(w, beta)

    def _move(self, engine: EdgeEngine, w: np.ndarray, b: np.ndarray) -> None:
        """Update edges and biases, in place, under the vague prior."""
        n_biases = len(b)
        zero, one = np.zeros(n_biases), np.ones(n_biases)
        bias = Densities(np.full(n_biases, NORMAL), zero, BIAS_SCALE * one, one, zero)
        constant = -0.5 * np.log(2 * np.pi) - np.log(self._scale)
        slab = Density(NORMAL, 0.0, self._scale, 1.0, constant)
        prior = EdgePrior(np.full(len(engine.present(w)), self._log_odds), slab, bias)
        n_steps = min(round(TRAJECTORY / STEP), MAX_LEAPFROG)
        engine.sweep(w, b, prior, self._rng)
        step = STEP * self._rng.uniform(0.8, 1.2)
        engine.joint(w, b, prior, step, n_steps, self._rng, enters=True)

    def _uncentred(self, w: np.ndarray, beta: np.ndarray) -> np.ndarray:
        shifts = np.zeros_like(beta)
        centred(self._field, w, np.zeros_like(beta), shifts)
        return beta - shifts

    def find(self, tolerance: float) -> Reference:
        """Move the reference to the mean of draws by itself, until these are near; then draw the sample."""
        self._approach()
        last, size = 0.0, PILOT_SIZE
        for _ in range(MOST_PILOTS):
            reference = self._simulate(size, PILOT_PASSES)
            draws, share = self._draw(reference)
            late = draws[len(draws) // 3 :]
            self._move_to(reference, late.mean(axis=0))
            if share < LEAST_SHARE:
                size = min(2 * size, LARGEST_PILOT)
                continue
            if share > GOOD_SHARE and share < 1.1 * last:
                break
            last = share
        if share < LEAST_SHARE:
            raise NoReferenceError(
                f"needs a sample that covers the posterior, but its points have weights worth {share:.1%} of "
                "their number: rows are few for the parameters, or the states of the field change too slowly"
            )
        noises = self.noise(reference, late)
        noise = float(np.quantile(noises, MOST)) if len(noises) else 0.0
        n_pilot = reference.states.shape[1]
        size = self._size(noise * np.sqrt(n_pilot), tolerance)
        noise *= np.sqrt(n_pilot / size)
        if noise > HOPELESS * tolerance:
            raise NoReferenceError(
                f"needs a sample of more than {size:,} points, by which log-likelihood ratios would have a "
                f"noise of {noise:.1f}: rows are few for the parameters, or the states of the field change "
                "too slowly"
            )
        n_present = float((late != 0.0).sum(axis=1).mean())
        n, p, lag = len(self._x), len(reference.place), reference.lag
        for k in range(MOST_LONGER):
            by_draw = lag * (DISTANCE / (OF_MEAN * tolerance)) ** 2
            n_draws = max(n * by_draw, min(CHEAP_DRAWS / p**2, MOST_CHEAP[1]))
            n_passes = max(int(np.ceil(max(n_draws / size, LEAST_LAGS * lag))), 2)
            # the covariance errs by the square root of the spread, which is about n_present / n
            n_squared = min(max(int(np.ceil(n_present * by_draw / size)), 2), n_passes)
            reference = self._simulate(size, n_passes, n_squared)
            if n_passes >= LEAST_LAGS * reference.lag and self._meet(reference, tolerance):
                return replace(reference, noise=noise)
            if LEAST_LAGS * reference.lag > max(MOST_PASSES, MOST_DRAWN / (size * len(self._data.n))):
                break
            # something that all statistics share in may be slower than most of each tells
            lag = 2.0 ** (k + 1) * reference.lag
        raise NoReferenceError(
            "needs a field whose states are simulated by single nodes, but chains that start at the data and "
            f"anywhere else do not meet: they forget their states in some {reference.lag:.0f} sweeps or more"
        )

    def _size(self, noise: float, tolerance: float) -> int:
        """Points of a sample, even, from the noise by a single one."""
        d, p = self._graph.n_nodes, len(self._data.s) + len(self._data.t)
        size = (noise / (OF_SAMPLE * tolerance)) ** 2
        size = int(max(size, min(CHEAP_SIZE / p, MOST_CHEAP[0], size / ENOUGH**2), PILOT_SIZE))
        return 2 * (min(size, largest_size(d, self._field.features.shape[1])) // 2)

    def _meet(self, reference: Reference, tolerance: float) -> bool:
        """Whether both halves of the chains, which start elsewhere, have the same means of the statistics."""
        apart = (
            DISTANCE * reference.apart * np.sqrt(len(self._x) / np.maximum(reference.variances, TINY))
        )
        apart = apart[reference.variances > TINY]
        return bool(np.sqrt(np.mean(apart**2)) < tolerance and np.abs(apart).max() < BY_MOST * tolerance)

    def _approach(self) -> None:
        """Newton steps towards the maximum of the likelihood of the present edges, by simulation.

        The estimate that they start from has not converged: thresholds of rare states take many steps.
        """
        data, n = self._data, len(self._x)
        scales = np.concatenate([np.full(len(data.s), self._scale), np.full(len(data.t), BIAS_SCALE)])
        for _ in range(MOST_STEPS):
            reference = self._simulate(PILOT_SIZE, 2)
            moved = np.concatenate([self._w != 0.0, np.full(len(self._b), self._moves_biases)])
            ridge, place = scales[moved] ** -2 / n, reference.place[moved]
            means = np.concatenate([data.s, data.t]) / n  # with missing cells as drawn by now
            slope = (means - reference.mean)[moved] - ridge * place
            if reference.excess.size:
                step = np.linalg.solve(
                    reference.covariance[np.ix_(moved, moved)] + np.diag(ridge), slope
                )
            else:
                step = slope / (reference.variances[moved] + ridge)
            new = reference.place.copy()
            new[moved] += step
            self._move_to(reference, new)
            if n * (step @ slope) < 2.0 * len(step):
                break

    def _move_to(self, reference: Reference, place: np.ndarray) -> None:
        """Go to a place, or towards it as far as the weights of the reference can be believed."""
        move, r = place - reference.place, len(self._w)
        C = reference.covariance
        spread = float(move @ (C * move if C.ndim == 1 else C @ move))
        place = reference.place + move / max(1.0, np.sqrt(spread))
        self._w, self._b = place[:r], self._uncentred(place[:r], place[r:])
        self._draw_missing()
        self._show_rare_states(reference)

    def _draw_missing(self) -> None:
        """Move the missing cells by some Gibbs sweeps given all others, and the data's sums with them."""
        if not self._missing.any():
            return
        field, K = self._field, self._family.n_states
        f, (u, v) = field.statistic.reshape(-1, K, K), field.edges.T
        tables = field.floor + self._b.reshape(len(field.features), -1) @ field.basis
        for _ in range(MISSING_SWEEPS):
            for i in np.flatnonzero(self._missing.any(axis=0)):
                rows = np.flatnonzero(self._missing[:, i])
                scores = tables[i] + self._rng.gumbel(size=(len(rows), K))
                for e in np.flatnonzero(u == i):
                    scores += self._w[e] * f[e].T[self._x[rows, v[e]]]
                for e in np.flatnonzero(v == i):
                    scores += self._w[e] * f[e][self._x[rows, u[e]]]
                self._x[rows, i] = scores.argmax(axis=1)
        counts = DataCounts(self._graph.edges, K)
        counts.count(self._x)
        fill_sums(counts.nodes, counts.pairs, field, self._data)

    def _show_rare_states(self, reference: Reference) -> None:
        """Move biases so that each state of a node is seen in some points of the sample.

        It costs nothing: of states that are as rare as in the data, or more so, the weights hardly vary.
        """
        if not self._moves_biases:
            return
        m, n, G = reference.states.shape[1], len(self._x), self._field.basis
        shares = self._engine(reference).shares_at(self._w, self._b)
        lack = np.log(np.maximum(LEAST_ROWS / n / (shares + 0.5 / m), 1.0))
        lack[~self._family.possible(len(shares))] = 0.0
        self._b += node_parameters(G, lack)

    def _simulate(self, size: int, n_passes: int, n_squared: int = 2) -> Reference:
        beta = np.empty_like(self._b)
        centred(self._field, self._w, self._b, beta)
        place = np.concatenate([self._w, beta])
        return self._chains.at(self._w, self._b, place, size, n_passes, n_squared)

    def _engine(self, reference: Reference) -> MonteCarloEdges:
        return MonteCarloEdges(self._x, self._graph, self._family, self._moves_biases, [reference])

    def _sampler(self, reference: Reference) -> EdgeEngine:
        """Engine that moves edges as a whole."""
        engine = self._engine(reference)
        return BlockEdges(engine) if self._family.has_blocks else engine

    def _draw(self, reference: Reference) -> tuple[np.ndarray, float]:
        """Weights and centred biases (draws, p), and the median of the effective shares of their weights.

        Fewer than `PILOT_DRAWS` if the points do not cover where these go.
        """
        r, engine = len(self._w), self._sampler(reference)
        w, b, shares = self._w.copy(), self._b.copy(), []
        draws = np.empty((PILOT_DRAWS, len(reference.place)))
        for draw in draws:
            self._move(engine, w, b)
            draw[:r] = w
            centred(self._field, w, b, draw[r:])
            shares.append(engine.statistics()["ess"])
            if shares[-1] < LEAST_SHARE:  # what the sample says of places farther off is false
                break
        draws = draws[: len(shares)]
        present = draws[len(draws) // 3 :, :r]
        n_seen, present = present.size, present[present != 0.0]
        share = (len(present) + 1.0) / (n_seen + 2.0)
        self._log_odds = float(np.log(share / (1.0 - share)))
        self._scale = float(np.sqrt((np.sum(present**2) + self._scale**2) / (len(present) + 1.0)))
        return draws, float(np.median(shares) if len(shares) == PILOT_DRAWS else shares[-1])

    def noise(self, reference: Reference, draws: np.ndarray) -> np.ndarray:
        """Noise of the likelihood by a reference at `draws` (draws, p), by parameters in doubt.

        Root mean square error, over the draws, of what `TOLERANCE` bounds.
        """
        field, n, r = self._field, len(self._x), len(self._w)
        room = np.empty((len(reference.place), reference.states.shape[1]), dtype=np.float32)
        f = statistics_of(field, reference.states, room)
        delta = draws - reference.place
        beyond = np.zeros_like(delta)
        beyond[:, r:] = beyond_node_limits(delta[:, r:], field.basis)
        apart = n * reference.halves_apart(field, delta.astype(np.float32) @ f, beyond)
        present = draws != 0.0
        share = present.mean(axis=0)
        in_doubt = (share > DOUBTFUL) & (share < 1.0 - DOUBTFUL) | (np.arange(len(share)) >= r)
        in_doubt = in_doubt if in_doubt[:r].any() or not r else present.any(axis=0)
        count = np.maximum(present.sum(axis=0), 1)
        # an edge goes from its value to 0, a bias about its mean
        mean = np.where(np.arange(len(share)) < r, 0.0, draws.mean(axis=0))
        move = np.sqrt((present * (draws - mean) ** 2).sum(axis=0) / count)
        return (np.sqrt((apart**2).mean(axis=0)) * move)[in_doubt]
