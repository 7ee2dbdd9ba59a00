"""`Frozen`: base of what describes the structure of a field."""

from abc import ABC, abstractmethod
from typing import Any


class Frozen(ABC):
    """Attributes cannot be set, and objects are equal exactly if their `digest` is.

    Subclasses write what they hold to ``__dict__``, and tell the digest in ``repr``: PyTensor's compilation
    cache keys on it.
    """

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of the content."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; build a new one instead")

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.digest == other.digest
