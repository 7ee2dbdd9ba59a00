"""A tree partition of a pairwise graph as flat arrays: the form in which kernels take it."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pymc_mrf.checks import sequence
from pymc_mrf.graph.read_only import read_only
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

    Raises
    ------
    TypeError, ValueError
        If a block is no sequence or empty, or a node is unknown, in no block, in two, or in one although
        clamped.
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

    Parameters
    ----------
    graph : PairwiseGraph
    partition : sequence of collections of int
        Node *indices* of each block. Every node that is not clamped is in exactly one block, and the
        edges of the graph inside a block form no cycle; a block may consist of several trees.
    clamped : collection of int
        Nodes whose values never change.

    Returns
    -------
    ForestArrays

    Raises
    ------
    ValueError
        If the blocks are not a partition of the free nodes, or a block has a cycle.
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
