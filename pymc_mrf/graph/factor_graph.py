"""`FactorGraph`: the immutable structure of a field with cliques of any size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pymc_mrf.checks import is_integer, repeated, sequence
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
            if repeated(variables):
                raise ValueError(
                    f"scopes[{f}] = {variables} names a variable twice; keep the diagonal of its "
                    "table (numpy.diagonal) and name the variable once"
                )
            checked.append(variables)
        self._hold(scopes=tuple(checked), cardinalities=cards)

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

    def each_table(self, tables: Any) -> Iterator[tuple[Any, tuple[int, ...], str]]:
        """Yield the table of each factor, its shape and its name in errors; refuse too few or too many."""
        if isinstance(tables, Mapping):
            raise TypeError("tables must be a sequence of tables in the order of scopes, not a mapping")
        tables = sequence(tables, "tables", "log tables, one per factor")
        if len(tables) != self.n_factors:
            raise ValueError(
                f"tables has {len(tables)} entries but scopes has {self.n_factors}; each factor needs one "
                "table"
            )
        names = (f"tables[{f}]" for f in range(self.n_factors))
        yield from zip(tables, self.table_shapes, names, strict=True)

    def _content(self) -> bytes:
        return repr((self.scopes, self.cardinalities)).encode()

    def __repr__(self) -> str:
        return (
            f"FactorGraph({self.n_variables} variables, {self.n_factors} factors, "
            f"sha256={self.digest[:16]})"
        )

    def __reduce__(self):
        return (FactorGraph, (self.scopes, self.cardinalities))


def _integer(value: Any, name: str) -> int:
    if not is_integer(value):
        raise TypeError(
            f"{name}: {value!r} is not an integer; variables and their numbers of states are"
        )
    return int(value)
