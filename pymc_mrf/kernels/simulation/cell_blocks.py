"""Gibbs sweeps over small blocks of cells of many rows, the states of a block drawn jointly by enumeration.

Cells outside the blocks are given. A block is drawn from its exact conditional distribution given the rest of
its row, so that the field is left invariant; rows with one block are drawn independently of where they were.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.log_scores import draw_state
from pymc_mrf.kernels.vector_sums import copy

MOST_STATES = 64
"""Joint states of a block that are enumerated: six binary cells; about a microsecond."""


class CellBlocks(NamedTuple):
    """Blocks of cells, each in one row; blocks of one chain are visited there and back.

    Attributes
    ----------
    nodes : (N,) int64 array
        Node of each cell.
    block_ptr : (B + 1,) int64 array
        Cells of block b are ``nodes[block_ptr[b] : block_ptr[b + 1]]``.
    chain_ptr : (C + 1,) int64 array
        Blocks of chain k are ``chain_ptr[k]`` to ``chain_ptr[k + 1] - 1``; chains are independent of each
        other.
    rows : (C,) int64 array
        Row of each chain.
    """

    nodes: np.ndarray
    block_ptr: np.ndarray
    chain_ptr: np.ndarray
    rows: np.ndarray


@part
def block_scores(joint, own, link, z, block, edge_tables, node_tables, position, graph):
    """Log scores `joint` (K ** k,) of the states of the cells `block` (k,) given the rest of row `z` (d,).

    Cell j of the block has digit j of the joint state, the lowest first. `own` (k or more, K) and `link`
    (k or more, k or more) are scratch; `position` (d,) is -1 everywhere, and again on return. The log tables
    are `edge_tables` (r, K, K) and `node_tables` (d, K).
    """
    k, n_states = block.shape[0], node_tables.shape[1]
    for j in range(k):
        position[block[j]] = j
    for j in range(k):
        i = block[j]
        link[j, :j] = -1
        copy(node_tables[i], own[j])
        for a in range(graph.indptr[i], graph.indptr[i + 1]):
            v, e = graph.neighbors[a], graph.edge_ids[a]
            first = graph.edges[e, 0] == i
            if position[v] < 0:
                for s in range(n_states):
                    own[j, s] += edge_tables[e, s, z[v]] if first else edge_tables[e, z[v], s]
            elif position[v] < j:
                link[j, position[v]] = 2 * e + (0 if first else 1)
    for number in range(joint.shape[0]):
        score, rest = 0.0, number
        for j in range(k):
            z[block[j]] = rest % n_states
            rest //= n_states
            score += own[j, z[block[j]]]
            for l in range(j):
                if link[j, l] >= 0:
                    a, b = z[block[j]], z[block[l]]
                    e = link[j, l] >> 1
                    score += edge_tables[e, a, b] if link[j, l] % 2 == 0 else edge_tables[e, b, a]
        joint[number] = score
    for j in range(k):
        position[block[j]] = -1


@jit
def cell_block_sweeps(x, blocks, edge_tables, node_tables, graph, n_sweeps, rng):
    """Move `x` by `n_sweeps` reversible sweeps, in place; chains of one block are drawn once.

    Parameters
    ----------
    x : (m, d) int8 array
        State indices; one row of each is of positive probability given its other cells.
    blocks : CellBlocks
        Of at most `MOST_STATES` joint states each.
    edge_tables : (1 or m, r, K, K) array
        Finite log tables, shared by all rows or one per row.
    node_tables : (1 or m, d, K) array
        Log tables; -inf marks impossible states.
    graph : GraphArrays
    n_sweeps : int
    rng : numpy.random.Generator
    """
    n_states = node_tables.shape[2]
    most = np.diff(blocks.block_ptr).max()
    joint, own = np.empty(n_states**most), np.empty((most, n_states))
    link = np.empty((most, most), dtype=np.int64)
    position = np.full(x.shape[1], -1)
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
            block_scores(scores, own, link, x[c], block, edges, nodes, position, graph)
            number = draw_state(scores, rng)
            for j in range(block.shape[0]):
                x[c, block[j]] = number % n_states
                number //= n_states
