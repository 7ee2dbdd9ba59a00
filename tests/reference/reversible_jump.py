"""Plain-Python twins of the moves of Chen & Welling (2012), for normal slabs, from the paper's formulas."""

import itertools
from functools import cache

import numpy as np
from scipy import special, stats


@cache  # scipy takes a millisecond to make one
def truncated_gaussian(mean, precision, width):
    """Eq. (13): the Gaussian on [-width, width], a frozen scipy distribution."""
    sd = precision**-0.5
    return stats.truncnorm((-width - mean) / sd, (width - mean) / sd, mean, sd)


def optimal_proposal(s, N, mean, variance, sigma, width):
    """Eq. (12)-(13): from moments of the feature at 0 and a slab N(0, sigma^2)."""
    precision = sigma**-2 + N * variance
    return truncated_gaussian((s - N * mean) / precision, precision, width)


def log_corrected_ratio(a, mean, variance, N, n):
    """Log of R~ below eq. (11)."""
    return np.log(
        np.exp(-N * a * mean - N * a**2 / 2 * variance) / (1 + N**2 * a**2 * variance / (2 * n))
    )


def add_probability(a, s, N, n, mean, variance, p0, sigma, width):
    """Q_add of eq. (8) with moments from n draws without the edge."""
    q = optimal_proposal(s, N, mean, variance, sigma, width)
    log_Q = a * s + log_corrected_ratio(a, mean, variance, N, n)
    log_Q += np.log(p0 / (1 - p0)) + stats.norm.logpdf(a, 0, sigma) - q.logpdf(a)
    return min(1.0, float(np.exp(log_Q)))


def delete_probability(a, s, N, n, mean, variance, p0, sigma, width):
    """Q_del of eq. (8) with moments from n draws with the edge at a (end of sec. 4.2)."""
    q = optimal_proposal(s, N, mean - a * variance, variance, sigma, width)
    log_inverse = -a * s + log_corrected_ratio(-a, mean, variance, N, n)
    log_inverse -= np.log(p0 / (1 - p0)) + stats.norm.logpdf(a, 0, sigma) - q.logpdf(a)
    return min(1.0, float(np.exp(log_inverse)))


class EnumeratedField:
    """Feature moments and log posterior of a small binary field with slab N(0, sigma^2)."""

    def __init__(self, x, edges, states, p0, sigma, bias):
        self.edges, self.N, self.p0, self.sigma = edges, len(x), p0, sigma
        configurations = np.array(list(itertools.product(states, repeat=x.shape[1])), dtype=float)
        self.f = self.features(configurations)
        self.s = self.features(x.astype(float)).sum(axis=0)
        self.bias = np.asarray(bias, dtype=float)

    def features(self, rows):
        return np.column_stack([*(rows[:, u] * rows[:, v] for u, v in self.edges), rows])

    def log_partition(self, w):
        return special.logsumexp(self.f @ np.concatenate([w, self.bias]))

    def moments(self, w):
        p = special.softmax(self.f @ np.concatenate([w, self.bias]))
        mean = p @ self.f
        return mean, p @ (self.f - mean) ** 2

    def log_posterior(self, w):
        value = np.concatenate([w, self.bias]) @ self.s - self.N * self.log_partition(w)
        present = w != 0
        value += np.where(present, np.log(self.p0), np.log1p(-self.p0)).sum()
        return value + stats.norm.logpdf(w[present], 0, self.sigma).sum()

    def gradient(self, w):
        """Eq. (5) for the edges."""
        r = len(self.edges)
        return self.s[:r] - self.N * self.moments(w)[0][:r] - w / self.sigma**2


def exact_jump(field, w, e, width, uniform, value, with_density=True):
    """One exact jump of edge e given a uniform number and the value to be added; the new w.

    `with_density=False` leaves q(a) out of eq. (8): a mistake.
    """
    without = np.array(w)
    without[e] = 0.0
    a = value if w[e] == 0 else w[e]
    if abs(a) > width:
        return np.array(w)
    added = np.array(without)
    added[e] = a
    log_Q = field.log_posterior(added) - field.log_posterior(without)
    if with_density:
        mean, variance = field.moments(without)
        q = optimal_proposal(field.s[e], field.N, mean[e], variance[e], field.sigma, width)
        log_Q -= q.logpdf(a)
    if w[e] == 0:
        return added if np.log(uniform) < log_Q else without
    return without if np.log(uniform) < -log_Q else np.array(w)


def leapfrog(field, w, p, H, step):
    """Eq. (4) with C = H^(-1/2) on the present edges."""
    w, p = np.array(w), np.array(p)
    C = np.where(w != 0, np.asarray(H) ** -0.5, 0.0)
    p = p + step / 2 * C * field.gradient(w)
    w = w + step * C * p
    return w, p + step / 2 * C * field.gradient(w)
