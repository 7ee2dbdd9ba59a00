"""One thread of BLAS where systems are small."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager:
    """Let BLAS have one thread for a while.

    Systems of a few hundred rows keep other threads spinning. On two busy cores that took two thirds of the
    time of an estimate, and 137 of 149 ms of a draw of 1,225 edges.
    """
    return _thread_pools().limit(limits=1, user_api="blas")


@cache
def _thread_pools() -> Any:
    """Find the libraries that have threads, which takes 10 ms."""
    import scipy.linalg  # noqa: F401 - it has a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
