"""PyTensor's numba backend: late registration of our Ops, version stamps for its cache."""

import hashlib
import inspect
from types import ModuleType


def source_version(*modules: ModuleType) -> int:
    """Integer that changes whenever the source of one of the modules changes.

    The cache's own key does not see the source of the kernels that an implementation calls.
    """
    digest = hashlib.sha256()
    for module in modules:
        digest.update(inspect.getsource(module).encode())
    return int.from_bytes(digest.digest()[:7], "big")


class NumbaRegistered:
    """Op whose numba implementation is registered when the first instance is made or unpickled."""

    def __new__(cls, *args, **kwargs):
        """Import the implementations, then make the instance."""
        import pymc_mrf.distributions.numba_dispatch  # noqa: F401

        return super().__new__(cls)
