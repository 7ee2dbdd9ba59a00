"""The posterior of one edge parameter, all others fixed: its integral and draws from it.

The density over eta is exp(l(eta)) h(eta): l is the edge's log-likelihood by identity (A1), and log h,
the log density of the base measure, is given as Legendre series on panels. The range is cut into
panels on which the product is a Legendre series too, halved until the last coefficients are
negligible; the series yield the integral and, by inversion of their antiderivative, exact draws.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit

N_NODES = 16
NODES, _WEIGHTS = np.polynomial.legendre.leggauss(N_NODES)
# column k maps values at the nodes to the coefficient of P_k
TO_COEFFICIENTS = (
    np.polynomial.legendre.legvander(NODES, N_NODES - 1)
    * _WEIGHTS[:, None]
    * (2 * np.arange(N_NODES) + 1)
    / 2
)
TOLERANCE = 1e-9  # of the last coefficients, relative to the integral
NARROW = 1e-10  # panels are not halved below this width (relative beyond 1): kinks, jumps
NEGLIGIBLE = 60.0  # panels this far below the maximum, in logs, are dropped
MAX_PANELS = 2048
MAX_EVALUATIONS = 20_000
PEAK = (
    8.0  # standard deviations of the likelihood on either side of its mode that get panels of their own
)
_RECIPROCALS = 1.0 / np.arange(1, 2 * N_NODES + 2)  # 1 / k at k - 1: divisions are slow


class Series(NamedTuple):
    """A function given by Legendre series on panels.

    Attributes
    ----------
    lower, upper : (p,) arrays
        Ends of the panels, in increasing order for a base density.
    coefficients : (p, N_NODES) array
        Of P_k(t), t in [-1, 1] on each panel.
    ceiling : (p,) array
        Upper bound of the function on each panel.
    """

    lower: np.ndarray
    upper: np.ndarray
    coefficients: np.ndarray
    ceiling: np.ndarray


class EdgeWork(NamedTuple):
    """Room for the panels of one edge's posterior: the first ``n_panels[0]`` are in use."""

    n_panels: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    log_mass: np.ndarray
    coefficients: np.ndarray
    stack: np.ndarray
    value: np.ndarray


def allocate_edge_work():
    """Working arrays for `integrate_edge` and `draw_edge`."""
    return EdgeWork(
        np.zeros(1, dtype=np.int64),
        np.zeros(MAX_PANELS),
        np.zeros(MAX_PANELS),
        np.zeros(MAX_PANELS),
        np.zeros((MAX_PANELS, N_NODES)),
        np.zeros((MAX_PANELS, 3)),
        np.zeros(N_NODES),
    )


@jit
def edge_log_likelihood(eta, s, n, lam):
    """l(eta) = s eta - n log(1 + exp(eta + lam)), identity (A1) with lam = logit(mu) at eta = 0.

    Up to the constant n log(1 - mu_0), which is the same for every value of this edge's parameter.
    """
    z = eta + lam
    if z > 0.0:  # written so that s = n does not cancel
        return -(n - s) * eta - n * lam - n * np.log1p(np.exp(-z))
    return s * eta - n * np.log1p(np.exp(z))


@jit
def legendre_sum(c, t):
    """sum_k c_k P_k(t)."""
    before, here = 1.0, t
    total = c[0] + c[1] * t
    for k in range(1, c.shape[0] - 1):
        before, here = here, ((2 * k + 1) * t * here - k * before) * _RECIPROCALS[k]
        total += c[k + 1] * here
    return total


@jit
def legendre_cdf(c, t):
    """Integral of sum_k c_k P_k from -1 to t, by (P_{k+1} - P_{k-1}) / (2 k + 1)."""
    total = c[0] * (t + 1.0)
    before, here = 1.0, t
    for k in range(1, c.shape[0]):
        after = ((2 * k + 1) * t * here - k * before) * _RECIPROCALS[k]
        total += c[k] * (after - before) * _RECIPROCALS[2 * k]
        before, here = here, after
    return total


@jit
def series_value(base, eta):
    """Value of a Series at `eta`, -inf outside its panels."""
    p = np.searchsorted(base.lower, eta, side="right") - 1
    if p < 0 or eta > base.upper[p]:
        return -np.inf
    t = 2.0 * (eta - base.lower[p]) / (base.upper[p] - base.lower[p]) - 1.0
    return legendre_sum(base.coefficients[p], t)


@jit
def evaluate_panel(a, b, p, s, n, lam, base, value):
    """Log integrand at the nodes of [a, b], inside base panel p; maximum and largest jump."""
    low, scale = base.lower[p], 2.0 / (base.upper[p] - base.lower[p])
    top, jump = -np.inf, 0.0
    for i in range(N_NODES):
        eta = a + 0.5 * (b - a) * (1.0 + NODES[i])
        t = min(max(scale * (eta - low) - 1.0, -1.0), 1.0)
        value[i] = edge_log_likelihood(eta, s, n, lam) + legendre_sum(base.coefficients[p], t)
        top = max(top, value[i])
        if i > 0:
            jump = max(jump, abs(value[i] - value[i - 1]))
    return top, jump


