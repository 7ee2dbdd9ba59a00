"""`FactorGraph`: the immutable structure of a field with cliques of any size."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.checks import sequence
from pymc_mrf.graph.frozen import Frozen

MAX_SCOPE = 10
"""Largest number of variables in one factor."""


class FactorGraph(Frozen):
    """Scopes of factors over variables 0..d-1 with given numbers of states, frozen.

    Parameters
    ----------
    scopes : iterable of sequences of int
        Variables of each factor, in the index order of its table: 1 to 10 of them, all different.
        Several factors may have the same scope.
    cardinalities : (d,) sequence of int
        Number of states of each variable, 2..127. A variable may be in no factor.

    Raises
    ------
    TypeError
        If a variable or a cardinality is not an integer.
    ValueError
        If there is no variable, a cardinality is out of range, a scope is empty, too large, names
        an unknown variable or one twice.

    Examples
    --------
    >>> FactorGraph([(0, 1, 2), (2, 3)], [2, 2, 3, 2]).table_shapes
    ((2, 2, 3), (3, 2))
    """

    scopes: tuple[tuple[int, ...], ...]
    cardinalities: tuple[int, ...]

    def __init__(self, scopes: Iterable[Sequence[int]], cardinalities: Sequence[int]) -> None:
        listed = sequence(cardinalities, "cardinalities", "numbers of states, one per variable")
        cards = tuple(_integer(k, f"cardinalities[{i}]") for i, k in enumerate(listed))
        if not cards:
            raise ValueError("cardinalities is empty; a field needs at least one variable")
        for i, k in enumerate(cards):
            if not 2 <= k <= 127:
                raise ValueError(f"cardinalities[{i}] must be between 2 and 127, not {k}")
        checked = []
        for f, scope in enumerate(sequence(scopes, "scopes", "sequences of variables")):
            scope = sequence(scope, f"scopes[{f}]", "variables")
            variables = tuple(_integer(v, f"scopes[{f}]") for v in scope)
            if not variables:
                raise ValueError(f"scopes[{f}] is empty; a factor needs at least one variable")
            if len(variables) > MAX_SCOPE:
                raise ValueError(
                    f"scopes[{f}] has {len(variables)} variables, more than the limit of "
                    f"{MAX_SCOPE}; split the factor, or introduce auxiliary variables"
                )
            for v in variables:
                if not 0 <= v < len(cards):
                    raise ValueError(
                        f"scopes[{f}] names variable {v}, but there are {len(cards)} variables "
                        f"(0..{len(cards) - 1}), one per entry of cardinalities"
                    )
            if len(set(variables)) != len(variables):
                raise ValueError(
                    f"scopes[{f}] = {variables} names a variable twice; keep the diagonal of its "
                    "table (numpy.diagonal) and name the variable once"
                )
            checked.append(variables)
        self.__dict__.update(scopes=tuple(checked), cardinalities=cards)

    @property
    def n_variables(self) -> int:
        """Number of variables d."""
        return len(self.cardinalities)

    @property
    def n_factors(self) -> int:
        """Number of factors."""
        return len(self.scopes)

    @property
    def table_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each factor's table."""
        return tuple(tuple(self.cardinalities[v] for v in scope) for scope in self.scopes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of scopes and cardinalities: equal exactly for equal factor graphs."""
        return hashlib.sha256(repr((self.scopes, self.cardinalities)).encode()).hexdigest()

    def __repr__(self) -> str:
        return (
            f"FactorGraph({self.n_variables} variables, {self.n_factors} factors, "
            f"sha256={self.digest[:16]})"
        )

    def __reduce__(self):
        return (FactorGraph, (self.scopes, self.cardinalities))


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(
            f"{name}: {value!r} is not an integer; variables and their numbers of states are"
        )
    return int(value)
