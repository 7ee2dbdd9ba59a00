"""Log `scores` (K,) of the states of one variable: largest, sums, probabilities, draw."""

import numpy as np

from pymc_mrf.kernels._jit import jit, lean, part


@part
def log_add(x, y):
    """log(exp(x) + exp(y)) of two scores, right for infinite ones; np.logaddexp takes a third more time."""
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@jit
def largest_score(scores):
    top = -np.inf
    for a in range(scores.shape[0]):
        top = max(top, scores[a])
    return top


@jit
def log_sum(scores):
    """Log of the sum of exp(scores) (K,)."""
    top = largest_score(scores)
    if top == -np.inf:
        return top
    total = 0.0
    for a in range(scores.shape[0]):
        total += np.exp(scores[a] - top)
    return top + np.log(total)


@jit
def normalise(scores):
    """Turn `scores` (K,) into probabilities in place; return the log of the sum of their exponentials."""
    top = largest_score(scores)
    total = 0.0
    for a in range(scores.shape[0]):
        scores[a] = np.exp(scores[a] - top)
        total += scores[a]
    for a in range(scores.shape[0]):
        scores[a] /= total
    return top + np.log(total)


@lean
def normalise_logs(scores):
    """Divide the probabilities whose logs are `scores` (K,) by their sum."""
    total = log_sum(scores)
    for a in range(scores.shape[0]):
        scores[a] -= total


@lean
def fill_factors(x, c, out):
    """Fill `out` (K,) with exp(x c), `c` (K,), divided by the largest of them, whose log is returned."""
    top = x * c[0]
    for k in range(1, c.shape[0]):
        top = max(top, x * c[k])
    for k in range(c.shape[0]):
        out[k] = np.exp(x * c[k] - top)
    return top


@lean
def tilted_mean(p, c, x):
    """Log of the sum of `p` (K,) times exp(x c), `c` (K,), and the mean of c under these weights."""
    top = -np.inf
    for k in range(c.shape[0]):
        top = max(top, x * c[k])
    norm, mean = 0.0, 0.0
    for k in range(c.shape[0]):
        weight = p[k] * np.exp(x * c[k] - top)
        norm += weight
        mean += weight * c[k]
    return top + np.log(norm), mean / norm


@lean
def pair_terms(x, log_p, c, s, n):
    """Log-likelihood gained by moving an edge from 0 to x, its slope and information there.

    `log_p` (K K,): normalised log probabilities of the pair at 0; `c` (K K,): the edge's statistic, whose
    sum over n rows is s.
    """
    top = -np.inf
    for k in range(c.shape[0]):
        top = max(top, log_p[k] + x * c[k])
    z, first, second = 0.0, 0.0, 0.0
    for k in range(c.shape[0]):
        p = np.exp(log_p[k] + x * c[k] - top)
        z += p
        first += p * c[k]
        second += p * c[k] * c[k]
    first /= z
    second /= z
    return x * s - n * (top + np.log(z)), s - n * first, n * max(second - first * first, 0.0)


@part
def draw_state(scores, rng):
    """Draw a state with probability proportional to exp(scores) (K,); the scores are lost."""
    top = largest_score(scores)
    total = 0.0
    for a in range(scores.shape[0]):
        total += np.exp(scores[a] - top)
        scores[a] = total
    u = rng.random() * total
    state = 0
    while state < scores.shape[0] - 1 and scores[state] <= u:
        state += 1
    return state
