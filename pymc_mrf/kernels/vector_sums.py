"""Sums over arrays of rows, configurations or particles, and an exponential, in loops that are vectorised."""

import numpy as np

from pymc_mrf.kernels._jit import finite, jit, lean, lean_summing, part, summing

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


_MANTISSA, _ONE = 2**52 - 1, 1023 << 52
_TO_FLOAT = 1075 << 52  # bits of 2^52: with an integer below it in the low ones, their sum
_SQRT2, _LN2 = 1.4142135623730951, 0.6931471805599453


@jit
def log_from_one(y):
    """log(y), y in [1e-305, 1e300], to 5e-16, or this share of it if it is larger; finite if y is not."""
    bits = np.float64(y).view(np.int64)
    n = np.int64((bits >> 52) | _TO_FLOAT).view(np.float64) - (2.0**52 + 1023.0)
    m = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
    up = 1.0 if m > _SQRT2 else 0.0
    s = (m - 1.0 - up) / (m + 1.0 + up)  # of 1 - s to 1 + s, |s| <= 0.172
    q = s * s
    p = 1.0 / 15.0 + q * (1.0 / 17.0)
    p = 1.0 / 13.0 + q * p
    p = 1.0 / 11.0 + q * p
    p = 1.0 / 9.0 + q * p
    p = 1.0 / 7.0 + q * p
    p = 1.0 / 5.0 + q * p
    p = 1.0 / 3.0 + q * p
    return (n + up) * _LN2 + 2.0 * (s + s * (q * p))


@summing
def dot(a, b):
    """Inner product of `a` and `b` (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@summing
def pair_dot(a, b, c, d):
    """Sum of two inner products, a . b + c . d, of `a`, `b`, `c` and `d`, all (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] + c[j] * d[j]
    return s


@summing
def centred_dot(a, b, m):
    """Inner product a . (b - m) of `a` and `b`, both (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (b[j] - m)
    return s


@summing
def centred_pair_dot(a, b, m, c, d, n):
    """Sum of two inner products, a . (b - m) + c . (d - n), of `a`, `b`, `c` and `d`, all (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (b[j] - m) + c[j] * (d[j] - n)
    return s


@summing
def dot_square(a, b, m):
    """Sum of a (b - m)^2 over the entries of `a` and `b` (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * ((b[j] - m) * (b[j] - m))
    return s


@summing
def dot_two(a, b, x):
    """Inner products of `a` and `b` (N,) with `x` (N,)."""
    s, t = 0.0, 0.0
    for j in range(x.shape[0]):
        s += a[j] * x[j]
        t += b[j] * x[j]
    return s, t


@summing
def total(a):
    """Sum of an array `a` (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j]
    return s


@summing
def dot_positive(a, b):
    """Sum of a max(b, 0) over the entries of `a` and `b` (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (b[j] if b[j] > 0.0 else 0.0)
    return s


@summing
def dot_three(a, b, c):
    """Sum of the products of `a`, `b` and `c`, all (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j] * c[j]
    return s


@lean_summing
def weighted_logs(a, y):
    """Sum of a log(y) over the entries of `a` and `y` (N,), y >= 1."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * (log_from_one(y[j]) + 0.0 * y[j])  # NaN stays NaN
    return s


@finite
def largest(a):
    """Largest entry of an array `a` (N,), any if there is NaN; the method of arrays allocates memory."""
    top = a[0]
    for j in range(1, a.shape[0]):
        top = max(top, a[j])
    return top


@lean
def normalise_log_weights(p):
    """Turn log weights `p` (N,) into probabilities; return the log of their sum."""
    top = largest(p)
    for s in range(p.shape[0]):
        p[s] = exp_negative(max(p[s] - top, LOWEST))
    mass = total(p)
    scale = 1.0 / mass
    for s in range(p.shape[0]):
        p[s] *= scale
    return top + np.log(mass)


@summing
def product(a):
    """Product of an array `a` (N,)."""
    s = 1.0
    for j in range(a.shape[0]):
        s *= a[j]
    return s


BLOCK = 64  # entries that are looked at together


@summing
def total_size(a):
    """Sum of the sizes of the entries of `a` (N,)."""
    s = 0.0
    for j in range(a.shape[0]):
        s += abs(a[j])
    return s


@lean
def next_nonzero(a, j):
    """Return the first place from j on at which `a` (N,) is not 0; N if there is none."""
    while j < a.shape[0] and a[j] == 0.0:
        if j % BLOCK == 0 and total_size(a[j : j + BLOCK]) == 0.0:
            j = min(j + BLOCK, a.shape[0])
        else:
            j += 1
    return j


@part
def copy(source, target):
    """Copy `source` (N,) to `target` (N,), as slices do, but for them numba allocates memory."""
    for j in range(target.shape[0]):
        target[j] = source[j]


@part
def add_multiple(factor, source, target):
    """Add `factor` times `source` (N,) to `target` (N,)."""
    for j in range(target.shape[0]):
        target[j] += factor * source[j]
