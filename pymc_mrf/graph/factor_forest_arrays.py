"""A tree partition of a factor graph as flat arrays: the form in which kernels take it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_links import factor_links
from pymc_mrf.graph.forest_arrays import blocks_of_nodes
from pymc_mrf.graph.read_only import read_only


class FactorForestArrays(NamedTuple):
    """Blocks of variables, each inducing a forest of factors, in the form in which kernels take them.

    A factor with several variables in a block is a *clique* of this block, one with a single variable
    there is *attached* to the variable. Tables lie one after the other in one array.

    Attributes
    ----------
    cards : (d,) int64 array
        Number of states of each variable.
    table_ptr : (F + 1,) int64 array
        Cells of factor f are ``table_ptr[f] : table_ptr[f + 1]``.
    factor_weight : (F,) array
        One over the number of blocks that update a variable of the factor; 0 if there is none.
    block_ptr, variables : (B + 1,) and (p,) int64 arrays
        Free variables, block by block.
    root_ptr, roots : (B + 1,) and int64 arrays
        One variable of each tree of a block.
    clique_ptr : (B + 1,) int64 array
        Cliques of block b, children before parents.
    clique_factor, clique_parent, parent_stride : (C,) int64 arrays
        The factor, its variable nearest to the root and the stride of this variable in its table.
    child_ptr, children : (C + 1,) and int64 arrays
        The other variables of a clique in its block.
    cell_ptr, cell_offset : (C + 1,) and int64 arrays
        Offset in the factor's table of each joint state of the children, the last one fastest.
    attached_ptr : (p + 1,) int64 array
        Factors attached to the variable at the same position of `variables`.
    attached_factor, attached_stride : (A,) int64 arrays
    fixed_ptr : (C + A + 1,) int64 array
        Variables outside the block, of the cliques, then of the attached factors.
    fixed, fixed_stride : int64 arrays
    """

    cards: np.ndarray
    table_ptr: np.ndarray
    factor_weight: np.ndarray
    block_ptr: np.ndarray
    variables: np.ndarray
    root_ptr: np.ndarray
    roots: np.ndarray
    clique_ptr: np.ndarray
    clique_factor: np.ndarray
    clique_parent: np.ndarray
    parent_stride: np.ndarray
    child_ptr: np.ndarray
    children: np.ndarray
    cell_ptr: np.ndarray
    cell_offset: np.ndarray
    attached_ptr: np.ndarray
    attached_factor: np.ndarray
    attached_stride: np.ndarray
    fixed_ptr: np.ndarray
    fixed: np.ndarray
    fixed_stride: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


def _grow_forest(
    b: int, members: Sequence[int], inner: dict[int, list[int]], factors_of: list[list[int]]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Roots and (factor, parent variable) of block b, parents before children; refuses a cycle."""
    reached: set[int] = set()
    used: set[int] = set()
    roots, cliques = [], []
    for root in members:
        if root in reached:
            continue
        roots.append(root)
        reached.add(root)
        stack = [root]
        while stack:
            i = stack.pop()
            for f in factors_of[i]:
                if f not in inner or f in used:
                    continue
                used.add(f)
                cliques.append((f, i))
                for j in inner[f]:
                    if j == i:
                        continue
                    if j in reached:
                        raise ValueError(
                            f"partition[{b}] has a cycle: factor {f} closes it at the variables {i} "
                            f"and {j}; move one of them to another block"
                        )
                    reached.add(j)
                    stack.append(j)
    return roots, cliques


