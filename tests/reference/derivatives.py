"""Derivatives by finite differences."""

from collections.abc import Callable

import numpy as np

STEP = 1e-5


def assert_gradients(f: Callable, point: list[np.ndarray]) -> None:
    """Check that `f`, which returns a number and its gradients by all its arguments, is right at `point`."""
    _, *gradients = f(*point)
    for v, gradient in zip(point, gradients, strict=True):
        numeric = np.zeros(v.shape)
        for index in np.ndindex(v.shape):
            kept = v[index]
            v[index] = kept + STEP
            up = f(*point)[0]
            v[index] = kept - STEP
            numeric[index] = (up - f(*point)[0]) / (2 * STEP)
            v[index] = kept
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)
