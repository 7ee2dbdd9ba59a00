"""How the tables of a junction tree are laid out, so that kernels pass over memory in long runs.

The order of the variables inside a clique is free, except that the frontal ones lead. Wherever the
fastest variables of a clique and of its parent are the same, a message meets the parent's table in
contiguous runs. And factors are gathered: where a clique has several, their product is formed on a
*subclique*, which is part of the clique, so that one pass over the large table does for all of them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from pymc_mrf.graph.elimination import Clique

TAIL = 16
"""Cells of the contiguous runs that are aimed at; longer ones are not faster."""

LARGE_CLIQUE = 256
"""Number of cells from which factors are gathered."""


class Node(NamedTuple):
    """A clique or a subclique, its variables in storage order; `parent` is -1 for a root."""

    frontal: tuple[int, ...]
    separator: tuple[int, ...]
    parent: int
    depth: int


def layout(
    cliques: Sequence[Clique], scopes: Sequence[Sequence[int]], cards: Sequence[int]
) -> tuple[list[Node], list[int]]:
    """Nodes in post-order, and the node of each factor.

    A factor goes to the smallest clique that contains its scope, or to a subclique of that.
    """
    home = {v: j for j, c in enumerate(cliques) for v in c.frontal}
    parent = [home[c.separator[0]] if c.separator else -1 for c in cliques]
    contents, n_frontal = _ordered(cliques, parent, cards), [len(c.frontal) for c in cliques]
    own = _smallest_cliques(contents, scopes, cards)
    waiting = list(range(len(contents)))
    while waiting:
        j = waiting.pop()
        for content, factors in _gathered(contents[j], own[j], scopes, cards):
            waiting.append(len(contents))
            contents.append(content)
            n_frontal.append(0)
            parent.append(j)
            own.append(factors)
            own[j] = [f for f in own[j] if f not in factors]
    return _post_order(contents, n_frontal, parent, own)


def _post_order(
    contents: list[tuple[int, ...]], n_frontal: list[int], parent: list[int], own: list[list[int]]
) -> tuple[list[Node], list[int]]:
    """Sort the cliques so that each follows all of the subtree below it."""
    children: list[list[int]] = [[] for _ in contents]
    stack: list[int] = []
    for j, p in enumerate(parent):
        (stack if p < 0 else children[p]).append(j)
    order: list[int] = []
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    order.reverse()
    rank = {j: k for k, j in enumerate(order)}
    depth = {-1: -1}
    for j in reversed(order):
        depth[j] = depth[parent[j]] + 1
    nodes = []
    factor_node = [0] * sum(len(factors) for factors in own)
    for k, j in enumerate(order):
        n = n_frontal[j]
        nodes.append(Node(contents[j][:n], contents[j][n:], rank.get(parent[j], -1), depth[j]))
        for f in own[j]:
            factor_node[f] = k
    return nodes, factor_node


def _smallest_cliques(
    contents: Sequence[tuple[int, ...]], scopes: Sequence[Sequence[int]], cards: Sequence[int]
) -> list[list[int]]:
    cells = [math.prod(cards[v] for v in content) for content in contents]
    containing: list[set[int]] = [set() for _ in cards]
    for j, content in enumerate(contents):
        for v in content:
            containing[v].add(j)
    own: list[list[int]] = [[] for _ in contents]
    for f, scope in enumerate(scopes):
        fewest = min((containing[v] for v in scope), key=len)
        shared = [j for j in fewest if all(j in containing[v] for v in scope)]
        own[min(shared, key=lambda j: (cells[j], j))].append(f)
    return own


def _tail(content: Sequence[int], shared: set[int], cards: Sequence[int]) -> list[int]:
    """Last variables of `content`, as far as they are shared and until their table has `TAIL` cells."""
    tail: list[int] = []
    for v in reversed(content):
        if v not in shared or math.prod(cards[u] for u in tail) >= TAIL:
            break
        tail.insert(0, v)
    return tail


def _ordered(
    cliques: Sequence[Clique], parent: Sequence[int], cards: Sequence[int]
) -> list[tuple[int, ...]]:
    """Order the variables of every clique, frontal ones first.

    From the root down, a clique keeps the last variables of its parent as long as its own largest
    child shares them too; otherwise those come last that most cells of the subtree below depend on.
    """
    n = len(cliques)
    cells = [math.prod(cards[v] for v in c.frontal + c.separator) for c in cliques]
    below: list[dict[int, int]] = [dict.fromkeys(c.frontal + c.separator, 0) for c in cliques]
    largest = [-1] * n
    for j, p in enumerate(parent):
        for v in below[j]:
            below[j][v] += cells[j]
        if p >= 0:
            for v in cliques[j].separator:
                below[p][v] += below[j][v]
            if largest[p] < 0 or cells[j] > cells[largest[p]]:
                largest[p] = j
    contents: list[tuple[int, ...]] = [()] * n
    for j in range(n - 1, -1, -1):
        clique, share = cliques[j], below[j]
        frontal = sorted(clique.frontal, key=share.__getitem__)
        separator = sorted(clique.separator, key=share.__getitem__)
        if parent[j] >= 0:
            tail = _tail(contents[parent[j]], set(separator), cards)
            long = math.prod(cards[v] for v in tail) >= TAIL
            child = largest[j]
            if long and (child < 0 or set(tail) <= set(cliques[child].separator)):
                separator = [v for v in separator if v not in tail] + tail
        contents[j] = (*frontal, *separator)
    return contents


def _gathered(
    content: tuple[int, ...], own: list[int], scopes: Sequence[Sequence[int]], cards: Sequence[int]
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Subcliques of a clique and the factors that move there from those in `own`."""
    n_cells = math.prod(cards[v] for v in content)
    if n_cells < LARGE_CLIQUE or not own:
        return []
    scope = _union(content, own, scopes)
    tail = _tail(content, set(content), cards)
    if any(v in tail for v in scope):  # so that the subclique meets the clique in long runs
        wider = tuple(v for v in content if v in scope or v in tail)
        if 4 * math.prod(cards[v] for v in wider) <= n_cells:
            return [(wider, own)]
    if len(own) == 1:
        return []
    if 2 * math.prod(cards[v] for v in scope) <= n_cells:
        return [(scope, own)]
    groups = []
    left = own
    for v in content[:2]:
        group = [f for f in left if v not in scopes[f]]
        left = [f for f in left if v in scopes[f]]
        if len(group) > 1:
            groups.append((_union(content, group, scopes), group))
    return groups


def _union(content: tuple[int, ...], own: list[int], scopes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Variables of these factors, in the order of the clique."""
    together = {v for f in own for v in scopes[f]}
    return tuple(v for v in content if v in together)
