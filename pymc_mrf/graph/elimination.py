"""Elimination orders and junction trees: what exact inference costs, known before it is paid for.

Eliminating the variables one by one turns a graph into a tree of cliques (Lauritzen &
Spiegelhalter, 1988; Koller & Friedman, 2009, ch. 9 and 10). Time and memory of every exact
computation are proportional to the sum of the sizes of the clique tables, which depends on the
order. Finding the best order is NP-hard; `elimination_order` tries three rules and keeps the
cheapest result.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


def adjacency_sets(scopes: Iterable[Sequence[int]], n_variables: int) -> list[set[int]]:
    """Neighbour sets of the graph in which the variables of each scope are joined."""
    adjacency: list[set[int]] = [set() for _ in range(n_variables)]
    for scope in scopes:
        for u in scope:
            adjacency[u].update(scope)
    for u, near in enumerate(adjacency):
        near.discard(u)
    return adjacency


def _greedy_order(adjacency: list[set[int]], weight: list[float], *, fill: bool) -> list[int]:
    """Min-fill or min-degree order, ties by index; degree is weighted by log cardinality."""
    adjacency = [set(near) for near in adjacency]

    def score(v: int) -> tuple[float, float]:
        near = adjacency[v]
        degree = weight[v] + sum(weight[u] for u in near)
        if not fill:
            return degree, 0.0
        # every missing edge among the neighbours is counted from both of its ends
        missing = sum(len(near) - 1 - len(near & adjacency[u]) for u in near)
        return missing, degree

    current = [score(v) for v in range(len(adjacency))]
    heap = [(current[v], v) for v in range(len(adjacency))]
    heapq.heapify(heap)
    alive = [True] * len(adjacency)
    order: list[int] = []
    while heap:
        key, v = heapq.heappop(heap)
        if not alive[v] or key != current[v]:
            continue
        near = adjacency[v]
        n_left = len(adjacency) - len(order)
        if len(near) == n_left - 1 and all(len(adjacency[u]) == n_left - 1 for u in near):
            return [*order, v, *sorted(near)]  # what is left is complete: no choice matters
        order.append(v)
        alive[v] = False
        complete = not fill or key[0] == 0
        touched = set(near)
        for u in near:
            adjacency[u].discard(v)
        if not fill or not complete:
            for u in near:
                adjacency[u] |= near
                adjacency[u].discard(u)
        if not complete:
            for u in near:
                touched |= adjacency[u]
        for u in touched:
            new = score(u)
            if new != current[u]:
                current[u] = new
                heapq.heappush(heap, (new, u))
    return order


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


def count_cells(cliques: Iterable[Clique], cards: Sequence[int]) -> int:
    """Sum of the clique table sizes."""
    return sum(math.prod(cards[v] for v in c.frontal + c.separator) for c in cliques)


def _sweep_order(adjacency: list[set[int]]) -> list[int]:
    """Reverse Cuthill-McKee order: a front that sweeps over the graph, at its best on lattices."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    indptr = np.cumsum([0] + [len(near) for near in adjacency])
    indices = np.fromiter((u for near in adjacency for u in sorted(near)), np.int32, indptr[-1])
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(adjacency),) * 2)
    return reverse_cuthill_mckee(matrix, symmetric_mode=True).tolist()


def elimination_order(scopes: Iterable[Sequence[int]], cardinalities: Sequence[int]) -> list[int]:
    """Cheapest of the min-degree, reverse Cuthill-McKee and min-fill elimination orders.

    Parameters
    ----------
    scopes : iterable of sequences of int
        Variables (0..d-1) that occur together in a factor, for instance the edges of a graph.
    cardinalities : (d,) sequence of int
        Number of states of each variable.

    Returns
    -------
    list of int
        All variables, the first eliminated first. Deterministic.

    Notes
    -----
    Min-fill (Kjærulff, 1990) is usually the best rule and the slowest; it is left out where the
    other two need more than 2 ** 35 cells, far out of reach. The sweep wins on
    large lattices: 16 x 16 binary variables need 7e6 cells, against 8e6 to 2e7 for min-fill.
    """
    cards = list(cardinalities)
    adjacency = adjacency_sets(scopes, len(cards))
    weight = [math.log2(k) for k in cards]

    def cost(order: Sequence[int]) -> int:
        return count_cells(maximal_cliques(higher_neighbors(adjacency, order), order), cards)

    orders = [_greedy_order(adjacency, weight, fill=False), _sweep_order(adjacency)]
    if min(map(cost, orders)) <= 2**35:
        orders.append(_greedy_order(adjacency, weight, fill=True))
    return min(orders, key=cost)
