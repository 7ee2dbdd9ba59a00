"""Partitions of a graph into induced trees: Rivasseau (2005), sec. 4.3 and ch. 5.

Given the values of all other nodes, the nodes of an induced tree can be drawn at once. A *tree
partition* (definitions 4.3.1 and 4.3.2) cuts all nodes into such trees; the fewer, the larger the steps
of the sampler. Finding the fewest is hard, so that the trees are grown greedily, one after another, each
in what the earlier ones left. How one tree grows is in `pymc_mrf.graph.tree_growth`, what is particular
to factor graphs in `pymc_mrf.graph.factor_trees`.

The search leaves small trees behind, whose nodes have two or more neighbours in each of the larger ones.
`dissolve_small_trees` moves them, by local search, which is not part of Rivasseau (2005): a node fits
into a tree in which it has exactly one neighbour. Into one in which it has two it fits after one of
these, a leaf, has moved on to a third tree. A tree is dissolved if all its nodes find a place so, else
it is left as it was.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pymc_mrf.checks import check_option, flag, random_generator, sequence
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_trees import factor_trees
from pymc_mrf.graph.forest_arrays import blocks_of_nodes
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.graph.tree_growth import PocketGrowth, TreeGrowth

if TYPE_CHECKING:
    import networkx as nx

SMALL = 30
"""Trees with more nodes are not tried: they hardly ever dissolve."""

MAX_LEAVES = 8
"""Leaves that are tried to make room for one node: bounds the cost."""


def tree_partition(
    graph: "nx.Graph | PairwiseGraph | FactorGraph",
    *,
    rng: np.random.Generator | int | None = None,
    order: str = "priority",
    backtrack: bool = True,
    simplify: bool = True,
) -> list[list[Hashable]]:
    """Cut the nodes of `graph` into induced trees, as few as a greedy search finds.

    Parameters
    ----------
    graph : networkx.Graph, PairwiseGraph or FactorGraph
    rng : numpy.random.Generator or seed, optional
        Breaks ties. Each call with a generator gives another partition; equal seeds give equal ones.
    order : {"priority", "random"}
        Order in which the candidates for a tree are tried: few open neighbours first, or at random.
    backtrack : bool
        Refuse candidates that would cut groups of up to 100 nodes (20 in factor graphs) off from the rest of
        the graph.
    simplify : bool
        Before each tree, prune nodes with one neighbour and contract nodes with two neighbours that
        are not adjacent (sec. 5.2.3); they are attached to a tree at the end. Pairwise graphs
        only: factor graphs are not simplified.

    Returns
    -------
    list of lists of node labels
        Trees in the order in which they were found, nodes of a tree in the order of the graph. For
        a `FactorGraph` the variables 0..d-1. Every node is in one tree.

    Raises
    ------
    TypeError
        If `graph` is of another type.
    ValueError
        If an option is unknown or the graph is directed, a multigraph, empty or has self-loops.

    Notes
    -----
    The search differs from that of Rivasseau (2005) in the order of the queue and in `backtrack`, is the best
    of two (four without backtracking), and dissolves small trees at the end (pairwise graphs only). It finds
    about 30 trees on a 100 x 100 lattice, where the thesis reports 365.

    Growing a tree takes time proportional to the number of edges of its nodes and of their
    neighbours, so that a partition takes time linear in the size of a sparse graph. A random graph
    of 10,000 nodes and 500,000 edges takes a few seconds.

    Examples
    --------
    >>> tree_partition(nx.cycle_graph(4), rng=np.random.default_rng(1))
    [[0, 1, 2], [3]]
    """
    check_option(order, "order", ("priority", "random"))
    backtrack, simplify = flag(backtrack, "backtrack"), flag(simplify, "simplify")
    rng = random_generator(rng, "rng")
    if isinstance(graph, FactorGraph):
        trees = factor_trees(graph.n_variables, graph.scopes, rng, order=order, backtrack=backtrack)
        return [list(tree) for tree in trees]
    graph = as_graph(graph)

    def search(updated: bool) -> list[list[int]]:
        rank = rng.permutation(graph.n_nodes).tolist()
        near = neighbour_sets(graph)
        growth = PocketGrowth(near, rank, order=order, backtrack=backtrack, updated=updated)
        return pairwise_trees(growth, simplify=simplify)

    # which order of the queue is better depends on the graph; ties go to the first
    orders = [False] if order == "random" else [False, True]
    # without backtracking chance plays a larger part
    found = [search(updated) for updated in orders * (1 if backtrack else 2)]
    adjacency = neighbour_sets(graph)
    trees = min((dissolve_small_trees(adjacency, trees) for trees in found), key=len)
    return [[graph.nodes[v] for v in tree] for tree in trees]


def neighbour_sets(graph: PairwiseGraph) -> list[set[int]]:
    # several times faster on large graphs than adding one edge at a time
    ends, others = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    starts = np.cumsum(np.bincount(ends, minlength=graph.n_nodes))[:-1]
    parts = np.split(others[np.argsort(ends, kind="stable")], starts)
    return [set(part.tolist()) for part in parts]


def pairwise_trees(growth: TreeGrowth, *, simplify: bool) -> list[list[int]]:
    adjacency = growth.adjacency
    n = len(adjacency)
    tree_of = [-1] * n
    attached: list[tuple[int, int]] = []
    changed = set(range(n))
    n_trees = 0
    while True:
        if simplify:
            changed |= _simplify(growth, changed, attached)
        tree = growth.grow_from_lowest(changed)
        if not tree:
            break
        changed = set()
        for u in tree:
            tree_of[u] = n_trees
            changed |= adjacency[u]
            for v in adjacency[u]:
                adjacency[v].discard(u)
        growth.finish(set(tree))
        n_trees += 1
    # a node that was pruned later was next to the earlier ones in the simplified graph
    for u, v in reversed(attached):
        tree_of[u] = tree_of[v]
    trees: list[list[int]] = [[] for _ in range(n_trees)]
    for v, k in enumerate(tree_of):
        trees[k].append(v)
    return trees


def _simplify(growth: TreeGrowth, changed: set[int], attached: list[tuple[int, int]]) -> set[int]:
    """Prune nodes of degree 1 and 2 among `changed`: fig. 5.10. Return the nodes left with fewer edges.

    Appends each pruned node to `attached`, with the node whose tree it will join.
    """
    adjacency, left = growth.adjacency, growth.white
    touched = set()
    stack = [u for u in changed if u in left]
    while stack:
        u = stack.pop()
        if len(adjacency[u]) == 1 and u in left:
            (v,) = adjacency[u]
            adjacency[v].discard(u)
            left.discard(u)
            attached.append((u, v))
            touched.add(v)
            stack.append(v)
    for u in changed | touched:
        if len(adjacency[u]) == 2 and u in left:
            v, w = adjacency[u]
            if w not in adjacency[v]:
                for a, b in ((v, w), (w, v)):
                    adjacency[a].discard(u)
                    adjacency[a].add(b)
                left.discard(u)
                attached.append((u, v))
    for v in touched:
        growth.available[v] = len(adjacency[v])
    return touched


def check_tree_partition(
    graph: "nx.Graph | PairwiseGraph | FactorGraph",
    partition: Sequence[Sequence[Hashable]],
    *,
    forests: bool = False,
) -> None:
    """Raise unless `partition` is a tree partition of `graph`: definitions 4.3.1 and 4.3.2.

    Parameters
    ----------
    graph : networkx.Graph, PairwiseGraph or FactorGraph
    partition : sequence of sequences of node labels
        For a `FactorGraph` of variables 0..d-1: a factor belongs to the block that contains two or
        more of its variables, of which there may be one (rule 5).
    forests : bool
        Require only what drawing a block at once needs: that it has no cycle. Blocks may then
        fall apart into several trees, and several blocks may each contain two or more
        variables of a factor, which depends on the variables of one of them given the others.

    Raises
    ------
    TypeError
        If `graph` is of another type, or a block is no sequence.
    ValueError
        If a node is missing, unknown or in two blocks, a block is empty, contains a cycle or falls
        apart, or a factor joins variables in two blocks. The message names the offender.
    """
    forests = flag(forests, "forests")
    partition = sequence(partition, "partition", "sequences of nodes")
    if isinstance(graph, FactorGraph):
        labels: Sequence[Hashable] = range(graph.n_variables)
        scopes: Sequence[Sequence[int]] = graph.scopes
    else:
        graph = as_graph(graph)
        labels = graph.nodes
        scopes = graph.edges.tolist()
    block_of = blocks_of_nodes(labels, partition)
    links: list[list[tuple[Hashable, Hashable]]] = [[] for _ in partition]
    for f, scope in enumerate(scopes):
        within: dict[int, list[int]] = {}
        for v in scope:
            within.setdefault(block_of[v], []).append(v)
        joined = [k for k, variables in within.items() if len(variables) > 1]
        if len(joined) > 1 and not forests:
            a, b = joined[:2]
            raise ValueError(
                f"partition: factor {f} joins variables {within[a]} of block {a} and variables "
                f"{within[b]} of block {b}; at most one block may contain two or more of its variables "
                "(move all but one of the others to other blocks)"
            )
        for k in joined:
            if isinstance(graph, FactorGraph):
                links[k] += [(f"factor {f}", v) for v in within[k]]
            else:
                links[k].append((labels[scope[0]], labels[scope[1]]))
    for k, block in enumerate(partition):
        _check_tree(k, block, links[k], forests=forests)


def _check_tree(
    k: int,
    block: Sequence[Hashable],
    links: list[tuple[Hashable, Hashable]],
    *,
    forests: bool,
) -> None:
    """Raise if the graph of `links` on `block`, and on the factors in `links`, is not a tree."""
    import networkx as nx

    tree = nx.Graph()
    tree.add_nodes_from(block)
    tree.add_edges_from(links)
    n_nodes, n_components = tree.number_of_nodes(), nx.number_connected_components(tree)
    if tree.number_of_edges() > n_nodes - n_components:
        cycle = [u for u, _ in nx.find_cycle(tree)]
        shown = [*map(str, cycle[:12]), *(["..."] if len(cycle) > 12 else []), str(cycle[0])]
        raise ValueError(
            f"partition[{k}] is not a tree: it contains the cycle {' - '.join(shown)}; move one of these "
            "nodes to another block"
        )
    if n_components > 1 and not forests:
        a, b = (next(iter(part)) for part in list(nx.connected_components(tree))[:2])
        raise ValueError(
            f"partition[{k}] falls apart: nodes {a!r} and {b!r} are not connected within it; split it into "
            "its connected components, or allow forests"
        )


def dissolve_small_trees(
    adjacency: Sequence[set[int]], trees: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Partition with at most as many trees, nodes of a tree in ascending order.

    Takes time linear in the number of edges, each node looking at its neighbours and at those of at
    most `MAX_LEAVES` of them.

    `adjacency`: neighbours of each node. `trees`: a tree partition of the nodes.
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
