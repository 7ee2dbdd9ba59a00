"""Gibbs sweeps over small blocks of cells of many rows, the states of a block drawn jointly by enumeration.

Cells outside the blocks are given. A block is drawn from its exact conditional distribution given the rest of
its row, so that the field is left invariant; rows with one block are drawn independently of where they were.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.log_scores import draw_state
from pymc_mrf.kernels.simulation.gibbs import add_edge
from pymc_mrf.kernels.vector_sums import copy

MOST_STATES = 64
"""Joint states of a block that are enumerated: six binary cells; about a microsecond."""


class CellBlocks(NamedTuple):
    """Blocks of cells, each in one row; blocks of one chain are visited there and back.

    `nodes` (N,) int64: node of each cell. `block_ptr` (B + 1,) int64: cells of block b are
    ``nodes[block_ptr[b] : block_ptr[b + 1]]``. `chain_ptr` (C + 1,) int64: blocks of chain k are
    ``chain_ptr[k]`` to ``chain_ptr[k + 1] - 1``; chains are independent of each other. `rows` (C,)
    int64: row of each chain.
    """

    nodes: np.ndarray
    block_ptr: np.ndarray
    chain_ptr: np.ndarray
    rows: np.ndarray


@jit
def joint_scores(own, members, place, edge_tables, graph, joint):
    """Log scores `joint` (K ** g,) of the states of `members` (g,), by scores `own` (g, K) and their edges.

    Node j of them has digit j of the joint state, the lowest first, and has that place in `place` (d,), which
    is -1 elsewhere. The edges have log tables `edge_tables` (r, K, K).
    """
    size, n_states = 1, own.shape[1]
    joint[0] = 0.0
    for j in range(members.shape[0]):
        i = members[j]
        # the block of state 0 is overwritten last: the others are made from it
        for a in range(n_states - 1, -1, -1):
            first = a * size
            for k in range(size):
                joint[first + k] = joint[k] + own[j, a]
            for l in range(graph.indptr[i], graph.indptr[i + 1]):
                other, e = place[graph.neighbors[l]], graph.edge_ids[l]
                if not 0 <= other < j:
                    continue
                stride = n_states**other
                for k in range(first, first + size, stride):
                    b = k // stride % n_states
                    pair = edge_tables[e, a, b] if graph.edges[e, 0] == i else edge_tables[e, b, a]
                    for s in range(stride):
                        joint[k + s] += pair
        size *= n_states


@part
def block_scores(joint, own, z, block, edge_tables, node_tables, place, graph):
    """Log scores `joint` (K ** k,) of the states of the cells `block` (k,) given the rest of row `z` (d,).

    `own` (k or more, K) is scratch; `place` (d,) is -1 everywhere, and again on return. The log tables are
    `edge_tables` (r, K, K) and `node_tables` (d, K).
    """
    for j in range(block.shape[0]):
        place[block[j]] = j
    for j in range(block.shape[0]):
        i = block[j]
        copy(node_tables[i], own[j])
        for l in range(graph.indptr[i], graph.indptr[i + 1]):
            if place[graph.neighbors[l]] < 0:
                add_edge(own[j], i, l, z[graph.neighbors[l]], edge_tables, graph)
    joint_scores(own, block, place, edge_tables, graph, joint)
    for j in range(block.shape[0]):
        place[block[j]] = -1


@jit
def cell_block_sweeps(x, blocks, edge_tables, node_tables, graph, n_sweeps, rng):
    """Move `x` by `n_sweeps` reversible sweeps, in place; chains of one block are drawn once.

    `x` (m, d) int8: state indices; one row of each is of positive probability given its other cells.
    `blocks`: of at most `MOST_STATES` joint states each. `edge_tables` (1 or m, r, K, K): finite log
    tables, shared by all rows or one per row. `node_tables` (1 or m, d, K): log tables; -inf marks
    impossible states.
    """
    n_states = node_tables.shape[2]
    most = np.diff(blocks.block_ptr).max()
    joint, own = np.empty(n_states**most), np.empty((most, n_states))
    place = np.full(x.shape[1], -1)
    for chain in range(blocks.rows.shape[0]):
        c, first = blocks.rows[chain], blocks.chain_ptr[chain]
        n = blocks.chain_ptr[chain + 1] - first
        edges = edge_tables[c if edge_tables.shape[0] > 1 else 0]
        nodes = node_tables[c if node_tables.shape[0] > 1 else 0]
        for t in range(n_sweeps * (2 * n - 1) if n > 1 else 1):
            step = t % (2 * n - 1)
            b = first + (step if step < n else 2 * (n - 1) - step)
            block = blocks.nodes[blocks.block_ptr[b] : blocks.block_ptr[b + 1]]
            scores = joint[: n_states ** block.shape[0]]
            block_scores(scores, own, x[c], block, edges, nodes, place, graph)
            number = draw_state(scores, rng)
            for j in range(block.shape[0]):
                x[c, block[j]] = number % n_states
                number //= n_states
