"""The one place for numba options: kernels are compiled by `jit`, or else by one of the others.

`fastmath` stays off in `jit`, because log-domain kernels rely on infinities.
"""

from collections.abc import Callable
from typing import Any

from numba import njit


def jit(function: Callable) -> Any:
    """Compile `function` in nopython mode, cached on disk, without the GIL."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def inlined(function: Callable) -> Any:
    """Compile `function` as part of its callers: a call with many arrays takes some hundred nanoseconds."""
    return njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)


def summing(function: Callable) -> Any:
    """Compile a sum over an array, in any order, so that it is vectorised; infinities stay infinite."""
    return njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(
        function
    )


_LEAN: dict[str, Any] = dict(cache=True, nogil=True, error_model="numpy", _nrt=False)


def lean(function: Callable) -> Any:
    """Compile `function` without counting references, some 10 ns per array and call; it must not allocate."""
    return njit(**_LEAN)(function)


def lean_summing(function: Callable) -> Any:
    """Compile as `lean` and `summing` do."""
    return njit(**_LEAN, fastmath={"reassoc", "contract", "nsz"})(function)


def part(function: Callable) -> Any:
    """Compile `function` as a part of each caller, by the caller's rules.

    A kernel of its own is optimised and emitted once more in every kernel above it: deep chains of calls
    take long to compile.
    """
    return njit(**_LEAN, inline="always")(function)


def finite(function: Callable) -> Any:
    """Compile as `lean` a minimum or maximum over an array that holds no NaN, so that it is vectorised."""
    return njit(**_LEAN, fastmath={"nsz", "nnan"})(function)
