"""Version stamps for PyTensor's numba cache, which does not see the source of our kernels."""

import hashlib
import inspect
from types import ModuleType


def source_version(*modules: ModuleType) -> int:
    """Integer that changes whenever the source of one of the modules changes."""
    digest = hashlib.sha256()
    for module in modules:
        digest.update(inspect.getsource(module).encode())
    return int.from_bytes(digest.digest()[:7], "big")
