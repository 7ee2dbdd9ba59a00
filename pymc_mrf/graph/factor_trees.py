"""Trees of a factor graph's variables: Rivasseau (2005), definition 4.3.2, and factors that tie trees.

A factor belongs to the tree that contains two or more of its variables, of which there may be one
(rule 5). Trees grow over variables, and a factor belongs to a tree from its second variable on. The search of
sec. 5.3, in which a tree takes all factors around its variables, is in
``examples/rivasseau_2005/paper_partition.py``.

Trees are drawn one given the others. If the possible configurations are all combinations of what is
possible in each tree, every one of them is reached from every other; so it is if every binary variable
has a state that is possible whatever the others are, as in the hard-core model, since all of them can go
there one by one. If -inf entries tie two trees otherwise (their variables must agree, say), neither may
be able to move while the other stands still: `tying_factors` finds them.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.tree_growth import BLACK, GRAY, RED, WHITE

POCKET_SIZE = 20
"""Groups of variables up to this size are not cut off from the rest. Larger ones gain little here."""


def factor_trees(
    n_variables: int,
    scopes: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    order: str,
    backtrack: bool,
) -> list[list[int]]:
    """Trees of sorted variables; arguments as in `pymc_mrf.graph.tree_partition.tree_partition`."""
    rank = rng.permutation(n_variables).tolist()
    search = _PocketSearch(n_variables, scopes, rank, order=order, backtrack=backtrack)
    return [sorted(tree) for tree in search.trees()]


class _PocketSearch:
    """Greedy trees of variables that leave no small pockets behind.

    A variable is gray if one factor leads from it to the present tree, black if several do, if that
    factor belongs to an earlier tree, or if it was refused.
    """

    def __init__(
        self,
        d: int,
        scopes: Sequence[Sequence[int]],
        rank: Sequence[int],
        *,
        order: str,
        backtrack: bool,
    ) -> None:
        self.rank = rank
        self.random = order == "random"
        self.backtrack = backtrack
        self.left = [set(scope) for scope in scopes]
        """Variables of each factor that are in no earlier tree."""
        self.owned = [False] * len(scopes)
        """Factors that belong to an earlier tree."""
        self.factors: list[list[int]] = [[] for _ in range(d)]
        for f, scope in enumerate(scopes):
            if len(scope) > 1:
                for v in scope:
                    self.factors[v].append(f)
        self.color: dict[int, int] = {}
        self.n_red: dict[int, int] = {}
        """Variables of a factor in the present tree."""

    def _degree(self, v: int) -> int:
        return sum(not self.owned[f] and len(self.left[f]) > 1 for f in self.factors[v])

    def trees(self) -> list[list[int]]:
        by_degree = [(self._degree(v), self.rank[v], v) for v in range(len(self.factors))]
        heapq.heapify(by_degree)
        done: set[int] = set()
        trees = []
        while by_degree:
            degree, rank, v = heapq.heappop(by_degree)
            if v in done:
                continue
            if self._degree(v) != degree:
                heapq.heappush(by_degree, (self._degree(v), rank, v))
                continue
            tree = self._grow(v)
            trees.append(tree)
            done.update(tree)
            for u in tree:
                for f in self.factors[u]:
                    self.left[f].discard(u)
            for f, n_red in self.n_red.items():
                self.owned[f] |= n_red > 1
        return trees

    def _grow(self, start: int) -> list[int]:
        color = self.color = {start: GRAY}
        self.n_red = {}
        queue: list[tuple] = [(start,)]
        tree: list[int] = []
        while queue:
            u = heapq.heappop(queue)[-1]
            if color[u] == BLACK:
                continue
            if self.backtrack and self._cuts_pocket_off(u):
                color[u] = BLACK
                continue
            color[u] = RED
            tree.append(u)
            for v in self._reach(u):
                if color[v] == GRAY:
                    key = () if self.random else self._key(v, len(tree))
                    heapq.heappush(queue, (*key, self.rank[v], v))
        return tree

    def _key(self, v: int, step: int) -> tuple:
        return step, sum(f not in self.n_red for f in self.factors[v])

    def _reach(self, u: int) -> list[int]:
        """Colour what the new member `u` of the tree touches; return what was white."""
        fresh = []
        for f in self.factors[u]:
            n_red = self.n_red.get(f, 0)
            self.n_red[f] = n_red + 1
            if n_red:  # its other variables are gray already
                continue
            for v in self.left[f]:
                color = self.color.get(v, WHITE)
                if color == WHITE:
                    fresh.append(v)
                if color != RED:
                    blocked = self.owned[f] or color != WHITE
                    self.color[v] = BLACK if blocked else GRAY
        return fresh

    def _open(self, f: int) -> bool:
        """Whether a later tree can still go through factor f."""
        return not self.owned[f] and self.n_red.get(f, 0) < 2

    def _cuts_pocket_off(self, u: int) -> bool:
        color = self.color
        color[u] = RED
        claimed = -1
        near: set[int] = set()
        blocked: set[int] = set()
        for f in self.factors[u]:
            if not self._open(f):
                continue
            if self.n_red.get(f, 0) == 1:
                claimed = f
            for v in self.left[f]:
                c = color.get(v, WHITE)
                if c == RED:
                    continue
                near.add(v)
                if c == BLACK or (c == GRAY and f != claimed):
                    blocked.add(v)
        large: set[int] = set()
        cuts = False
        for t in blocked:
            if t not in large:
                region, is_pocket = self._region(t, claimed, large)
                if is_pocket:
                    # unless it holds all that u touches: then nothing falls apart
                    cuts = not near <= region
                    break
                large |= region
        color[u] = GRAY
        return cuts

    def _region(self, t: int, claimed: int, large: set[int]) -> tuple[set[int], bool]:
        """Variables that a later tree could reach from `t`, and whether they are all of a pocket."""
        region = {t}
        stack = [t]
        while stack:
            x = stack.pop()
            for f in self.factors[x]:
                if f == claimed or not self._open(f):
                    continue
                # an open factor has at most one variable in the tree, and u
                if len(self.left[f]) > POCKET_SIZE + 2:
                    return region, False
                near = {y for y in self.left[f] if self.color.get(y) != RED} - region
                region |= near
                if len(region) > POCKET_SIZE or not large.isdisjoint(near):
                    return region, False
                stack += near
        return region, True


def tying_factors(
    graph: FactorGraph, tables: np.ndarray, states: np.ndarray, trees: Sequence[Sequence[int]]
) -> list[int]:
    """Factors whose -inf entries tie variables of different trees.

    `tables` (1 or m, t): all log tables one after the other. `states` (m, d): states of the variables
    that are known, -1 of those that are not. `trees`: tree partition of the variables that are unknown
    in some row. Returns list of int: empty if, in every row, the possible configurations are all
    combinations of the possible configurations of the trees.
    """
    tree = np.full(graph.n_variables, -1)
    for number, variables in enumerate(trees):
        tree[list(variables)] = number
    pointers, shapes = factor_links(graph).table_ptr, graph.table_shapes
    found = []
    safe = _have_safe_states(graph, tables, pointers)
    for f, scope in enumerate(graph.scopes):
        if len(scope) == 1 or safe[list(scope)].all():
            continue
        possible = tables[:, pointers[f] : pointers[f + 1]] > -np.inf
        if possible.all():
            continue
        known = states[:, scope]
        possible = np.broadcast_to(possible, (len(known), possible.shape[1]))
        different = np.unique(np.hstack([known, possible]), axis=0)
        at, tables_at = different[:, : len(scope)], different[:, len(scope) :].astype(bool)
        for values, table in zip(at.tolist(), tables_at, strict=True):
            free = [v < 0 for v in values]
            if sum(free) < 2:
                continue
            cells = table.reshape(shapes[f])
            cells = cells[tuple(slice(None) if v < 0 else v for v in values)]
            if _ties(cells, tree[np.array(scope)[free]]):
                found.append(f)
                break
    return found


def _have_safe_states(graph: FactorGraph, tables: np.ndarray, pointers: np.ndarray) -> np.ndarray:
    """Which variables (d,) are binary and may always go to one of their states, whatever the others are.

    Evidence that excludes this state leaves a binary variable no other, and so nothing to move.
    """
    safe = np.ones((graph.n_variables, 2), dtype=bool)
    for f, (scope, shape) in enumerate(zip(graph.scopes, graph.table_shapes, strict=True)):
        possible = tables[:, pointers[f] : pointers[f + 1]] > -np.inf
        if possible.all():
            continue
        cells = possible.reshape(-1, *shape)
        for axis, (variable, size) in enumerate(zip(scope, shape, strict=True), start=1):
            for k in range(size if size == 2 else 0):
                safe[variable, k] &= bool((np.take(cells, [k], axis=axis) >= cells).all())
    return safe.any(axis=1) & (np.array(graph.cardinalities) == 2)


def _ties(possible: np.ndarray, tree: np.ndarray) -> bool:
    """Whether `possible` is no product of sets, one for the axes of each tree."""
    product = np.ones_like(possible)
    for number in np.unique(tree):
        product &= possible.any(axis=tuple(np.flatnonzero(tree != number).tolist()), keepdims=True)
    return not np.array_equal(product, possible)
