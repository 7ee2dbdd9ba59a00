"""Tree-blocked Gibbs sampling of a single chain: `tree_sampling` without the loop over chains.

The same computations in the same representations, and "agreement". For fewer than
`tree_potentials.FEW` chains this is faster than tiles, whose inner loops are then too short to pay: a tile of
one chain takes 1.5 times as long by "odds", 3 times and more by "scaled".
Where all edges have one table, a sweep by "scaled" takes hardly longer than one by "agreement". With a
coupling for each edge its tables are what is read most, K ** 2 numbers instead of one: on a Potts grid of
64 x 64 nodes with three states it takes 1.5 times as long, on 256 x 256, beyond the caches, 5 times.

Everything is read in the order in which it is stored, but for the states, one byte each, and the tables:
a sweep over a large field takes about as long per node as one over a small field. Loops over the links to
other blocks are flat, and states are drawn without branches, which nobody can predict.

Tables are those of `tree_sampling`: `ratio` and `gain` (1 or r,), `base` (d, 1 or m), `psi` (1 or r, 2, K, K)
and `phi` (d, K, 1 or m).
"""

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.trees.tree_potentials import table_of


@jit
def chain_odds(z, odds, ratio, base, row, forest, n_sweeps, rng):
    """Move the binary chain `z` (d,) by `n_sweeps` sweeps, by odds; `odds` (p,) is room.

    `row` is the column of the chain in `base`.
    """
    t = ratio.shape[0]
    for _ in range(n_sweeps):
        for b in forest.visits:
            first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
            for p in range(first, last):
                odds[p] = base[forest.nodes[p], row]
            for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
                q = odds[forest.out_positions[k]]
                up = q * ratio[table_of(forest.out_links[k], t)]  # or it would be a branch
                odds[forest.out_positions[k]] = up if z[forest.out_neighbors[k]] else q
            for p in range(first, last):
                j = forest.parent[p]
                if j >= 0:
                    w, q = ratio[table_of(forest.parent_link[p], t)], odds[p]
                    odds[j] *= (1.0 + w * q) / (1.0 + q)
            for p in range(last - 1, first - 1, -1):
                j, q = forest.parent[p], odds[p]
                if j >= 0:
                    up = q * ratio[table_of(forest.parent_link[p], t)]
                    q = up if z[forest.nodes[j]] else q
                z[forest.nodes[p]] = rng.random() * (1.0 + q) < q


@jit
def draw_cumulated(weights, n_states, rng):
    """Draw a state with probability proportional to `weights` (K,), which are cumulated."""
    total = 0.0
    for a in range(n_states):
        total += weights[a]
        weights[a] = total
    total *= rng.random()
    state = 0
    for a in range(n_states - 1):
        state += weights[a] <= total
    return state


@jit
def chain_agreement(z, nu, gain, phi, row, forest, n_sweeps, rng):
    """Move the chain `z` (d,) by `n_sweeps` sweeps, by weights of agreement; `nu` (p, K) is room.

    `row` is the column of the chain in `phi`.
    """
    n_states, t = nu.shape[1], gain.shape[0]
    for _ in range(n_sweeps):
        for b in forest.visits:
            first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
            for p in range(first, last):
                i = forest.nodes[p]
                for a in range(n_states):
                    nu[p, a] = phi[i, a, row]
            for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
                w = gain[table_of(forest.out_links[k], t)]
                nu[forest.out_positions[k], z[forest.out_neighbors[k]]] *= w
            for p in range(first, last):
                j = forest.parent[p]
                if j < 0:
                    continue
                total = 0.0
                for a in range(n_states):
                    total += nu[p, a]
                w = (gain[table_of(forest.parent_link[p], t)] - 1.0) / total
                for a in range(n_states):
                    nu[j, a] *= 1.0 + w * nu[p, a]
            for p in range(last - 1, first - 1, -1):
                j = forest.parent[p]
                if j >= 0:
                    nu[p, z[forest.nodes[j]]] *= gain[table_of(forest.parent_link[p], t)]
                z[forest.nodes[p]] = draw_cumulated(nu[p], n_states, rng)


@jit
def chain_scaled(z, nu, psi, phi, row, forest, n_sweeps, rng):
    """Move the chain `z` (d,) by `n_sweeps` sweeps, by probabilities; `nu` (p, K) is room.

    `row` is the column of the chain in `phi`.
    """
    n_states, t = nu.shape[1], psi.shape[0]
    for _ in range(n_sweeps):
        for b in forest.visits:
            first, last = forest.block_ptr[b], forest.block_ptr[b + 1]
            for p in range(first, last):
                i = forest.nodes[p]
                for a in range(n_states):
                    nu[p, a] = phi[i, a, row]
            for k in range(forest.out_ptr[b], forest.out_ptr[b + 1]):
                p, link, s = forest.out_positions[k], forest.out_links[k], z[forest.out_neighbors[k]]
                e = table_of(link, t)
                for a in range(n_states):
                    nu[p, a] *= psi[e, link & 1, s, a]
            for p in range(first, last):
                j, link = forest.parent[p], forest.parent_link[p]
                if j < 0:
                    continue
                e, total = table_of(link, t), 0.0
                for a in range(n_states):
                    total += nu[p, a]
                total = 1.0 / total
                for a in range(n_states):
                    message = 0.0
                    for s in range(n_states):
                        message += psi[e, link & 1, a, s] * nu[p, s]
                    nu[j, a] *= message * total
            for p in range(last - 1, first - 1, -1):
                j, link = forest.parent[p], forest.parent_link[p]
                if j >= 0:
                    e, s = table_of(link, t), z[forest.nodes[j]]
                    for a in range(n_states):
                        nu[p, a] *= psi[e, link & 1, s, a]
                z[forest.nodes[p]] = draw_cumulated(nu[p], n_states, rng)
