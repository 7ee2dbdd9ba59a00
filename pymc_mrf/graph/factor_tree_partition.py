"""Partitions of a factor graph's variables into factor trees: Rivasseau (2005), definition 4.3.2.

A factor belongs to the tree that contains two or more of its variables, of which there may be one
(rule 5). Two searches:

- `paper`: sec. 5.3. Variables and factors are vertices of one graph in which trees grow as in
  pairwise graphs, rule 11 added. A tree takes all factors around its variables, also those
  through which it goes no further, and these are lost to later trees.
- `pockets`: trees of variables. A factor belongs to a tree from its second variable on.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from pymc_mrf.graph.tree_growth import BLACK, GRAY, RED, WHITE, PaperGrowth

POCKET_SIZE = 20
"""Groups of variables up to this size are not cut off from the rest. Larger ones gain little here."""


def factor_trees(
    n_variables: int,
    scopes: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    method: str,
    order: str,
    backtrack: bool,
) -> list[list[int]]:
    """Trees of sorted variables; arguments as in `pymc_mrf.graph.tree_partition.tree_partition`."""
    if method == "paper":
        rank = rng.permutation(n_variables + len(scopes)).tolist()
        trees = _paper_trees(n_variables, scopes, rank, order=order, backtrack=backtrack)
    else:
        rank = rng.permutation(n_variables).tolist()
        trees = _PocketSearch(n_variables, scopes, rank, order=order, backtrack=backtrack).trees()
    return [sorted(tree) for tree in trees]


class _FactorPaperGrowth(PaperGrowth):
    """Trees of variables 0..d-1 and factors d, d + 1, ...: rule 11.

    ``kept[v]`` are the factors of variable v that belong to an earlier tree: they let one of their
    variables into the present tree.
    """

    def __init__(
        self,
        adjacency: list[set[int]],
        rank: Sequence[int],
        n_variables: int,
        *,
        order: str,
        backtrack: bool,
    ) -> None:
        super().__init__(adjacency, rank, order=order, backtrack=backtrack)
        self.kept: list[set[int]] = [set() for _ in range(n_variables)]
        self.met: set[int] = set()

    def grow(self, start: int) -> list[int]:
        self.met = set()
        return super().grow(start)

    def _add(self, u: int) -> bool:
        if u >= len(self.kept):
            return super()._add(u)
        # a factor that is gray, black or kept and met has a variable in this tree already
        if any(self.color[p] in (GRAY, BLACK) for p in self.adjacency[u]):
            return False
        if not self.met.isdisjoint(self.kept[u]) or not super()._add(u):
            return False
        self.met |= self.kept[u]
        return True


def _paper_trees(
    d: int, scopes: Sequence[Sequence[int]], rank: Sequence[int], *, order: str, backtrack: bool
) -> list[list[int]]:
    adjacency: list[set[int]] = [set() for _ in range(d + len(scopes))]
    for p, scope in enumerate(scopes, d):
        if len(scope) > 1:  # a factor of one variable joins nothing
            adjacency[p].update(scope)
            for v in scope:
                adjacency[v].add(p)
    growth = _FactorPaperGrowth(adjacency, rank, d, order=order, backtrack=backtrack)
    changed = set(range(d))
    trees: list[list[int]] = []
    while removed := set(growth.grow_from_lowest(changed)):
        variables = [v for v in removed if v < d]
        trees.append(variables)
        factors = set()
        for v in variables:
            factors |= adjacency[v]
            for p in adjacency[v]:
                adjacency[p].discard(v)
        factors |= {p for p in removed if p >= d}
        changed = set()
        for p in factors:
            if p in removed or len(adjacency[p]) < 2:
                for v in adjacency[p]:
                    adjacency[v].discard(p)
                    if len(adjacency[p]) > 1:
                        growth.kept[v].add(p)
                changed |= adjacency[p]
                adjacency[p] = set()
                removed.add(p)
        growth.seen |= changed | factors
        growth.finish(removed)
    return trees


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
