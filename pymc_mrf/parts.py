"""Arrays of several shapes, one after the other in one vector."""

from collections.abc import Iterable
from itertools import accumulate, pairwise
from math import prod

import numpy as np


class Parts:
    """Where arrays are in a vector that holds them one after the other.

    Attributes: `size`: length of the vector. `ends` (k + 1,) int64: array i is in entries ``ends[i] :
    ends[i + 1]``.
    """

    def __init__(self, shapes: Iterable[tuple[int, ...]]) -> None:
        shapes = [tuple(int(n) for n in shape) for shape in shapes]
        self.ends = np.array([0, *accumulate(map(prod, shapes))])
        self.size = int(self.ends[-1])
        cuts = pairwise(self.ends.tolist())
        self._places = [(slice(*cut), shape) for cut, shape in zip(cuts, shapes, strict=True)]

    def of(self, vector: np.ndarray) -> list[np.ndarray]:
        """Return the arrays in a vector (size,): views."""
        return [vector[own].reshape(shape) for own, shape in self._places]
