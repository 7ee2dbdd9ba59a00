"""Derivatives by finite differences."""

from collections.abc import Callable

import numpy as np

STEP = 1e-5
N_DIRECTIONS = 3  # an entry that is wrong shows in each


def assert_gradients(f: Callable, point: list[np.ndarray]) -> None:
    """Check that `f`, which returns a number and its gradients by all its arguments, is right at `point`.

    By the slopes along random directions of each argument.
    """
    rng = np.random.default_rng(1)
    _, *gradients = f(*point)
    for i, gradient in enumerate(gradients):
        for _ in range(N_DIRECTIONS):
            direction = rng.normal(size=np.shape(point[i]))
            up, down = (
                f(*point[:i], point[i] + move * direction, *point[i + 1 :])[0] for move in (STEP, -STEP)
            )
            slope = (gradient * direction).sum()
            np.testing.assert_allclose(slope, (up - down) / (2 * STEP), rtol=1e-6, atol=1e-7)
