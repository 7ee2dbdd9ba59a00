"""What nobody may change: arrays, also after they have been sent to another process, and graphs."""

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np


def read_only(kind: type, *fields: Any) -> Any:
    """Named tuple of arrays, or of such tuples, all of them read-only from now on.

    NumPy pickles an array without that mark. To numba it is part of the type: a copy of a step would
    compile all of its kernels once more. Named tuples are therefore pickled as calls of this function.
    """
    for value in fields:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return kind(*fields)


class Frozen(ABC):
    """Attributes cannot be set, and objects are equal exactly if their `digest` is.

    Subclasses tell the digest in ``repr``: PyTensor's compilation cache keys on it.
    """

    def _hold(self, **attributes: Any) -> None:
        """Take over attributes; nobody may write to arrays from now on."""
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(attributes)

    @abstractmethod
    def _content(self) -> bytes:
        """Return all that makes objects differ."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal exactly for equal objects."""
        return hashlib.sha256(self._content()).hexdigest()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; build a new one instead")

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.digest == other.digest


class LabelledGraph(Frozen):
    """Base of graphs with labels of nodes in an order, and edges in an order.

    `nodes` tuple of d hashables. `edges` (r, 2) int64: positions in `nodes` of the two nodes of each
    edge.
    """

    nodes: tuple[Any, ...]
    edges: np.ndarray

    @property
    def n_nodes(self) -> int:
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        return len(self.edges)
