"""Sums over arrays of rows, configurations or particles, and an exponential, in loops that are vectorised."""

import numpy as np

from pymc_mrf.kernels._jit import finite, jit, part, summing

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_MAGIC = 1.5 * 2.0**52  # adding it rounds to an integer, kept in the low bits
LOWEST = -700.0
"""Argument of `exp_negative` below which it is wrong."""


@jit
def exp_negative(x):
    """exp(x), x in [-700, 0], to 3e-13; free of branches and conversions, so that loops vectorise."""
    t = x * LOG2_E + _MAGIC
    n = t - _MAGIC
    r = (x - n * LN2_HIGH) - n * LN2_LOW  # |r| <= ln 2 / 2
    p = 1.0 / 362880.0 + r * (1.0 / 3628800.0)
    p = 1.0 / 40320.0 + r * p
    p = 1.0 / 5040.0 + r * p
    p = 1.0 / 720.0 + r * p
    p = 1.0 / 120.0 + r * p
    p = 1.0 / 24.0 + r * p
    p = 1.0 / 6.0 + r * p
    p = 0.5 + r * p
    p = 1.0 + r * p
    p = 1.0 + r * p
    bits = np.float64(t).view(np.int64) + 1023
    return p * np.int64(bits << 52).view(np.float64)


@summing
def dot(a, b):
    """Inner product."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@summing
def pair_dot(a, b, c, d):
    """Sum of two inner products, a . b + c . d."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] + c[j] * d[j]
    return s


@summing
def dot_square(a, b):
    """Sum of a b^2."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (b[j] * b[j])
    return s


@summing
def dot_two(a, b, x):
    """Inner products of a and b with x."""
    s, t = 0.0, 0.0
    for j in range(x.shape[0]):
        s += a[j] * x[j]
        t += b[j] * x[j]
    return s, t


@summing
def total(a):
    """Sum of an array."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j]
    return s


@summing
def total_positive(a):
    """Sum of max(a, 0)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] if a[j] > 0.0 else 0.0
    return s


@finite
def largest(a):
    """Largest entry of an array, any if there is NaN; the method of arrays allocates memory."""
    top = a[0]
    for j in range(1, a.shape[0]):
        top = max(top, a[j])
    return top


@summing
def product(a):
    """Product of an array."""
    s = 1.0
    for j in range(a.shape[0]):
        s *= a[j]
    return s


@jit
def copy_row(source, target, k):
    """Copy `source` (N,) to row k of `target` (., N); ten times as fast as by slices."""
    for j in range(target.shape[1]):
        target[k, j] = source[j]


@part
def copy(source, target):
    """Copy an array (N,) to another, as slices do, but for them numba allocates memory."""
    for j in range(target.shape[0]):
        target[j] = source[j]
