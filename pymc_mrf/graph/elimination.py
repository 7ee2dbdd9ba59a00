"""Elimination orders, junction trees and factors: what exact inference costs, known before it is paid for.

Eliminating the variables one by one turns a graph into a tree of cliques (Lauritzen & Spiegelhalter,
1988; Koller & Friedman, 2009, ch. 9 and 10). Time and memory of every exact computation are proportional
to the sum of the sizes of the clique tables, which depends on the order. Finding the best order is
NP-hard; `elimination_order` tries three rules and keeps the cheapest result. A rule is given up as soon
as its tables are too large to be of use. The Cholesky factor of a matrix with the zeros of a graph has
an entry for each neighbour that is left when a node is eliminated.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.junction_trees.elimination import (
    MIN_DEGREE,
    MIN_FILL,
    clique_contents,
    greedy_elimination,
)

HOPELESS = 2**10
"""Min-fill is not tried where the other rules need more than this many times the cells that are of use."""

WEIGHT_UNITS = 2**32
"""Units of one bit in the weights of the greedy rules."""

MANY_NEIGHBORS = 300
"""Sum of the degrees up to which the interpreter eliminates in less than 0.1 s."""


def adjacency_sets(scopes: Iterable[Sequence[int]], n_variables: int) -> list[set[int]]:
    """Neighbour sets of the graph in which the variables of each scope are joined."""
    adjacency: list[set[int]] = [set() for _ in range(n_variables)]
    for scope in scopes:
        for u in scope:
            adjacency[u].update(scope)
    for u, near in enumerate(adjacency):
        near.discard(u)
    return adjacency


def higher_neighbors(adjacency: list[set[int]], order: Sequence[int]) -> list[list[int]]:
    """Neighbours of each variable at its elimination, sorted by elimination position.

    A variable's clique less itself passes to the first of these (its parent): symbolic
    factorisation, linear in the size of the result.
    """
    position = [0] * len(order)
    for p, v in enumerate(order):
        position[v] = p
    pending = [{u for u in near if position[u] > position[v]} for v, near in enumerate(adjacency)]
    higher: list[list[int]] = [[] for _ in order]
    for v in order:
        higher[v] = sorted(pending[v], key=position.__getitem__)
        if higher[v]:
            pending[higher[v][0]].update(higher[v][1:])
        pending[v] = set()
    return higher


class Clique(NamedTuple):
    """Variables eliminated here, and those that a later clique shares; elimination order."""

    frontal: tuple[int, ...]
    separator: tuple[int, ...]


def maximal_cliques(higher: list[list[int]], order: Sequence[int]) -> list[Clique]:
    """Merge every clique into a child that contains it; children before parents."""
    home: dict[int, list[int]] = {}
    for v in order:
        group = home.setdefault(v, [])
        group.append(v)
        if higher[v]:
            parent = higher[v][0]
            if parent not in home and len(higher[parent]) == len(higher[v]) - 1:
                home[parent] = group
    position = {v: p for p, v in enumerate(order)}
    groups = {id(group): group for group in home.values()}.values()
    cliques = [Clique(tuple(group), tuple(higher[group[-1]])) for group in groups]
    return sorted(cliques, key=lambda clique: position[clique.frontal[-1]])


class Adjacency(NamedTuple):
    """Neighbours of variable v are ``neighbors[indptr[v] : indptr[v + 1]]``, sorted; int32 arrays."""

    indptr: np.ndarray
    neighbors: np.ndarray


def adjacency_arrays(scopes: Iterable[Sequence[int]], n_variables: int) -> Adjacency:
    """Neighbour lists of the graph in which the variables of each scope are joined."""
    from scipy.sparse import csr_array

    by_length: dict[int, Any] = {}
    if isinstance(scopes, np.ndarray):
        by_length[scopes.shape[1]] = scopes
    else:
        for scope in scopes:
            by_length.setdefault(len(scope), []).append(scope)
    ends = [np.zeros((2, 0), dtype=np.int32)]
    for length, group in by_length.items():
        columns = np.array(group, dtype=np.int32).T
        for a, b in combinations(range(length), 2):
            ends += [columns[[a, b]], columns[[b, a]]]
    pairs = np.concatenate(ends, axis=1)
    matrix = csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(n_variables, n_variables))
    matrix.sum_duplicates()
    return Adjacency(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32))


class Cost(NamedTuple):
    """Sum of the sizes of the clique tables; variables of the largest clique, less one."""

    n_cells: int
    width: int


def _compiled_if_worth_it(kernel: Any, adjacency: Adjacency) -> Any:
    """Leave small graphs to the interpreter.

    Of 10 to 64 nodes the first one takes .2 s of CPU time so; 2.7 s where the kernels are yet to be compiled,
    and .33 s where they are only loaded.
    """
    return kernel if len(adjacency.neighbors) > MANY_NEIGHBORS else kernel.py_func


def order_cost(adjacency: Adjacency, cards: Sequence[int], order: Sequence[int] | np.ndarray) -> Cost:
    """Cost of an elimination order, counted without forming its cliques."""
    states, kind = np.unique(np.array(cards, dtype=np.int64), return_inverse=True)
    count_contents = _compiled_if_worth_it(clique_contents, adjacency)
    count, is_contained = count_contents(*adjacency, np.array(order, dtype=np.int64), kind, len(states))
    contents = count[~is_contained]
    bases = states.tolist()  # numbers of cells overflow those of numpy
    n_cells = sum(
        n * math.prod(k**m for k, m in zip(bases, content, strict=True))
        for content, n in Counter(map(tuple, contents.tolist())).items()
    )
    return Cost(n_cells, int(contents.sum(axis=1).max()) - 1)


def _sweep_order(adjacency: Adjacency) -> np.ndarray:
    """Reverse Cuthill-McKee order: a front that sweeps over the graph, at its best on lattices."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    indptr, neighbors = adjacency
    matrix = csr_array((np.ones(len(neighbors)), neighbors, indptr), shape=(len(indptr) - 1,) * 2)
    return reverse_cuthill_mckee(matrix, symmetric_mode=True).astype(np.int64)


