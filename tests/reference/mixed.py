"""Mixed fields by sums over all answers, and integrals over the measurements in closed form or on a grid."""

import itertools

import numpy as np
from scipy import linalg, special


def features_of(kind, n_states):
    """Values (f, K) of the features of an answer: contrasts of a nominal one, else the middle is zero."""
    if kind == "nominal":
        return -linalg.helmert(n_states)
    return (np.arange(n_states) - np.mean(np.arange(n_states)))[None]


class MixedReference:
    """A field whose log density is linear in `theta`: weights (P,), biases (a K,) and the diagonal (c,).

    `kinds` and `n_states` are of the d nodes in their order, as of `ColumnKinds`, and `edges` are pairs.
    """

    def __init__(self, kinds, n_states, edges):
        self.kinds, self.n_states, self.edges = kinds, n_states, edges
        self.answers = [i for i, kind in enumerate(kinds) if kind != "continuous"]
        self.measured = [i for i, kind in enumerate(kinds) if kind == "continuous"]
        self.cards = [n_states[i] for i in self.answers]
        counts = [k - 1 if kind == "nominal" else 1 for kind, k in zip(kinds, n_states, strict=True)]
        self.blocks = [counts[u] * counts[v] for u, v in edges]
        self.states = np.array(list(itertools.product(*map(range, self.cards))))
        self.n_weights = sum(self.blocks)
        self.n_biases = len(self.answers) * max(self.cards)

    def statistics(self, states, y):
        """What `theta` multiplies, (m, P + a K + c), of `states` (m, a) and deviations (m, c)."""
        features = {i: y[:, [k]] for k, i in enumerate(self.measured)}
        for k, i in enumerate(self.answers):
            features[i] = features_of(self.kinds[i], self.n_states[i]).T[states[:, k]]
        pairs = [
            np.einsum("mk,ml->mkl", features[u], features[v]).reshape(len(y), -1) for u, v in self.edges
        ]
        of_states = [states[:, [k]] == np.arange(max(self.cards)) for k in range(len(self.answers))]
        return np.hstack([*pairs, *of_states, -0.5 * y**2])

    def rows(self, x, mean=0.0, scale=1.0):
        """`statistics` of the rows `x` (n, d)."""
        y = (x[:, self.measured] - mean) / scale
        return self.statistics(x[:, self.answers].astype(int), y)

    def conditional(self, theta):
        """Log weights (Q, m) of all `states`, means (Q, m, c) given them, covariance (Q, c, c); least (Q,).

        The last is the least eigenvalue of K: where it is not positive the rest has no meaning. The exponent
        is quadratic in the deviations, and is so known from its values in a few places.
        """
        c, unit = len(self.measured), np.eye(len(self.measured))

        def exponent(y):
            return theta @ self.statistics(self.states, np.tile(y, (len(self.states), 1))).T

        at_zero = exponent(np.zeros(c))
        slope = np.zeros((*at_zero.shape, c))
        K = np.zeros((len(theta), c, c))
        for i in range(c):
            slope[..., i] = 0.5 * (exponent(unit[i]) - exponent(-unit[i]))
            for j in range(c):
                cross = exponent(unit[i] + unit[j]) - exponent(unit[i]) - exponent(unit[j]) + at_zero
                K[:, i, j] = -cross[:, 0]
        least = np.linalg.eigvalsh(K)[:, 0] if c else np.ones(len(theta))
        S = np.linalg.inv(np.where((least > 0)[:, None, None], K, np.eye(c)))
        means = np.einsum("qij,qmj->qmi", S, slope)
        volume = 0.5 * np.linalg.slogdet(2 * np.pi * S)[1] if c else 0.0
        weights = at_zero + 0.5 * (means * slope).sum(axis=2) + np.reshape(volume, (-1, 1))
        return weights, means, S, least

    def log_normaliser(self, theta):
        """Logs (Q,) of the normalisers at `theta` (Q, P + a K + c); infinite outside of the cone."""
        weights, _, _, least = self.conditional(theta)
        return np.where(least > 0, special.logsumexp(weights, axis=1), np.inf)

    def log_normaliser_on_grid(self, theta, reach=12.0, n=241):
        """The same of one `theta`, by a sum over a grid of the deviations, which knows no formula."""
        c, t = len(self.measured), np.linspace(-reach, reach, n)
        y = t[np.indices((n,) * c).reshape(c, n**c).T]
        of_states = [
            special.logsumexp(self.statistics(np.tile(s, (len(y), 1)), y) @ theta) for s in self.states
        ]
        return special.logsumexp(of_states) + c * np.log(t[1] - t[0])

    def log_density(self, x, theta, mean=0.0, scale=1.0):
        """Log density of every row of `x` (n, d), in its units."""
        units = np.log(np.broadcast_to(scale, len(self.measured))).sum()
        return self.rows(x, mean, scale) @ theta - self.log_normaliser(theta[None])[0] - units

    def moments(self, theta):
        """Mean (a K + c,) and covariance of the indicators of states and of the deviations."""
        weights, means, S, _ = (found[0] for found in self.conditional(theta[None]))
        p = special.softmax(weights)
        where = self.statistics(self.states, np.zeros((len(p), len(self.measured))))
        values = np.hstack([where[:, self.n_weights :][:, : self.n_biases], means])
        mean = p @ values
        covariance = (values * p[:, None]).T @ values - np.outer(mean, mean)
        covariance[self.n_biases :, self.n_biases :] += S
        return mean, covariance

    def log_likelihood_of(self, x, likelihood="exact", mean=0.0, scale=1.0, weight=0.5):
        """Log-likelihood as a function of parameters (Q, P + a K + c), of which the last are logs.

        "exact", or "pseudo": that of each answer and each measurement given all else, times `weight` if the
        node has edges. The log density of a measurement is quadratic in it, and so is known from three
        values.
        """
        statistics = self.rows(x, mean, scale)
        first, states = self.n_weights + self.n_biases, x[:, self.answers].astype(int)
        y = (x[:, self.measured] - mean) / scale
        others = []  # statistics of each answer in all its states, the rest as it is
        for i, k in enumerate(self.cards):
            rows = np.repeat(states, k, axis=0)
            rows[:, i] = np.tile(np.arange(k), len(x))
            others.append((k, self.statistics(rows, np.repeat(y, k, axis=0))))
        powers = np.where(np.isin(np.arange(len(self.kinds)), self.edges), weight, 1.0)
        at_three = []  # statistics with each measurement at -1, 0 and 1
        for j in range(len(self.measured)):
            moved = np.repeat(y, 3, axis=0)
            moved[:, j] = np.tile([-1.0, 0.0, 1.0], len(y))
            at_three.append(self.statistics(np.repeat(states, 3, axis=0), moved))

        def value(parameters):
            theta = parameters.copy()
            theta[:, first:] = np.exp(theta[:, first:])
            weights, _, _, least = self.conditional(theta)
            if likelihood == "exact":
                inside = theta @ statistics.sum(axis=0) - len(x) * special.logsumexp(weights, axis=1)
            else:
                inside = powers.sum() * theta @ statistics.sum(axis=0)
                for i, (k, rows) in zip(self.answers, others, strict=True):
                    scores = (theta @ rows.T).reshape(len(theta), len(x), k)
                    inside -= powers[i] * special.logsumexp(scores, axis=2).sum(axis=1)
                for i, rows in zip(self.measured, at_three, strict=True):
                    low, zero, high = (theta @ rows.T).reshape(len(theta), len(x), 3).transpose(2, 0, 1)
                    slope, precision = 0.5 * (high - low), 2.0 * zero - high - low
                    log_sum = zero + 0.5 * slope**2 / precision + 0.5 * np.log(2 * np.pi / precision)
                    inside -= powers[i] * log_sum.sum(axis=1)
            # outside of the cone nothing, for whoever climbs there from inside
            return np.where(least > 0, inside, 1e4 * (least - 1.0))

        def in_pieces(parameters):
            pieces = np.array_split(parameters, -(-len(parameters) // 2000))
            return np.concatenate([value(piece) for piece in pieces])

        return in_pieces

    def log_likelihood_of_seen(self, x):
        """The exact one of the cells of `x` that are not NaN, the others summed and integrated out."""
        first = self.n_weights + self.n_biases

        def value(parameters):
            theta = parameters.copy()
            theta[:, first:] = np.exp(theta[:, first:])
            weights, means, S, _ = self.conditional(theta)
            weights = weights - special.logsumexp(weights, axis=1, keepdims=True)
            total = 0.0
            for row in x:
                answers, y = row[self.answers], row[self.measured]
                possible = (np.isnan(answers) | (self.states == answers)).all(axis=1)
                seen = np.flatnonzero(~np.isnan(y))
                gap = y[seen] - means[:, possible][..., seen]
                C = S[:, seen[:, None], seen]
                whitened = np.linalg.solve(C[:, None], gap[..., None])[..., 0]
                log_density = -0.5 * (gap * whitened).sum(axis=2)
                log_density -= 0.5 * np.linalg.slogdet(2 * np.pi * C)[1][:, None]
                total = total + special.logsumexp(weights[:, possible] + log_density, axis=1)
            return total

        return value
