"""One thread of BLAS where systems are small, as in all estimates of this package."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

_lock = Lock()
_n_inside = 0
_limits: Any = None  # what the first inside has set, if anything, and the last takes back


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS have one thread for a while.

    Systems of a few hundred rows keep other threads spinning. On two busy cores that took two thirds of the
    time of an estimate, and 137 of 149 ms of a draw of 1,225 edges.

    The number is that of the process. Threads of Python that are here at once, as those of dask, would each
    give back what another has set.
    """
    global _n_inside, _limits
    with _lock:
        if _n_inside == 0:
            pools = _thread_pools()
            # as in most runs of PyMC; to limit them takes as long as a small step
            are_one = all(pool.get_num_threads() == 1 for pool in pools.lib_controllers)
            _limits = None if are_one else pools.limit(limits=1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0 and _limits is not None:
                _limits.restore_original_limits()


def minimise(
    objective: Callable[..., tuple[float, np.ndarray]], start: np.ndarray, **options: Any
) -> Any:
    """Minimise a function of `start` (p,) that returns its value and gradient (p,), by L-BFGS-B.

    Returns scipy.optimize.OptimizeResult: as of `scipy.optimize.minimize`, whose other arguments
    `options` are.
    """
    from scipy.optimize import minimize

    with one_thread():
        return minimize(objective, start, jac=True, method="L-BFGS-B", **options)


@cache
def _thread_pools() -> Any:
    """Find the libraries of linear algebra that have threads, which takes 10 ms."""
    import scipy.linalg  # noqa: F401 - it has a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