def elimination_order(
    adjacency: Adjacency, cardinalities: Sequence[int], most_cells: int
) -> tuple[list[int], Cost]:
    """Cheapest of the min-degree, reverse Cuthill-McKee and min-fill elimination orders.

    `adjacency`: neighbours of the variables 0..d-1: those with which they occur in a factor.
    `cardinalities` (d,) sequence of int: number of states of each variable. `most_cells`: table cells
    beyond which no order is of use. Returns `order`: all variables, the first eliminated first.
    Deterministic. `cost`.

    Min-fill (Kjærulff, 1990) is usually the best rule and the slowest; it is left out where the other two
    need more than `HOPELESS` times the cells that are of use. The sweep wins on large lattices: 16 x 16
    binary variables need 7e6 cells, against 8e6 to 2e7 for min-fill.

    The greedy rules stop where they are hopeless likewise, or worse than another rule, and the sweep
    continues: an order out of reach costs no more than its tractable part, and its cost tells how far it is.
    """
    states = np.array(cardinalities, dtype=np.float64)
    weight = np.rint(WEIGHT_UNITS * np.log2(states)).astype(np.int64)
    sweep = _sweep_order(adjacency)
    best, least = sweep, order_cost(adjacency, cardinalities, sweep)
    for rule in (MIN_DEGREE, MIN_FILL):
        if rule == MIN_FILL and least.n_cells > HOPELESS * most_cells:
            break
        order = np.empty_like(sweep)
        limit = float(min(least.n_cells, HOPELESS * most_cells))
        eliminate = _compiled_if_worth_it(greedy_elimination, adjacency)
        n = eliminate(*adjacency, states, weight, rule, limit, order)
        is_left = np.ones(len(order), dtype=bool)
        is_left[order[:n]] = False
        order[n:] = sweep[is_left[sweep]]
        cost = order_cost(adjacency, cardinalities, order)
        # the trees of sweeps are deep
        if cost.n_cells < least.n_cells or (cost.n_cells == least.n_cells and best is sweep):
            best, least = order, cost
    return best.tolist(), least


class CholeskyPattern(NamedTuple):
    """Entries of the factor L of P K P', P being an order of elimination with little fill-in.

    `indptr` (d + 1,) int64: column j of L has the entries ``indptr[j] : indptr[j + 1]``, the diagonal
    first. `rows` (m,) int64: ascending within a column. `place` (d + r,) int64: where in `rows` the
    diagonal entry of each node is, and that of each edge.
    """

    indptr: np.ndarray
    rows: np.ndarray
    place: np.ndarray


def little_fill_order(links) -> np.ndarray:
    """Order of elimination by minimum degree of a sparse symmetric matrix `links` (d, d) of scipy."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import spilu

    # a factorisation that drops everything finds no more than the order of elimination
    options = dict(diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
    nothing = spilu(csc_array(links), 1.0, 1.0, permc_spec="MMD_AT_PLUS_A", **options)
    return np.argsort(nothing.perm_c)


@lru_cache(maxsize=16)
def cholesky_pattern(graph: PairwiseGraph) -> CholeskyPattern:
    """Find the pattern of a matrix with an entry for each node and each edge of `graph`."""
    from scipy.sparse import coo_array

    d, (u, v) = graph.n_nodes, graph.edges.T
    degrees = np.bincount(graph.edges.ravel(), minlength=d) + 1.0
    entries = np.concatenate([degrees, np.full(2 * graph.n_edges, -1.0)])
    nodes = np.arange(d)
    where = np.concatenate([nodes, u, v]), np.concatenate([nodes, v, u])
    order = little_fill_order(coo_array((entries, where), shape=(d, d)))
    position = np.empty(d, dtype=np.int64)
    position[order] = nodes
    ends = np.sort(position[graph.edges], axis=1)
    later: list[set[int]] = [set() for _ in range(d)]
    for low, high in ends.tolist():
        later[low].add(high)
    columns = []
    for j, above in enumerate(later):  # what is eliminated joins all that come later
        columns.append(np.array([j, *sorted(above)], dtype=np.int64))
        if above:
            parent = int(columns[-1][1])
            later[parent] |= above - {parent}
    indptr = np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.int64)
    rows = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
    keys = np.repeat(nodes, np.diff(indptr)) * d + rows  # ascending
    of_edges = np.searchsorted(keys, ends[:, 0] * d + ends[:, 1])
    return CholeskyPattern(indptr, rows, np.concatenate([indptr[position], of_edges]).astype(np.int64))
