"""PyTensor's numba backend: late registration of our Ops, version stamps for its cache."""

import hashlib
import inspect
from collections.abc import Callable
from types import ModuleType


def source_version(*modules: ModuleType) -> int:
    """Integer that changes whenever the source of one of the modules changes.

    The cache's own key does not see the source of the kernels that an implementation calls.
    """
    digest = hashlib.sha256()
    for module in modules:
        digest.update(inspect.getsource(module).encode())
    return int.from_bytes(digest.digest()[:7], "big")


on_first_use: list[Callable[[], None]] = []
"""Called when the first Op of the package is made or unpickled, and emptied: what is not needed before."""


class NumbaRegistered:
    """Op whose numba implementation is registered when the first instance is made or unpickled."""

    def __new__(cls, *args, **kwargs):
        """Import the implementations, then make the instance."""
        import pymc_mrf.distributions.numba_dispatch  # noqa: F401

        while on_first_use:
            on_first_use.pop()()
        return super().__new__(cls)
