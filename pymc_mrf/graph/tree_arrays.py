"""A junction tree as flat arrays: the form in which kernels take it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.elimination import Clique
from pymc_mrf.graph.frozen import read_only
from pymc_mrf.graph.tree_layout import Node, layout

SHORT_RUN = 8
"""Below this length of the innermost loop, an index of every cell is faster than nested loops."""

MAX_SPELT_OUT = 2**16
"""Number of entries that all such indices may have."""


def _integers(*names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in names])


CLIQUE = _integers(
    "first", "n_cells", "n_rows", "n_columns", "parent", "depth", "component", "separator",
    "variables", "n_frontal", "n_variables", "sources", "n_sources",
)  # fmt: skip
VARIABLE = _integers("index", "stride")
FACTOR = _integers("clique", "first", "n_cells")
PLACE = _integers("loops", "n_loops", "cells", "part")
LOOP = _integers("size", "step")


class Meetings(NamedTuple):
    """How small tables (factors, separator messages) meet the clique tables that contain their variables.

    A meeting is nested loops over the clique table in storage order; messages have the variables in the
    order of the parent. Meeting f is that of factor f with its clique, meeting F + j that of clique j's
    message with its parent, and meeting F + C + j that of the message with one row of clique j.

    `places` (F + 2 C,) of `PLACE`: its loops are ``loops[place.loops : place.loops + place.n_loops]``;
    from ``place.cells`` on it is spelt out in `cells`, unless that is -1. Behind the tables of all
    factors, ``place.part`` is where the small table is stored if messages are dropped once used.
    `loops`: outermost first, the length of each loop and its step in the small table, 0 where that lacks
    the variable. `cells`: cell of the small table for every cell of the big one, in storage order.
    """

    places: np.ndarray
    loops: np.ndarray
    cells: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


class TreeArrays(NamedTuple):
    """A junction tree as flat arrays of integers and of records, the form in which kernels take it.

    Cliques are numbered so that every clique comes after all of the subtree below it. The table of
    clique j is a matrix: one row per joint state of its *frontal* variables (those that no clique
    above contains), one column per joint state of its separator; `pymc_mrf.graph.tree_layout` chooses
    the order of the variables. Subcliques, which gather factors, have no frontal variables: one row.

    Attributes
    ----------
    cards : (d,) int64 array
        Number of states of each variable.
    cliques : (C,) array of `CLIQUE`
        ``first`` is the first of its ``n_cells`` cells; ``parent`` is -1 for the root of each connected
        ``component``, from which ``depth`` is the distance; ``separator`` is where its message is stored if
        all messages are kept. ``variables`` and ``sources`` are places in the arrays of these names.
    variables : array of `VARIABLE`
        Variables of each clique, frontal ones first, and their strides in its table.
    sources : int64 array
        What each clique's table is the product of: meetings with its factors and its children's messages.
    factors : (F,) array of `FACTOR`
        Clique of each factor, and its cells in a flat array of factor tables.
    meetings : Meetings
    """

    cards: np.ndarray
    cliques: np.ndarray
    variables: np.ndarray
    sources: np.ndarray
    factors: np.ndarray
    meetings: Meetings

    def __reduce__(self):
        return read_only, (type(self), *self)

    @property
    def n_cells(self) -> int:
        return int(self.cliques["n_cells"].sum())

    @property
    def n_factor_cells(self) -> int:
        return int(self.factors["n_cells"].sum())

    @property
    def n_separator_cells(self) -> int:
        return int(self.cliques["n_columns"].sum())


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

    counts = np.array([math.prod(cards[v] for v in scope) for scope in scopes], dtype=np.int64)
    factors = _records(FACTOR, clique=factor_clique, first=_starts(counts), n_cells=counts)
    n_sources = [len(group) for group in sources]
    n_variables = [len(content) for content in contents]
    arrays = TreeArrays(
        cards=np.array(cards, dtype=np.int64),
        cliques=_records(
            CLIQUE,
            first=_starts(cells),
            n_cells=cells,
            n_rows=np.array(cells) // np.array(columns),
            n_columns=columns,
            parent=[node.parent for node in nodes],
            depth=[node.depth for node in nodes],
            component=component,
            separator=_starts(columns),
            variables=_starts(n_variables),
            n_frontal=[len(node.frontal) for node in nodes],
            n_variables=n_variables,
            sources=_starts(n_sources),
            n_sources=n_sources,
        ),
        variables=_records(
            VARIABLE,
            index=[v for content in contents for v in content],
            stride=[s for content in contents for s in _strides(content, cards)],
        ),
        sources=np.array([m for group in sources for m in group], dtype=np.int64),
        factors=factors,
        meetings=Meetings(
            places=_records(
                PLACE,
                loops=_starts(n_loops),
                n_loops=n_loops,
                cells=cell_start,
                part=np.concatenate(
                    [factors["first"], *2 * [counts.sum() + _message_starts(nodes, columns)]]
                ),
            ),
            loops=_records(LOOP, size=sizes, step=steps),
            cells=np.concatenate(spelt_out).astype(np.uint32),
        ),
    )
    for array in (*arrays[:-1], *arrays.meetings):
        array.setflags(write=False)
    return arrays


def _starts(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where each of several parts begins that lie one after the other."""
    return np.cumsum([0, *counts], dtype=np.int64)[:-1]


def _records(dtype: np.dtype, **values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Array of records, with their fields as attributes, from the values of each field."""
    out = np.empty(len(next(iter(values.values()))), dtype=dtype)
    for name, column in values.items():
        out[name] = column
    return out.view(np.recarray)
