"""Arrays of several shapes, one after the other in one vector."""

from collections.abc import Iterable
from itertools import accumulate
from math import prod

import numpy as np


class Parts:
    """Where arrays are in a vector that holds them one after the other.

    Parameters
    ----------
    shapes : iterable of tuple of int

    Attributes
    ----------
    size : int
        Length of the vector.
    """

    def __init__(self, shapes: Iterable[tuple[int, ...]]) -> None:
        shapes = [tuple(int(n) for n in shape) for shape in shapes]
        ends = [0, *accumulate(map(prod, shapes))]
        self.size = ends[-1]
        self._places = [
            (slice(start, end), shape)
            for start, end, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
        ]

    def of(self, vector: np.ndarray) -> list[np.ndarray]:
        """Return the arrays in a vector (size,): views."""
        return [vector[own].reshape(shape) for own, shape in self._places]
