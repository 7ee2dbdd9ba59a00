"""Tree-blocked Gibbs sampling of factor graphs: Rivasseau (2005, figures 4.5 and 4.11).

As `tree_sampling`, with factors of any size: messages go from the leaves to the roots of the factor
trees of a block, then every clique's variables are drawn jointly given its variable nearest to the
root (eq. 4.3; the product of eq. 4.4 in one draw). Blocks of single variables are the ordinary Gibbs
sampler. Each block is drawn from its exact conditional, so that the field is left invariant.

Messages are kept as logarithms (d, largest cardinality); sums over a clique run over probabilities,
and over logarithms where these underflow, so that couplings may have any strength, -inf included.
`forest` is a FactorForestArrays namedtuple, and `z` (d,) is one chain.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import largest_score, log_sum

TINY = 1e-250
"""Sums of probabilities below this are computed again from logarithms."""


class Factors(NamedTuple):
    """Tables of all factors.

    `tables` and `psi` (T,): log tables one after the other; potentials with largest entry one. `level`
    (F,): logs of the scales of the potentials.
    """

    tables: np.ndarray
    psi: np.ndarray
    level: np.ndarray


class Messages(NamedTuple):
    """What is known of one chain's present block.

    `nu` and `pi` (d, largest cardinality): log P(x_i = a | descendants and outside) up to constants;
    marginals given the outside. `joint` and `weights` (cells,): of the clique that is looked at:
    products of its children's messages; weights of their joint states.
    """

    nu: np.ndarray
    pi: np.ndarray
    joint: np.ndarray
    weights: np.ndarray


@jit
def scale_factors(table_ptr, factors):
    """Fill `psi` and `level` of `Factors` from the tables, which begin at `table_ptr` (F + 1,)."""
    tables, psi, level = factors
    for f in range(level.shape[0]):
        top = largest_score(tables[table_ptr[f] : table_ptr[f + 1]])
        level[f] = top if top > -np.inf else 0.0
        for cell in range(table_ptr[f], table_ptr[f + 1]):
            psi[cell] = np.exp(tables[cell] - level[f])


@jit
def fixed_offset(forest, item, f, z):
    """First cell of factor f given its variables outside the block; `item` counts in `fixed_ptr`."""
    cell = forest.table_ptr[f]
    for k in range(forest.fixed_ptr[item], forest.fixed_ptr[item + 1]):
        cell += forest.fixed_stride[k] * z[forest.fixed[k]]
    return cell


@jit
def child_products(messages, forest, q):
    """Products of the children's messages in clique q into `joint`; the log of their scale."""
    joint, nu = messages.joint, messages.nu
    joint[0] = 1.0
    n, scale = 1, 0.0
    for k in range(forest.child_ptr[q], forest.child_ptr[q + 1]):
        j = forest.children[k]
        n_states = forest.cards[j]
        top = largest_score(nu[j, :n_states])
        if top > -np.inf:
            scale += top
        for cell in range(n - 1, -1, -1):
            value = joint[cell]
            for s in range(n_states - 1, -1, -1):
                joint[cell * n_states + s] = value * np.exp(nu[j, s] - top) if top > -np.inf else 0.0
        n *= n_states
    return scale


@jit
def clique_weights(messages, scale, factors, forest, q, cell):
    """Weight of each joint state of the children of clique q, with the parent's cell given.

    Into `weights`, up to a factor, after `child_products` with this scale. Returns their sum and the log of
    this factor.
    """
    nu, joint, weights = messages.nu, messages.joint, messages.weights
    tables, psi, level = factors
    f = forest.clique_factor[q]
    first, n = forest.cell_ptr[q], forest.cell_ptr[q + 1] - forest.cell_ptr[q]
    total = 0.0
    for k in range(n):
        weights[k] = joint[k] * psi[cell + forest.cell_offset[first + k]]
        total += weights[k]
    if total >= TINY:
        return total, scale + level[f]
    for k in range(n):
        weights[k] = tables[cell + forest.cell_offset[first + k]]
        rest = k
        for c in range(forest.child_ptr[q + 1] - 1, forest.child_ptr[q] - 1, -1):
            j = forest.children[c]
            weights[k] += nu[j, rest % forest.cards[j]]
            rest //= forest.cards[j]
    top = largest_score(weights[:n])
    if top == -np.inf:
        for k in range(n):
            weights[k] = 0.0
        return 0.0, 0.0
    total = 0.0
    for k in range(n):
        weights[k] = np.exp(weights[k] - top)
        total += weights[k]
    return total, top


