"""Cases of a test that are left to `make test-slow`."""

from typing import Any

import pytest


def slow(*values: Any, id: str | None = None) -> Any:
    """Case of `pytest.mark.parametrize` that is slow, where others are not."""
    return pytest.param(*values, id=id, marks=pytest.mark.slow)
