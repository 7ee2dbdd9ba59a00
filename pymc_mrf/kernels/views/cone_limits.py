"""Limits of one weight between measurements, within the cone of positive definite precisions.

An edge whose absence, given all others, would leave the cone is present for certain. Its ratios to absence
are infinite: in their place stands `ABSENT`, a number, so that ratios of two values of the edge are as they
are.

In all functions `look` is a record that begins with `LIMITS`, of the edge that is looked at.
"""

from pymc_mrf.kernels._jit import lean

ABSENT = -1e9
"""Log prior of absence outside the cone; two log ratios that it is part of differ right to some 1e-7."""

INNER = 0.95
"""Share of the way from the middle of the cone to its ends within which proposals follow the likelihood;
beyond they follow the parabola that touches it there."""

LIMITS = [("low", float), ("high", float), ("may_end", bool)]
"""Lowest and highest value within the cone, and whether the edge may be absent."""


@lean
def origin(look):
    """Return the value that those of the edge are relative to: absence if it may be absent."""
    return 0.0 if look.may_end else 0.5 * (look.low + look.high)


@lean
def brought_within(look, x):
    """Return the value next to `x` from the middle of the cone to `INNER` of the way to its ends."""
    middle, reach = 0.5 * (look.low + look.high), 0.5 * INNER * (look.high - look.low)
    return min(max(x, middle - reach), middle + reach)
