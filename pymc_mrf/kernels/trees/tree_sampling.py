"""Tree-blocked Gibbs sampling of pairwise fields: Rivasseau (2005, figures 4.2 and 4.11).

A sweep visits the blocks of a tree partition. The values outside a block are absorbed into the local
potentials of its nodes (eq. 4.11), messages go from the leaves to the roots (*filtering*), and the whole
forest is drawn from the roots to the leaves (*backward sampling*). Each block is drawn from its exact
conditional distribution, so that the field is left invariant. The Rao-Blackwellised estimates of eq.
4.14 are in `tree_marginals`.

Messages are of one of the representations of `tree_potentials`, and answer the questions of
`tree_messages`: few chains are moved one by one, others in tiles (`tree_sampling_tile`). `forest` is a
ForestArrays namedtuple; nodes in no block keep their values. What is computed from the tables alone is a
`Potentials`, which serves any number of calls.

The chains are `x` (m, d); kernels move one of them, `z` (d,), or a tile, `z` (d, T).
"""

from typing import Any

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.trees.tree_messages import (
    ChainAgreement,
    ChainLogs,
    ChainOdds,
    ChainScaled,
    absorb,
    begin,
    draw,
    send,
)
from pymc_mrf.kernels.trees.tree_potentials import FEW, Potentials, tree_potentials
from pymc_mrf.kernels.trees.tree_sampling_tile import TILE, seeded_uniforms, tile_odds, tile_scaled

CHAINS = {"odds": ChainOdds, "agreement": ChainAgreement, "scaled": ChainScaled}
TILES = {"odds": tile_odds, "scaled": tile_scaled}


def tree_sweeps(x, edge_tables, node_tables, forest, graph, n_sweeps, rng):
    """Move every row of `x` by `n_sweeps` sweeps over the blocks of `forest`, in place.

    `x` (m, d) int8: state indices; one chain per row, each of positive probability. `edge_tables` (r, K,
    K). `node_tables` (1, d, K) or (m, d, K): shared by all chains, or one table per chain. `forest`
    (ForestArrays).
    """
    potentials = tree_potentials(edge_tables, node_tables, graph.edges, len(x))
    sweep_potentials(x, potentials, forest, n_sweeps, rng)


def sweep_potentials(x, potentials, forest, n_sweeps, rng):
    """`tree_sweeps` with what `tree_potentials` makes of the tables, for as many chains."""
    if len(x) < FEW or potentials.form not in TILES:
        sweep_chains(x, chain_messages(potentials, len(forest.nodes)), forest, n_sweeps, rng)
        return
    form, edges, nodes = potentials
    uniforms = seeded_uniforms(rng, TILE)
    whole = len(x) // TILE * TILE
    for first, rows in ((0, x[:whole]), (whole, x[whole:])):
        if len(rows):
            T = min(len(rows), TILE)
            messages = TILES[form](edges, nodes, len(forest.nodes), T, uniforms)
            z = np.empty((x.shape[1], T), dtype=np.uint8)
            sweep_tiles(rows, z, messages, forest, n_sweeps, first, rng)


def chain_messages(potentials: Potentials, p: int) -> Any:
    """Room for the messages of one chain to p nodes."""
    form, edges, nodes = potentials
    if form == "log":
        K = nodes.shape[2]
        return ChainLogs(np.empty((p, K)), edges, nodes, *np.empty((2, K)))
    room = np.empty(p) if form == "odds" else np.empty((p, nodes.shape[1]))
    return CHAINS[form](room, edges, nodes)


@jit
def filter_block(messages, z, forest, b, row):
    """Fill in the messages of block b: what its nodes know by their descendants and the outside.

    `row` is the number of the chain `z`, or of the first one of the tile `z`.
    """
    first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
    for p in range(first, last):
        begin(messages, p, forest.nodes[p], row)
    for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
        absorb(messages, forest.out_positions[k], forest.out_links[k], z, forest.out_neighbors[k])
    for p in range(first, last):
        if forest.parent[p] >= 0:
            send(messages, p, forest.parent[p], forest.parent_link[p])


@jit
def draw_block(messages, z, forest, b, rng):
    """Draw block b from the roots to the leaves into `z`, after `filter_block`; the messages are lost."""
    for p in range(forest.block_ptr[b + 1] - 1, forest.block_ptr[b] - 1, -1):
        j = forest.nodes[max(forest.parent[p], 0)]  # any node, for a root
        draw(messages, p, forest.parent_link[p], z, j, forest.nodes[p], rng)


@jit
def sweep(z, messages, forest, n_sweeps, row, rng):
    for _ in range(n_sweeps):
        for b in forest.visits:
            filter_block(messages, z, forest, b, row)
            draw_block(messages, z, forest, b, rng)


@jit
def sweep_tiles(x, z, messages, forest, n_sweeps, first, rng):
    """Move the rows of `x` (k T, d), chains from number `first` on, T at once in `z` (d, T)."""
    d, T = z.shape
    for start in range(0, x.shape[0], T):
        for c in range(T):
            for i in range(d):
                z[i, c] = x[start + c, i]
        sweep(z, messages, forest, n_sweeps, first + start, rng)
        for c in range(T):
            for i in range(d):
                x[start + c, i] = z[i, c]


@jit
def sweep_chains(x, messages, forest, n_sweeps, rng):
    """Move every row of `x` (m, d) by `n_sweeps` sweeps, one after the other."""
    for c in range(x.shape[0]):
        sweep(x[c], messages, forest, n_sweeps, c, rng)