@jit
def filter_block(messages, z, factors, forest, b):
    """Fill `nu` of the variables of block b."""
    nu, tables = messages.nu, factors.tables
    n_cliques = forest.clique_factor.shape[0]
    for p in range(forest.block_ptr[b], forest.block_ptr[b + 1]):
        i = forest.variables[p]
        for a in range(forest.cards[i]):
            nu[i, a] = 0.0
        for k in range(forest.attached_ptr[p], forest.attached_ptr[p + 1]):
            cell = fixed_offset(forest, n_cliques + k, forest.attached_factor[k], z)
            for a in range(forest.cards[i]):
                nu[i, a] += tables[cell + a * forest.attached_stride[k]]
    for q in range(forest.clique_ptr[b], forest.clique_ptr[b + 1]):
        cell = fixed_offset(forest, q, forest.clique_factor[q], z)
        scale = child_products(messages, forest, q)
        i = forest.clique_parent[q]
        for a in range(forest.cards[i]):
            here = cell + a * forest.parent_stride[q]
            total, log_scale = clique_weights(messages, scale, factors, forest, q, here)
            nu[i, a] += np.log(total) + log_scale


@jit
def draw_index(weights, n, total, u):
    """Index drawn with probability weights[k] / total, k < n; `weights` (cells,)."""
    mass = u * total
    last = 0
    for k in range(n):
        if weights[k] > 0.0:
            last = k
            if mass < weights[k]:
                break
            mass -= weights[k]
    return last


@jit
def draw_block(messages, z, factors, forest, b, rng):
    """Draw block b from the roots to the leaves into `z`, after `filter_block`."""
    nu, weights = messages.nu, messages.weights
    for k in range(forest.root_ptr[b], forest.root_ptr[b + 1]):
        i = forest.roots[k]
        n = forest.cards[i]
        top = largest_score(nu[i, :n])
        total = 0.0
        for a in range(n):
            weights[a] = np.exp(nu[i, a] - top)
            total += weights[a]
        z[i] = draw_index(weights, n, total, rng.random())
    for q in range(forest.clique_ptr[b + 1] - 1, forest.clique_ptr[b] - 1, -1):
        cell = fixed_offset(forest, q, forest.clique_factor[q], z)
        cell += z[forest.clique_parent[q]] * forest.parent_stride[q]
        scale = child_products(messages, forest, q)
        total, _ = clique_weights(messages, scale, factors, forest, q, cell)
        k = draw_index(weights, forest.cell_ptr[q + 1] - forest.cell_ptr[q], total, rng.random())
        for c in range(forest.child_ptr[q + 1] - 1, forest.child_ptr[q] - 1, -1):
            j = forest.children[c]
            z[j] = k % forest.cards[j]
            k //= forest.cards[j]


