"""A junction tree as flat arrays: the form in which kernels take it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.elimination import Clique
from pymc_mrf.graph.tree_layout import Node, layout

SHORT_RUN = 4
"""Below this length of the innermost loop, an index of every cell is faster than nested loops."""

MAX_SPELT_OUT = 2**16
"""Number of entries that all such indices may have."""


class TreeArrays(NamedTuple):
    """A junction tree as flat arrays, in the form in which kernels take it.

    Cliques are numbered so that every clique comes after all of the subtree below it. The table of
    clique j is a matrix: one row per joint state of its *frontal* variables (those that no clique
    above contains), one column per joint state of its separator; `pymc_mrf.graph.tree_layout` chooses
    the order of the variables. Subcliques, which gather factors, have no frontal variables: one row.

    Small tables (factors, separator messages) meet a clique table in nested loops over the clique
    table in storage order; ``loop_size`` and ``loop_stride`` hold, outermost first, the length of
    each loop and its step in the small table (0 where the small table lacks the variable). Messages
    have the variables in the order of the parent. Meeting f is that of factor f with its clique,
    meeting F + j that of clique j's message with its parent, and meeting F + C + j that of the message
    with one row of clique j.

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
        Where the message of clique j to its parent is stored, if all messages are kept.
    variable_ptr : (C + 1,) int64 array
    variables, strides : int64 arrays
        Variables of clique j, frontal ones first, and their strides in its table.
    n_frontal : (C,) int64 array
    source_ptr : (C + 1,) int64 array
    sources : int64 array
        What clique j's table is the product of: the meetings with its factors and its children's messages.
    part_start : (F + C,) int64 array
        Where the small table of a meeting is stored, if messages are dropped once used: behind the tables
        of all factors.
    factor_clique : (F,) int64 array
    factor_table_ptr : (F + 1,) int64 array
        Cells of factor f in a flat array of factor tables.
    loop_ptr : (F + 2 C + 1,) int64 array
        Loops of each meeting.
    loop_size, loop_stride : int64 arrays
    cell_start : (F + 2 C,) int64 array
        Where the meeting is spelt out in `cell`; -1 if it is not.
    cell : uint32 array
        Cell of the small table for every cell of the big one, in storage order.
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
    source_ptr: np.ndarray
    sources: np.ndarray
    part_start: np.ndarray
    factor_clique: np.ndarray
    factor_table_ptr: np.ndarray
    loop_ptr: np.ndarray
    loop_size: np.ndarray
    loop_stride: np.ndarray
    cell_start: np.ndarray
    cell: np.ndarray


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


def _message_starts(nodes: Sequence[Node], columns: Sequence[int]) -> np.ndarray:
    """Places of the messages on two stacks, for cliques of even and of odd depth.

    A clique finds its children's messages on top of one stack and puts its own on the other.
    """
    starts: list[int] = []
    top, highest = [0, 0], [0, 0]
    waiting = [0] * len(nodes)  # cells of the children's messages
    for node, n in zip(nodes, columns, strict=True):
        side = node.depth % 2
        top[1 - side] -= waiting[len(starts)]
        starts.append(top[side])
        top[side] += n
        highest[side] = max(highest[side], top[side])
        if node.parent >= 0:
            waiting[node.parent] += n
        else:
            top[side] = 0
    return np.array([s + node.depth % 2 * highest[0] for s, node in zip(starts, nodes, strict=True)])


def tree_arrays(
    cliques: Sequence[Clique], scopes: Sequence[Sequence[int]], cards: Sequence[int]
) -> TreeArrays:
    """Lay out the tables of `cliques` (children first) and place each factor in a clique."""
    nodes, factor_clique = layout(cliques, scopes, cards)
    contents = [node.frontal + node.separator for node in nodes]
    cells = [math.prod(cards[v] for v in content) for content in contents]
    columns = [math.prod(cards[v] for v in node.separator) for node in nodes]
    sources: list[list[int]] = [[] for _ in nodes]
    for f, j in enumerate(factor_clique):
        sources[j].append(f)
    for j, node in enumerate(nodes):
        if node.parent >= 0:
            sources[node.parent].append(len(scopes) + j)
    component: list[int] = [0] * len(nodes)
    n_components = 0
    for j in range(len(nodes) - 1, -1, -1):
        if nodes[j].parent < 0:
            component[j] = n_components
            n_components += 1
        else:
            component[j] = component[nodes[j].parent]

    meetings = [(contents[j], scope) for j, scope in zip(factor_clique, scopes, strict=True)]
    above = [contents[node.parent] if node.parent >= 0 else () for node in nodes]
    messages = [
        tuple(v for v in content if v in node.separator)
        for content, node in zip(above, nodes, strict=True)
    ]
    meetings += zip(above, messages, strict=True)
    meetings += zip(messages, [node.separator for node in nodes], strict=True)
    sizes: list[int] = []
    steps: list[int] = []
    n_loops, cell_start = [], []
    spelt_out = [np.zeros(0, dtype=np.int64)]
    n_spelt_out = 0
    for big, small in meetings:
        loop_sizes, loop_steps = _loops(big, small, cards)
        sizes.extend(loop_sizes)
        steps.extend(loop_steps)
        n_loops.append(len(loop_sizes))
        n = math.prod(loop_sizes)
        if n > 1 and loop_sizes[-1] < SHORT_RUN and n_spelt_out + n <= MAX_SPELT_OUT:
            index = np.zeros(1, dtype=np.int64)
            for size, step in zip(loop_sizes, loop_steps, strict=True):
                index = np.add.outer(index, np.arange(size, dtype=np.int64) * step).ravel()
            spelt_out.append(index)
            cell_start.append(n_spelt_out)
            n_spelt_out += n
        else:
            cell_start.append(-1)

    def pointers(counts: Sequence[int]) -> np.ndarray:
        return np.cumsum([0, *counts], dtype=np.int64)

    def integers(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    factor_table_ptr = pointers([math.prod(cards[v] for v in scope) for scope in scopes])
    arrays = TreeArrays(
        cards=integers(cards),
        table_ptr=pointers(cells),
        n_rows=integers([n // k for n, k in zip(cells, columns, strict=True)]),
        n_columns=integers(columns),
        parent=integers([node.parent for node in nodes]),
        depth=integers([node.depth for node in nodes]),
        component=integers(component),
        separator_ptr=pointers(columns),
        variable_ptr=pointers([len(content) for content in contents]),
        variables=integers([v for content in contents for v in content]),
        strides=integers([s for content in contents for s in _strides(content, cards)]),
        n_frontal=integers([len(node.frontal) for node in nodes]),
        source_ptr=pointers([len(group) for group in sources]),
        sources=integers([m for group in sources for m in group]),
        part_start=np.concatenate(
            [factor_table_ptr[:-1], factor_table_ptr[-1] + _message_starts(nodes, columns)]
        ),
        factor_clique=integers(factor_clique),
        factor_table_ptr=factor_table_ptr,
        loop_ptr=pointers(n_loops),
        loop_size=integers(sizes),
        loop_stride=integers(steps),
        cell_start=integers(cell_start),
        cell=np.concatenate(spelt_out).astype(np.uint32),
    )
    for array in arrays:
        array.setflags(write=False)
    return arrays
