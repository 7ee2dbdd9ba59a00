"""Partitions into trees as in Rivasseau (2005, ch. 5), for comparison with `tree_partition`.

Trees of pairwise graphs grow by rules 6 to 10 (sec. 5.2). In factor graphs (sec. 5.3) variables and factors
are vertices of one graph in which trees grow as in pairwise graphs, rule 11 added. A tree takes all factors
around its variables, also those through which it goes no further, and these are lost to later trees.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_growth import BLACK, GRAY, RED, WHITE, TreeGrowth
from pymc_mrf.graph.tree_partition import neighbour_sets, pairwise_trees


def paper_partition(
    graph: PairwiseGraph,
    rng: np.random.Generator,
    *,
    order: str = "priority",
    backtrack: bool = True,
    simplify: bool = True,
) -> list[list[Hashable]]:
    """Cut a graph into trees of node labels; options as in `tree_partition`."""
    rank = rng.permutation(graph.n_nodes).tolist()
    growth = PaperGrowth(neighbour_sets(graph), rank, order=order, backtrack=backtrack)
    return [[graph.nodes[v] for v in tree] for tree in pairwise_trees(growth, simplify=simplify)]


def paper_factor_trees(
    n_variables: int,
    scopes: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    order: str = "priority",
    backtrack: bool = True,
) -> list[list[int]]:
    """Cut the variables of factors with these `scopes` into sorted trees."""
    rank = rng.permutation(n_variables + len(scopes)).tolist()
    trees = _paper_trees(n_variables, scopes, rank, order=order, backtrack=backtrack)
    return [sorted(tree) for tree in trees]


class PaperGrowth(TreeGrowth):
    """Queue of fig. 5.5 and one-step backtracking with propagation, rule 10.

    ``available[v]`` counts the neighbours of v through which a later tree could still reach it. When
    one is left to a black vertex, it is trapped: ``escape[v]`` is that neighbour, which in turn does
    not count v and must stay out of this tree. A vertex is refused if it is the last way out of
    a gray or black one. White vertices may lose all ways out: this tree itself will reach them.
    """

    def __init__(
        self, adjacency: list[set[int]], rank: Sequence[int], *, order: str, backtrack: bool
    ) -> None:
        super().__init__(adjacency, rank, order=order, backtrack=backtrack)
        self.escape = [-1] * len(adjacency)
        self.n_trapped = [0] * len(adjacency)

    def _key(self, v: int, step: int) -> tuple:
        near = self.adjacency[v]
        return len(near & self.white), len(near), -step

    def _add(self, u: int) -> bool:
        if not self.backtrack:
            self._color(u, [])
            return True
        if self.n_trapped[u]:
            return False
        undo: list[tuple[list[int], int, int]] = []
        self._color(u, undo)
        color, available = self.color, self.available
        for v in self.adjacency[u]:
            if color[v] == RED:
                continue
            undo.append((available, v, available[v]))
            available[v] -= 1
            if available[v] == 0 and v not in self.white:
                for values, i, old in reversed(undo):
                    values[i] = old
                return False
            if color[v] == BLACK:
                self._propagate(v, undo)
        return True

    def _color(self, u: int, undo: list[tuple[list[int], int, int]]) -> None:
        color = self.color
        undo.append((color, u, color[u]))
        color[u] = RED
        for v in self.adjacency[u]:
            if color[v] in (WHITE, GRAY):
                undo.append((color, v, color[v]))
                color[v] = GRAY if color[v] == WHITE else BLACK

    def _propagate(self, v: int, undo: list[tuple[list[int], int, int]]) -> None:
        """Follow the last ways out from the black vertex `v`, over vertices of any colour."""
        color, available, escape = self.color, self.available, self.escape
        while available[v] == 1 and escape[v] < 0:
            ways = (w for w in self.adjacency[v] if color[w] != RED and escape[w] != v)
            w = next(ways, -1)
            if w < 0:  # what still counts is the vertex that is just being added
                return
            undo += [
                (escape, v, -1),
                (self.n_trapped, w, self.n_trapped[w]),
                (available, w, available[w]),
            ]
            escape[v] = w
            self.n_trapped[w] += 1
            available[w] -= 1
            self.seen.add(w)
            v = w

    def _refuse(self, u: int) -> None:
        super()._refuse(u)
        if self.backtrack:
            self._propagate(u, [])

    def _reset(self, v: int) -> None:
        super()._reset(v)
        self.escape[v] = -1
        self.n_trapped[v] = 0


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
