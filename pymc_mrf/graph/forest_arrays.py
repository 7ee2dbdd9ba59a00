"""Tree partitions of pairwise graphs and of factor graphs as flat arrays, as kernels take them."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pymc_mrf.checks import sequence
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.frozen import read_only
from pymc_mrf.graph.structure import PairwiseGraph


class ForestArrays(NamedTuple):
    """Blocks of nodes, each inducing a forest, in the form in which kernels take them.

    A node's *position* is its place in `nodes`. A *link* leads from a free node to a neighbour: 2 e + k for
    the neighbour ``edges[e, k]``. Sweeps read all of these from one end to the other, or back, so that
    large forests cost no more per node than small ones.

    Attributes
    ----------
    block_ptr : (B + 1,) int32 array
        Block b is ``nodes[block_ptr[b] : block_ptr[b + 1]]``.
    visits : (V,) int32 array
        Blocks in the order in which a sweep visits them, perhaps several times.
    nodes : (p,) int32 array
        Free nodes, block by block, children before parents.
    parent : (p,) int32 array
        Position of the parent of the node at the same position; -1 for the root of a tree.
    parent_link : (p,) int32 array
        Link to the parent; -1 for a root.
    out_ptr : (B + 1,) int32 array
        Links from block b to other blocks and to clamped nodes are those from ``out_ptr[b]`` to
        ``out_ptr[b + 1]``, by the position of the node.
    out_positions, out_neighbors, out_links : int32 arrays
        Position of the node, the neighbour itself, and the link.
    edge_weight : (r,) array
        One over the number of blocks that update an end of the edge; 0 if both ends are clamped.
    """

    block_ptr: np.ndarray
    visits: np.ndarray
    nodes: np.ndarray
    parent: np.ndarray
    parent_link: np.ndarray
    out_ptr: np.ndarray
    out_positions: np.ndarray
    out_neighbors: np.ndarray
    out_links: np.ndarray
    edge_weight: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


def blocks_of_nodes(
    labels: Sequence[Hashable], partition: Sequence[Iterable[Hashable]], clamped: Iterable[Hashable] = ()
) -> list[int]:
    """Block of each node, -1 for clamped nodes.

    Raises a TypeError or ValueError if a block is no sequence or empty, or a node is unknown, in no
    block, in two, or in one although clamped.
    """
    index = {label: i for i, label in enumerate(labels)}
    block_of, fixed = [-1] * len(labels), set(clamped)
    for k, block in enumerate(partition):
        members = sequence(block, f"partition[{k}]", "nodes")
        if not members:
            raise ValueError(f"partition[{k}] is empty; leave it out")
        for label in members:
            if not isinstance(label, Hashable) or label not in index:
                raise ValueError(f"partition[{k}] names {label!r}, which is not a node of the graph")
            if label in fixed:
                raise ValueError(f"partition[{k}] names node {label!r}, which is clamped; leave it out")
            v = index[label]
            if block_of[v] == k:
                raise ValueError(f"partition[{k}] names node {label!r} twice")
            if block_of[v] >= 0:
                raise ValueError(
                    f"partition: node {label!r} is in blocks {block_of[v]} and {k}; keep it in one of them"
                )
            block_of[v] = k
    missing = [label for label in labels if block_of[index[label]] < 0 and label not in fixed]
    if missing:
        raise ValueError(
            f"partition: node {missing[0]!r} is in no block ({len(missing)} such nodes); "
            "every node must be in one, also alone"
        )
    return block_of


def forest_arrays(
    graph: PairwiseGraph, partition: Sequence[Iterable[int]], clamped: Iterable[int] = ()
) -> ForestArrays:
    """Lay out a tree partition (Rivasseau, 2005, definition 4.3.1) for the kernels.

    `partition`: node *indices* of each block. Every node that is not clamped is in exactly one block,
    and the edges of the graph inside a block form no cycle; a block may consist of several trees.
    `clamped`: nodes whose values never change. Raises a ValueError if the blocks are not a partition of
    the free nodes, or a block has a cycle.
    """
    owner = blocks_of_nodes(range(graph.n_nodes), partition, clamped)
    indptr, near, near_edge = (
        a.tolist() for a in (graph.arrays.indptr, graph.arrays.neighbors, graph.arrays.edge_ids)
    )
    seen = [False] * graph.n_nodes
    placed: list[tuple[int, int, int]] = []  # (node, parent, edge)
    block_ptr = [0]
    for b, members in enumerate(partition):
        order = []  # parents before children
        for root in members:
            if seen[root]:
                continue
            seen[root] = True
            stack = [(int(root), -1, -1)]
            while stack:
                i, p, edge = stack.pop()
                order.append((i, p, edge))
                for k in range(indptr[i], indptr[i + 1]):
                    j = near[k]
                    if owner[j] != b or near_edge[k] == edge:
                        continue
                    if seen[j]:
                        raise ValueError(
                            f"partition[{b}] has a cycle: the edge {graph.nodes[i]!r}--"
                            f"{graph.nodes[j]!r} closes it; move one of its nodes to another block"
                        )
                    seen[j] = True
                    stack.append((j, i, near_edge[k]))
        placed += reversed(order)
        block_ptr.append(len(placed))
    nodes, parent, parent_edge = map(list, zip(*placed, strict=True)) if placed else ([], [], [])
    out_ptr, out_nodes, out_neighbors, out_edges = [0], [], [], []
    for b in range(len(partition)):
        for i in nodes[block_ptr[b] : block_ptr[b + 1]]:
            for k in range(indptr[i], indptr[i + 1]):
                if owner[near[k]] != b:
                    out_nodes.append(i)
                    out_neighbors.append(near[k])
                    out_edges.append(near_edge[k])
        out_ptr.append(len(out_edges))
    position = np.full(graph.n_nodes + 1, -1)  # the last one is that of no node
    position[nodes] = np.arange(len(nodes))
    u, v = np.array(owner)[graph.edges].T
    updates = (u >= 0).astype(np.int64) + ((v >= 0) & (v != u))
    weight = np.divide(1.0, updates, out=np.zeros(graph.n_edges), where=updates > 0)

    def integers(values: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.array(values, dtype=np.int32)

    second = np.append(graph.edges[:, 1], -1)  # the last one is that of no edge

    def links(edges: Sequence[int], neighbors: Sequence[int]) -> np.ndarray:
        e = integers(edges)
        return np.where(e >= 0, 2 * e + (second[e] == integers(neighbors)), -1).astype(np.int32)

    return read_only(
        ForestArrays,
        integers(block_ptr),
        integers(range(len(partition))),
        integers(nodes),
        integers(position[parent]),
        links(parent_edge, parent),
        integers(out_ptr),
        integers(position[out_nodes]),
        integers(out_neighbors),
        links(out_edges, out_neighbors),
        weight,
    )


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

    `partition`: variables of each block. Every variable that is not clamped is in exactly one block, and
    the variables of a block form no cycle with the factors that have several of them. (By definition
    4.3.2 a factor has several variables in one block at most; this is not needed here.) `clamped`:
    variables whose values never change. Raises a ValueError if the blocks are not a partition of the
    free variables, or a block has a cycle.
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
