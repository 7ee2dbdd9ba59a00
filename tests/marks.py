"""Cases of a test that are left to `make test-slow`: some by `slow`, most by ``pytest.mark.ordinary``."""

from typing import Any

import pytest

NOT_FOUND = pytest.StashKey[dict[str, set[str]]]()
"""Names of cases in marks `ordinary` of which none was collected, by test."""


def slow(*values: Any, id: str | None = None) -> Any:
    """Case of `pytest.mark.parametrize` that is slow, where others are not."""
    return pytest.param(*values, id=id, marks=pytest.mark.slow)
