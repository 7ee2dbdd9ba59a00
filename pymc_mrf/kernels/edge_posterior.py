"""Draws from one-dimensional densities given as Legendre series on panels.

A density is a list of panels [a, b]; on each it is a polynomial, sum_k c_k P_k(t) with t in [-1, 1].
"""

from pymc_mrf.kernels._jit import jit


@jit
def legendre_cdf(c, t):
    """Integral of sum_k c_k P_k from -1 to t, by (P_{k+1} - P_{k-1}) / (2 k + 1)."""
    total = c[0] * (t + 1.0)
    before, here = 1.0, t
    for k in range(1, c.shape[0]):
        after = ((2 * k + 1) * t * here - k * before) / (k + 1)
        total += c[k] * (after - before) / (2 * k + 1)
        before, here = here, after
    return total


@jit
def draw_from_panels(which, ptr, lower, upper, mass, coefficients, rng, out):
    """Draw ``out[i]`` from density ``which[i]`` for every i.

    Parameters
    ----------
    which : (m,) int64 array
    ptr : (q + 1,) int64 array
        Density j owns the panels ptr[j]..ptr[j + 1] - 1.
    lower, upper, mass : (p,) arrays
    coefficients : (p, n_nodes) array
    rng : numpy.random.Generator
    out : (m,) array
    """
    for i in range(which.shape[0]):
        first, last = ptr[which[i]], ptr[which[i] + 1]
        total = 0.0
        for p in range(first, last):
            total += mass[p]
        u = rng.random() * total
        p = first
        while p < last - 1 and mass[p] <= u:
            u -= mass[p]
            p += 1
        c = coefficients[p]
        goal = min(u / mass[p], 1.0) * 2.0 * c[0]
        a, b = -1.0, 1.0
        for _ in range(50):
            t = 0.5 * (a + b)
            if legendre_cdf(c, t) < goal:
                a = t
            else:
                b = t
        out[i] = lower[p] + 0.5 * (upper[p] - lower[p]) * (1.0 + 0.5 * (a + b))
