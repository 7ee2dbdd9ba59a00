"""Fewer trees by moving the nodes of small ones into others: local search on a tree partition.

A greedy search leaves small trees behind, whose nodes have two or more neighbours in each of the
larger ones. This is not part of Rivasseau (2005). A node fits into a tree in which it has exactly one
neighbour. Into one in which it has two it fits after one of these, a leaf, has moved on to a third
tree. A tree is dissolved if all its nodes find a place so, else it is left as it was.
"""

from collections.abc import Sequence

SMALL = 30
"""Trees with more nodes are not tried: they hardly ever dissolve."""

MAX_LEAVES = 8
"""Leaves that are tried to make room for one node: bounds the cost."""


def dissolve_small_trees(
    adjacency: Sequence[set[int]], trees: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Partition with at most as many trees, nodes of a tree in ascending order.

    Takes time linear in the number of edges, each node looking at its neighbours and at those of at
    most `MAX_LEAVES` of them.

    Parameters
    ----------
    adjacency : sequence of sets of int
        Neighbours of each node.
    trees : sequence of sequences of int
        A tree partition of the nodes.
    """
    search = _Dissolution(adjacency, trees)
    for k in sorted(range(len(trees)), key=lambda k: len(trees[k])):
        if len(search.members[k]) <= SMALL:
            search.dissolve(k)
    return [sorted(nodes) for nodes in search.members if nodes]


class _Dissolution:
    def __init__(self, adjacency: Sequence[set[int]], trees: Sequence[Sequence[int]]) -> None:
        self.adjacency = adjacency
        self.members = [set(tree) for tree in trees]
        self.tree_of = {v: k for k, tree in enumerate(trees) for v in tree}
        self.moves: list[tuple[int, int]] = []

    def dissolve(self, k: int) -> None:
        """Empty tree k, or change nothing."""
        self.moves = []
        # one that finds no place may find one after others have moved
        waiting = sorted(self.members[k])
        n_waiting = len(waiting) + 1
        while 0 < len(waiting) < n_waiting:
            n_waiting = len(waiting)
            waiting = [v for v in waiting if not self._place(v)]
        if waiting:
            for v, tree in reversed(self.moves):
                self._move(v, tree)

    def _place(self, v: int) -> bool:
        """Move `v` to another tree, perhaps after a leaf of that tree, if there is room."""
        own = self.tree_of[v]
        near = self._neighbors_by_tree(v)
        near.pop(own, None)
        fitting = [t for t, nodes in near.items() if len(nodes) == 1]
        if fitting:
            self._move(v, max(fitting, key=lambda t: len(self.members[t])))
            return True
        n_leaves = 0
        for t, nodes in near.items():
            if len(nodes) != 2:
                continue
            for leaf in nodes:
                around = self._neighbors_by_tree(leaf)
                if len(around.get(t, ())) != 1:
                    continue
                n_leaves += 1
                homes = [h for h, n in around.items() if len(n) == 1 and h not in (own, t)]
                if homes:
                    self._move(leaf, max(homes, key=lambda h: len(self.members[h])))
                    self._move(v, t)
                    return True
                if n_leaves == MAX_LEAVES:
                    return False
        return False

    def _neighbors_by_tree(self, v: int) -> dict[int, list[int]]:
        near: dict[int, list[int]] = {}
        for u in self.adjacency[v]:
            near.setdefault(self.tree_of[u], []).append(u)
        return near

    def _move(self, v: int, tree: int) -> None:
        self.moves.append((v, self.tree_of[v]))
        self.members[self.tree_of[v]].discard(v)
        self.members[tree].add(v)
        self.tree_of[v] = tree
