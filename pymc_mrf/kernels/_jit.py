"""The one place for numba options: every kernel of the package is compiled by `jit`.

`fastmath` stays off, because log-domain kernels rely on infinities.
"""

from collections.abc import Callable
from typing import Any

from numba import njit


def jit(function: Callable) -> Any:
    """Compile `function` in nopython mode, cached on disk, without the GIL."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)
