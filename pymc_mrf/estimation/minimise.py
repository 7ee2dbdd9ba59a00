"""L-BFGS-B, as all estimates of this package use it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_mrf.threads import one_thread


def minimise(
    objective: Callable[..., tuple[float, np.ndarray]], start: np.ndarray, **options: Any
) -> Any:
    """Minimise a function of `start` (p,) that returns its value and gradient (p,).

    Returns scipy.optimize.OptimizeResult: as of `scipy.optimize.minimize`, whose other arguments
    `options` are.
    """
    from scipy.optimize import minimize

    with one_thread():
        return minimize(objective, start, jac=True, method="L-BFGS-B", **options)