@jit
def integrate_edge(s, n, lam, base, work):
    """Log of the integral of exp(l) h; leaves the panels in `work`.

    `s`, `n`, `lam` as in `edge_log_likelihood`; `base` is the Series of log h. The relative error is
    below 1e-8, or 1e-14 n (1 + |lam|) where that is more. NaN if `lam` is not finite or the panels do
    not suffice: a base density without end of kinks.
    """
    value, stack = work.value, work.stack
    tolerance = TOLERANCE + 1e-15 * n * (1.0 + abs(lam))  # rounding of l itself
    if base.lower.shape[0] + 3 > MAX_PANELS or not np.isfinite(lam):
        return np.nan
    # l is concave: its value anywhere bounds the maximum from below, its mode bounds each panel
    p1 = (s + 0.5) / (n + 1.0)
    mode = np.log(p1) - np.log1p(-p1) - lam
    reach = PEAK / np.sqrt((n + 1.0) * p1 * (1.0 - p1))
    inside = min(max(mode, base.lower[0]), base.upper[-1])
    highest = edge_log_likelihood(inside, s, n, lam) + series_value(base, inside)
    n_stack, best, best_top = 0, 0, -np.inf
    for p in range(base.lower.shape[0]):
        a, b = base.lower[p], base.upper[p]
        bound = edge_log_likelihood(min(max(mode, a), b), s, n, lam) + base.ceiling[p]
        if bound < highest - NEGLIGIBLE - 1.0:  # the mode above is smoothed, by less than 1
            continue
        # a peak narrower than the distance between nodes must not hide between them
        for cut in (mode - reach, mode, mode + reach):
            if a < cut < b:
                stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2] = a, cut, p
                n_stack += 1
                a = cut
        stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2] = a, b, p
        n_stack += 1
    for i in range(n_stack):
        a, b, p = stack[i, 0], stack[i, 1], int(stack[i, 2])
        top, _ = evaluate_panel(a, b, p, s, n, lam, base, value)
        if top > best_top:
            best, best_top = i, top
    # the highest panel goes first: later ones are compared with its mass
    for k in range(3):
        stack[best, k], stack[n_stack - 1, k] = stack[n_stack - 1, k], stack[best, k]
    log_total = -np.inf
    count = 0
    n_evaluations = 0
    while n_stack > 0:
        n_stack -= 1
        n_evaluations += 1
        a, b, p = stack[n_stack, 0], stack[n_stack, 1], int(stack[n_stack, 2])
        top, jump = evaluate_panel(a, b, p, s, n, lam, base, value)
        if np.isnan(top) or np.isnan(jump) or n_evaluations > MAX_EVALUATIONS:
            return np.nan
        highest = max(highest, top)
        # a peak between two nodes rises above them by less than the values change from node to node
        if top + jump < highest - NEGLIGIBLE:
            continue
        c = work.coefficients[count]
        c[:] = 0.0
        for i in range(N_NODES):
            f = np.exp(value[i] - top)
            for k in range(N_NODES):
                c[k] += f * TO_COEFFICIENTS[i, k]
        tail = abs(c[-1]) + abs(c[-2]) + abs(c[-3])
        bound = top + jump + np.log(b - a)
        small = tail <= tolerance * c[0] or bound < log_total + np.log(tolerance)
        if not small and b - a > NARROW * (1.0 + abs(a)):
            if n_stack + 2 > MAX_PANELS or count + 1 >= MAX_PANELS:
                return np.nan
            middle = 0.5 * (a + b)
            stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2] = a, middle, p
            n_stack += 1
            stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2] = middle, b, p
            n_stack += 1
            continue
        if c[0] > 0.0 and top > -np.inf:
            if count + 1 >= MAX_PANELS:
                return np.nan
            work.lower[count], work.upper[count] = a, b
            log_mass = top + np.log((b - a) * c[0])
            work.log_mass[count] = log_mass
            high = max(log_total, log_mass)
            log_total = high + np.log(np.exp(log_total - high) + np.exp(log_mass - high))
            count += 1
    work.n_panels[0] = count
    return log_total


@jit
def draw_edge(log_total, work, rng):
    """After `integrate_edge`, which returned `log_total`: a draw of eta."""
    count = work.n_panels[0]
    u = rng.random()
    chosen = count - 1
    for p in range(count):
        mass = np.exp(work.log_mass[p] - log_total)
        if u < mass:
            chosen = p
            break
        u -= mass
    c = work.coefficients[chosen]
    goal = rng.random() * 2.0 * c[0]
    a, b = -1.0, 1.0
    for _ in range(50):
        t = 0.5 * (a + b)
        if legendre_cdf(c, t) < goal:
            a = t
        else:
            b = t
    low, high = work.lower[chosen], work.upper[chosen]
    return low + 0.5 * (high - low) * (1.0 + 0.5 * (a + b))


@jit
def edge_posteriors(s, n, lam, base, work, rng, log_integral, eta):
    """Integral and a draw for each of many edges; `s`, `n`, `lam` (r,) into the outputs (r,)."""
    for e in range(s.shape[0]):
        log_integral[e] = integrate_edge(s[e], n[e], lam[e], base, work)
        eta[e] = draw_edge(log_integral[e], work, rng)
