"""L-BFGS-B, as all estimates of this package use it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def minimise(
    objective: Callable[..., tuple[float, np.ndarray]], start: np.ndarray, **options: Any
) -> Any:
    """Minimise a function of `start` (p,) that returns its value and gradient (p,).

    All on one thread of BLAS: the optimiser solves systems of a few rows, which keep the others spinning. On
    two busy cores that took two thirds of the time of a fit.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As of `scipy.optimize.minimize`, whose other arguments `options` are.
    """
    from scipy.optimize import minimize

    with _thread_pools().limit(limits=1, user_api="blas"):
        return minimize(objective, start, jac=True, method="L-BFGS-B", **options)


@cache
def _thread_pools() -> Any:
    """Find the libraries that have threads, which takes 10 ms."""
    import scipy.linalg  # noqa: F401 - it has a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