def factor_forest_arrays(
    graph: FactorGraph, partition: Sequence[Iterable[int]], clamped: Iterable[int] = ()
) -> FactorForestArrays:
    """Lay out a tree partition (Rivasseau, 2005, definition 4.3.2) for the kernels.

    Parameters
    ----------
    graph : FactorGraph
    partition : sequence of collections of int
        Variables of each block. Every variable that is not clamped is in exactly one block, and the
        variables of a block form no cycle with the factors that have several of them. (By definition
        4.3.2 a factor has several variables in one block at most; this is not needed here.)
    clamped : collection of int
        Variables whose values never change.

    Returns
    -------
    FactorForestArrays

    Raises
    ------
    ValueError
        If the blocks are not a partition of the free variables, or a block has a cycle.
    """
    blocks = [[int(i) for i in members] for members in partition]
    owner = blocks_of_nodes(range(graph.n_variables), blocks, clamped)
    links = factor_links(graph)
    cards = graph.cardinalities
    variable, stride = links.variable.tolist(), links.stride.tolist()
    strides = [
        dict(zip(variable[a:b], stride[a:b], strict=True))
        for a, b in pairwise(links.factor_ptr.tolist())
    ]
    factors_of = [own.tolist() for own in np.split(links.factor[links.link], links.variable_ptr[1:-1])]

    variables, roots, cliques, attached = [], [], [], []  # the last two: (block, factor, variable)
    block_ptr, root_ptr, clique_ptr, attached_ptr = [0], [0], [0], [0]
    for b, members in enumerate(blocks):
        shared: dict[int, list[int]] = {}
        for i in members:
            for f in factors_of[i]:
                shared.setdefault(f, []).append(i)
        inner = {f: own for f, own in shared.items() if len(own) > 1}
        block_roots, block_cliques = _grow_forest(b, members, inner, factors_of)
        variables += members
        roots += block_roots
        cliques += [(b, f, i) for f, i in reversed(block_cliques)]
        for i in members:
            attached += [(b, f, i) for f in factors_of[i] if f not in inner]
            attached_ptr.append(len(attached))
        for pointer, rows in ((block_ptr, variables), (root_ptr, roots), (clique_ptr, cliques)):
            pointer.append(len(rows))

    children, child_ptr, offsets, cell_ptr = [], [0], [np.zeros(0, dtype=np.int64)], [0]
    for b, f, i in cliques:
        own = [j for j in graph.scopes[f] if owner[j] == b and j != i]
        offset = np.zeros(1, dtype=np.int64)
        for j in own:
            offset = np.add.outer(offset, np.arange(cards[j]) * strides[f][j]).ravel()
        children += own
        child_ptr.append(len(children))
        offsets.append(offset)
        cell_ptr.append(cell_ptr[-1] + len(offset))
    fixed, fixed_stride, fixed_ptr = [], [], [0]
    for b, f, _ in cliques + attached:
        outside = [j for j in graph.scopes[f] if owner[j] != b]
        fixed += outside
        fixed_stride += [strides[f][j] for j in outside]
        fixed_ptr.append(len(fixed))
    updates = np.array([len({owner[v] for v in scope} - {-1}) for scope in graph.scopes], dtype=float)

    def integers(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    arrays = FactorForestArrays(
        cards=links.cards,
        table_ptr=links.table_ptr,
        factor_weight=np.divide(1.0, updates, out=np.zeros_like(updates), where=updates > 0),
        block_ptr=integers(block_ptr),
        variables=integers(variables),
        root_ptr=integers(root_ptr),
        roots=integers(roots),
        clique_ptr=integers(clique_ptr),
        clique_factor=integers([f for _, f, _ in cliques]),
        clique_parent=integers([i for _, _, i in cliques]),
        parent_stride=integers([strides[f][i] for _, f, i in cliques]),
        child_ptr=integers(child_ptr),
        children=integers(children),
        cell_ptr=integers(cell_ptr),
        cell_offset=np.concatenate(offsets),
        attached_ptr=integers(attached_ptr),
        attached_factor=integers([f for _, f, _ in attached]),
        attached_stride=integers([strides[f][i] for _, f, i in attached]),
        fixed_ptr=integers(fixed_ptr),
        fixed=integers(fixed),
        fixed_stride=integers(fixed_stride),
    )
    return read_only(FactorForestArrays, *arrays)
