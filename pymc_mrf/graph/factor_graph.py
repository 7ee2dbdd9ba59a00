"""`FactorGraph`: the immutable structure of a field with cliques of any size, and its flat arrays.

Messages are sent along the links between factors and variables, in an order that schedules give, for
pairwise graphs too.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import is_integer, repeated, sequence
from pymc_mrf.graph.frozen import Frozen, read_only
from pymc_mrf.graph.structure import PairwiseGraph

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


class FactorLinks(NamedTuple):
    """Links between factors and variables, L in all, factor by factor in the order of the scopes.

    Attributes
    ----------
    cards : (d,) int64 array
        Number of states of each variable.
    table_ptr : (F + 1,) int64 array
        Cells of factor f are ``table_ptr[f] : table_ptr[f + 1]`` of all tables one after the other.
    factor_ptr : (F + 1,) int64 array
        Links of factor f are ``factor_ptr[f] : factor_ptr[f + 1]``.
    variable, factor, stride : (L,) int64 arrays
        Both ends of a link, and the stride of the variable in the factor's table.
    variable_ptr, link : (d + 1,) and (L,) int64 arrays
        Links of variable i are ``link[variable_ptr[i] : variable_ptr[i + 1]]``.
    """

    cards: np.ndarray
    table_ptr: np.ndarray
    factor_ptr: np.ndarray
    variable: np.ndarray
    factor: np.ndarray
    stride: np.ndarray
    variable_ptr: np.ndarray
    link: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


def factor_links(graph: FactorGraph) -> FactorLinks:
    """Lay out the links of a factor graph for the kernels."""
    variable = [v for scope in graph.scopes for v in scope]
    factor = [f for f, scope in enumerate(graph.scopes) for _ in scope]
    stride = [math.prod(shape[k + 1 :]) for shape in graph.table_shapes for k in range(len(shape))]
    by_variable = np.argsort(np.array(variable, dtype=np.int64), kind="stable")
    counts = np.bincount(np.array(variable, dtype=np.int64), minlength=graph.n_variables)

    def pointers(sizes: Sequence[int]) -> np.ndarray:
        return np.cumsum([0, *sizes], dtype=np.int64)

    links = FactorLinks(
        cards=np.array(graph.cardinalities, dtype=np.int64),
        table_ptr=pointers([math.prod(shape) for shape in graph.table_shapes]),
        factor_ptr=pointers([len(scope) for scope in graph.scopes]),
        variable=np.array(variable, dtype=np.int64),
        factor=np.array(factor, dtype=np.int64),
        stride=np.array(stride, dtype=np.int64),
        variable_ptr=pointers(counts.tolist()),
        link=by_variable.astype(np.int64),
    )
    return read_only(FactorLinks, *links)


def leaves_to_roots(adjacency: Sequence[Sequence[int]]) -> tuple[np.ndarray, int]:
    """Vertices of a graph, children of a depth-first search before parents, and the components."""
    order: list[int] = []
    seen = [False] * len(adjacency)
    n_components = 0
    for root in range(len(adjacency)):
        if seen[root]:
            continue
        n_components += 1
        seen[root] = True
        stack = [root]
        while stack:
            i = stack.pop()
            order.append(i)
            for j in adjacency[i]:
                if not seen[j]:
                    seen[j] = True
                    stack.append(j)
    return np.array(order[::-1], dtype=np.int64), n_components


def node_schedule(graph: PairwiseGraph) -> tuple[np.ndarray, bool]:
    """Order in which nodes send messages, (d,) int64, and whether the graph is a forest."""
    arrays = graph.arrays
    near = np.split(arrays.neighbors, arrays.indptr[1:-1])
    order, n_components = leaves_to_roots([part.tolist() for part in near])
    return order, graph.n_edges == graph.n_nodes - n_components


def factor_schedule(graph: FactorGraph) -> tuple[np.ndarray, bool]:
    """Order in which factors send messages, (F,) int64, and whether they form a forest."""
    d = graph.n_variables
    adjacency: list[list[int]] = [[] for _ in range(d + graph.n_factors)]
    for f, scope in enumerate(graph.scopes):
        for v in scope:
            adjacency[v].append(d + f)
            adjacency[d + f].append(v)
    order, n_components = leaves_to_roots(adjacency)
    n_links = sum(len(scope) for scope in graph.scopes)
    return order[order >= d] - d, n_links == len(adjacency) - n_components
