"""A junction tree as flat arrays: the form in which kernels take it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.elimination import Clique

MAX_SPELT_OUT = 2**16
"""Nested loops over small tables cost more than the additions inside them; beyond this number of
entries tables are large, and the loops cost little."""


class TreeArrays(NamedTuple):
    """A junction tree as flat arrays, in the form in which kernels take it.

    Cliques are numbered so that children come before parents. The table of clique j is a matrix:
    one row per joint state of its *frontal* variables (those that no later clique contains), one
    column per joint state of its separator. Variables follow the elimination order in both, the
    last one fastest.

    Small tables (factors, separator messages) meet a clique table in nested loops over the clique
    table in storage order; ``loop_size`` and ``loop_stride`` hold, outermost first, the length of
    each loop and its step in the small table (0 where the small table lacks the variable).

    Attributes
    ----------
    cards : (d,) int64 array
        Number of states of each variable.
    table_ptr : (C + 1,) int64 array
        Cells of clique j are ``table_ptr[j] : table_ptr[j + 1]``.
    n_rows, n_columns : (C,) int64 arrays
    parent : (C,) int64 array
        -1 for the root of each connected component.
    depth : (C,) int64 array
        Distance from the root.
    component : (C,) int64 array
        Connected component of the clique.
    separator_ptr : (C + 1,) int64 array
        Where the message of clique j to its parent is stored, if messages are kept.
    variable_ptr : (C + 1,) int64 array
    variables, strides : int64 arrays
        Variables of clique j, frontal ones first, and their strides in its table.
    n_frontal : (C,) int64 array
    link_ptr : (C + 1,) int64 array
        Loops of clique j's message over its *parent's* table.
    factor_ptr : (F + 1,) int64 array
        Loops of factor f over the table of its clique.
    loop_size, loop_stride : int64 arrays
    factor_clique : (F,) int64 array
    factor_table_ptr : (F + 1,) int64 array
        Cells of factor f in a flat array of factor tables.
    factor_cell_ptr : (F + 1,) int64 array
    factor_cell : int32 array
        Cell of factor f, in that flat array, for every cell of its clique's table in storage order:
        the same as its loops, spelt out. Empty for trees where that would take more than
        `MAX_SPELT_OUT` entries.
    """

    cards: np.ndarray
    table_ptr: np.ndarray
    n_rows: np.ndarray
    n_columns: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    component: np.ndarray
    separator_ptr: np.ndarray
    variable_ptr: np.ndarray
    variables: np.ndarray
    strides: np.ndarray
    n_frontal: np.ndarray
    link_ptr: np.ndarray
    factor_ptr: np.ndarray
    loop_size: np.ndarray
    loop_stride: np.ndarray
    factor_clique: np.ndarray
    factor_table_ptr: np.ndarray
    factor_cell_ptr: np.ndarray
    factor_cell: np.ndarray


def _strides(variables: Sequence[int], cards: Sequence[int]) -> list[int]:
    """Row-major strides, last variable fastest."""
    strides = [1] * len(variables)
    for k in range(len(variables) - 2, -1, -1):
        strides[k] = strides[k + 1] * cards[variables[k + 1]]
    return strides


def _loops(
    big: Sequence[int], small: Sequence[int], cards: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Nested loops over the table of `big` and their steps in the table of `small`, outer first."""
    step = dict(zip(small, _strides(small, cards), strict=True))
    sizes: list[int] = []
    steps: list[int] = []
    for v in reversed(big):
        size, stride = cards[v], step.get(v, 0)
        # two loops are one if the outer continues where the inner ends
        if sizes and stride == steps[-1] * sizes[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            steps.append(stride)
    return sizes[::-1], steps[::-1]


def tree_arrays(
    cliques: Sequence[Clique], scopes: Sequence[Sequence[int]], cards: Sequence[int]
) -> TreeArrays:
    """Lay out the tables of `cliques` (children first) and place each factor in a clique.

    A factor goes to the smallest clique that contains its scope.
    """
    contents = [c.frontal + c.separator for c in cliques]
    cells = [math.prod(cards[v] for v in content) for content in contents]
    columns = [math.prod(cards[v] for v in c.separator) for c in cliques]

    home = {v: j for j, c in enumerate(cliques) for v in c.frontal}
    parent = [home[c.separator[0]] if c.separator else -1 for c in cliques]
    depth = [0] * len(cliques)
    component = [0] * len(cliques)
    n_components = 0
    for j in range(len(cliques) - 1, -1, -1):
        if parent[j] < 0:
            component[j] = n_components
            n_components += 1
        else:
            depth[j] = depth[parent[j]] + 1
            component[j] = component[parent[j]]

    containing: list[set[int]] = [set() for _ in cards]
    for j, content in enumerate(contents):
        for v in content:
            containing[v].add(j)

    sizes: list[int] = []
    steps: list[int] = []

    def loops(big: Sequence[int], small: Sequence[int]) -> int:
        loop_sizes, loop_steps = _loops(big, small, cards)
        sizes.extend(loop_sizes)
        steps.extend(loop_steps)
        return len(loop_sizes)

    n_link_loops = [
        loops(contents[parent[j]], c.separator) if c.separator else 0 for j, c in enumerate(cliques)
    ]
    factor_clique = []
    n_factor_loops = []
    for scope in scopes:
        fewest = min((containing[v] for v in scope), key=len)
        shared = [j for j in fewest if all(j in containing[v] for v in scope)]
        clique = min(shared, key=lambda j: (cells[j], j))
        factor_clique.append(clique)
        n_factor_loops.append(loops(contents[clique], scope))

    def pointers(counts: Sequence[int], start: int = 0) -> np.ndarray:
        return np.cumsum([start, *counts], dtype=np.int64)

    def integers(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    factor_table_ptr = pointers([math.prod(cards[v] for v in scope) for scope in scopes])
    factor_cell_ptr = pointers([cells[clique] for clique in factor_clique])
    spelt_out = [np.zeros(0, dtype=np.int64)]
    if factor_cell_ptr[-1] <= MAX_SPELT_OUT:
        first = sum(n_link_loops)
        for f, n_loops in enumerate(n_factor_loops):
            index = factor_table_ptr[f : f + 1]
            for k in range(first, first + n_loops):
                index = np.add.outer(index, np.arange(sizes[k]) * steps[k]).ravel()
            spelt_out.append(index)
            first += n_loops
    else:
        factor_cell_ptr = np.zeros_like(factor_cell_ptr)

    arrays = TreeArrays(
        cards=integers(cards),
        table_ptr=pointers(cells),
        n_rows=integers([n // k for n, k in zip(cells, columns, strict=True)]),
        n_columns=integers(columns),
        parent=integers(parent),
        depth=integers(depth),
        component=integers(component),
        separator_ptr=pointers(columns),
        variable_ptr=pointers([len(content) for content in contents]),
        variables=integers([v for content in contents for v in content]),
        strides=integers([s for content in contents for s in _strides(content, cards)]),
        n_frontal=integers([len(c.frontal) for c in cliques]),
        link_ptr=pointers(n_link_loops),
        factor_ptr=pointers(n_factor_loops, sum(n_link_loops)),
        loop_size=integers(sizes),
        loop_stride=integers(steps),
        factor_clique=integers(factor_clique),
        factor_table_ptr=factor_table_ptr,
        factor_cell_ptr=factor_cell_ptr,
        factor_cell=np.concatenate(spelt_out).astype(np.int32),
    )
    for array in arrays:
        array.setflags(write=False)
    return arrays
