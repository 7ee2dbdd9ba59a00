"""Kernels are kept where tests keep theirs."""

import tests.conftest  # noqa: F401 - sets variables that are read when NumPy and numba are imported