@jit
def add_marginals(messages, z, factors, forest, b, variable_sum, factor_sum):
    """Second half of belief propagation in block b, after `filter_block` and before the draw.

    Marginals of the variables given the outside, into `pi` and added to `variable_sum`, (d, largest
    cardinality); those of the factors, weighted by `factor_weight`, added to `factor_sum` (T,).
    """
    nu, pi, weights = messages.nu, messages.pi, messages.weights
    n_cliques = forest.clique_factor.shape[0]
    for k in range(forest.root_ptr[b], forest.root_ptr[b + 1]):
        i = forest.roots[k]
        n = forest.cards[i]
        level_i = log_sum(nu[i, :n])
        for a in range(n):
            pi[i, a] = np.exp(nu[i, a] - level_i)
    for q in range(forest.clique_ptr[b + 1] - 1, forest.clique_ptr[b] - 1, -1):
        f, i = forest.clique_factor[q], forest.clique_parent[q]
        start = fixed_offset(forest, q, f, z)
        scale = child_products(messages, forest, q)
        for c in range(forest.child_ptr[q], forest.child_ptr[q + 1]):
            for s in range(forest.cards[forest.children[c]]):
                pi[forest.children[c], s] = 0.0
        for a in range(forest.cards[i]):
            if pi[i, a] == 0.0:
                continue
            cell = start + a * forest.parent_stride[q]
            total, _ = clique_weights(messages, scale, factors, forest, q, cell)
            for k in range(forest.cell_ptr[q + 1] - forest.cell_ptr[q]):
                p = weights[k] / total * pi[i, a]
                offset = forest.cell_offset[forest.cell_ptr[q] + k]
                factor_sum[cell + offset] += forest.factor_weight[f] * p
                rest = k
                for c in range(forest.child_ptr[q + 1] - 1, forest.child_ptr[q] - 1, -1):
                    j = forest.children[c]
                    pi[j, rest % forest.cards[j]] += p
                    rest //= forest.cards[j]
    for p in range(forest.block_ptr[b], forest.block_ptr[b + 1]):
        i = forest.variables[p]
        for a in range(forest.cards[i]):
            variable_sum[i, a] += pi[i, a]
        for k in range(forest.attached_ptr[p], forest.attached_ptr[p + 1]):
            f = forest.attached_factor[k]
            cell = fixed_offset(forest, n_cliques + k, f, z)
            for a in range(forest.cards[i]):
                factor_sum[cell + a * forest.attached_stride[k]] += forest.factor_weight[f] * pi[i, a]


@jit
def factor_tree_sweeps(x, tables, forest, n_sweeps, turns, rng, variable_sum, factor_sum):
    """Move every row of `x` by `n_sweeps` sweeps over the blocks of `forest`, in place.

    `x` (m, d) int8: state indices; one chain per row, each of positive probability. `tables` (T,) and
    `forest` (FactorForestArrays). `turns`: whether every second sweep takes the blocks from the last to
    the first, so that two are reversible. `variable_sum` (m, d, largest cardinality). `factor_sum` (m,
    T): per chain, the conditional marginals (eq. 4.14) are added here; nothing is if their first axis is
    empty.
    """
    n_most = 0
    for i in range(forest.cards.shape[0]):
        n_most = max(n_most, forest.cards[i])
    factors = Factors(tables, np.empty(tables.shape[0]), np.empty(forest.table_ptr.shape[0] - 1))
    scale_factors(forest.table_ptr, factors)
    n_cells = n_most
    for q in range(forest.cell_ptr.shape[0] - 1):
        n_cells = max(n_cells, forest.cell_ptr[q + 1] - forest.cell_ptr[q])
    d = x.shape[1]
    messages = Messages(
        np.empty((d, n_most)), np.empty((d, n_most)), np.empty(n_cells), np.empty(n_cells)
    )
    n_blocks = forest.block_ptr.shape[0] - 1
    for c in range(x.shape[0]):
        z = x[c]
        for k in range(n_sweeps):
            for j in range(n_blocks):
                b = n_blocks - 1 - j if turns and k % 2 else j
                filter_block(messages, z, factors, forest, b)
                if variable_sum.shape[0] > 0:
                    add_marginals(messages, z, factors, forest, b, variable_sum[c], factor_sum[c])
                draw_block(messages, z, factors, forest, b, rng)
