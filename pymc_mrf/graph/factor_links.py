"""Which factor holds which variable, as flat arrays, and orders in which messages can be sent."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.read_only import read_only
from pymc_mrf.graph.structure import PairwiseGraph


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
