"""Whether what a function reads from a model has changed since it was last evaluated."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class PointInputs:
    """Entries of a point, and shared variables (``pm.Data``), that a compiled function reads.

    Parameters
    ----------
    names : iterable of str
        Entries of the point, compared by value.
    variables : iterable of Variable
        Variables on which the function depends. The shared ones among them are compared by
        identity: they get a new array when they are set.
    """

    def __init__(self, names: Iterable[str], variables: Iterable[Any]) -> None:
        self._names = list(names)
        self._shared = [v for v in variables if hasattr(v, "get_value")]
        self._values: list[np.ndarray] | None = None
        self._data: list = []

    def changed(self, point: Mapping[str, np.ndarray]) -> bool:
        """Whether anything differs from the call before; the first time, True."""
        data = [v.get_value(borrow=True) for v in self._shared]
        if (
            self._values is not None
            and all(a is b for a, b in zip(data, self._data, strict=True))
            and all(np.array_equal(v, point[k]) for v, k in zip(self._values, self._names, strict=True))
        ):
            return False
        self._values = [np.array(point[name]) for name in self._names]
        self._data = data
        return True
