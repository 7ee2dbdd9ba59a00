"""Tree-blocked Gibbs sampling of a single chain: `tree_sampling` without the loop over chains.

The same computations in the same representations. For fewer than `FEW` chains this is faster than
tiles, whose inner loops are then too short to pay; arguments as in `tree_sampling`.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit

FEW = 4
"""From this number of chains on tiles are faster."""


@jit
def chain_odds(z, odds, ratio, base, row, forest, n_sweeps, rng):
    """Move the binary chain `z` (d,) by `n_sweeps` sweeps, by odds; `odds` (d,) is room.

    `row` is the column of the chain in `base`.
    """
    # looked up by the neighbour's state: branches that nobody can predict cost more than the rest
    factor = np.ones((ratio.shape[0], 2))
    factor[:, 1] = ratio
    for _ in range(n_sweeps):
        for b in range(forest.block_ptr.shape[0] - 1):
            first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
            for p in range(first, last):
                i = forest.nodes[p]
                q = base[i, row]
                for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
                    q *= factor[forest.out_edges[k], z[forest.out_neighbors[k]]]
                odds[i] = q
            for p in range(first, last):
                if forest.parent[p] >= 0:
                    w, q = ratio[forest.parent_edge[p]], odds[forest.nodes[p]]
                    odds[forest.parent[p]] *= (1.0 + w * q) / (1.0 + q)
            for p in range(last - 1, first - 1, -1):
                i, j = forest.nodes[p], forest.parent[p]
                q = odds[i]
                if j >= 0:
                    q *= factor[forest.parent_edge[p], z[j]]
                z[i] = rng.random() * (1.0 + q) < q


@jit
def chain_scaled(z, nu, psi, phi, row, edges, forest, n_sweeps, rng):
    """Move the chain `z` (d,) by `n_sweeps` sweeps, by probabilities; `nu` (d, K) is room.

    `row` is the column of the chain in `phi`.
    """
    n_states = nu.shape[1]
    for _ in range(n_sweeps):
        for b in range(forest.block_ptr.shape[0] - 1):
            first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
            for p in range(first, last):
                i = forest.nodes[p]
                for a in range(n_states):
                    nu[i, a] = phi[i, a, row]
                for k in range(forest.out_ptr[p], forest.out_ptr[p + 1]):
                    e, s = forest.out_edges[k], z[forest.out_neighbors[k]]
                    side = 1 if edges[e, 0] == i else 0
                    for a in range(n_states):
                        nu[i, a] *= psi[side, e, s, a]
            for p in range(first, last):
                j = forest.parent[p]
                if j < 0:
                    continue
                i, e = forest.nodes[p], forest.parent_edge[p]
                side = 1 if edges[e, 0] == i else 0
                total = 0.0
                for a in range(n_states):
                    total += nu[i, a]
                for a in range(n_states):
                    message = 0.0
                    for s in range(n_states):
                        message += psi[side, e, a, s] * nu[i, s]
                    nu[j, a] *= message / total
            for p in range(last - 1, first - 1, -1):
                i, j, e = forest.nodes[p], forest.parent[p], forest.parent_edge[p]
                side = 1 if j >= 0 and edges[e, 0] == i else 0
                total = 0.0
                for a in range(n_states):
                    total += nu[i, a] * (1.0 if j < 0 else psi[side, e, z[j], a])
                    nu[i, a] = total
                u = rng.random() * total
                s = 0
                while s < n_states - 1 and nu[i, s] <= u:
                    s += 1
                z[i] = s
