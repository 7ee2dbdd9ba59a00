"""Definitions 4.3.1 and 4.3.2 of Rivasseau (2005), one condition after the other, in networkx."""

import itertools

import networkx as nx


def is_tree_partition(graph: nx.Graph, partition) -> bool:
    """Eq. 4.7 to 4.10: blocks cover the vertices, are disjoint, and each induces a tree."""
    if set().union(*partition) != set(graph):
        return False
    if any(set(a) & set(b) for a, b in itertools.combinations(partition, 2)):
        return False
    if any(len(set(block)) != len(block) for block in partition):
        return False
    return all(nx.is_tree(graph.subgraph(block)) for block in partition)


def is_factor_tree_partition(n_variables: int, scopes, partition) -> bool:
    """Eq. 4.7 to 4.10 and 4.12, with every factor placed in the first tree in which it fits.

    The blocks list variables only. A factor may be placed where the condition of eq. 4.12 (at most
    one variable in each other tree) lets it; one that fits nowhere shows that there is no such
    partition. Of several places all are as good: it is a leaf there, or alone.
    """
    if sorted(v for block in partition for v in block) != list(range(n_variables)):
        return False
    graphs = [nx.empty_graph(block) for block in partition]
    for f, scope in enumerate(scopes):
        counts = [len(set(scope) & set(block)) for block in partition]
        places = [
            k
            for k in range(len(partition))
            if counts[k] > 0 and all(c <= 1 for m, c in enumerate(counts) if m != k)
        ]
        if not places:
            return False
        graph = graphs[places[0]]
        graph.add_edges_from((("factor", f), v) for v in scope if v in graph)
    return all(nx.is_tree(graph) for graph in graphs)


def neighbours(graph):
    """Neighbours of each node of a networkx graph, in the order of the nodes."""
    return [set(graph[v]) for v in sorted(graph)]


def random_scopes(rng, d, n_factors, largest):
    """Variables, out of d, of so many factors of at most `largest` variables."""
    return [
        tuple(rng.choice(d, rng.integers(1, largest + 1), replace=False).tolist())
        for _ in range(n_factors)
    ]


def scopes_of_many_sizes(rng):
    """Yield numbers of variables, each with the scopes of a random factor graph of them."""
    for d in (1, 2, 5, 12, 40):
        for n_factors in (0, 1, d // 2, d, 3 * d):
            for largest in (1, 2, min(d, 5)):
                yield d, random_scopes(rng, d, n_factors, min(d, largest))


def assert_way_out_stays_open(growth, figure):
    """Grow a tree in "5.7" or "5.8" of the thesis by a class of `TreeGrowth`, with and without backtracking.

    Vertices 1 to 6 of the figure surround 7, which leads out over 8 (in fig. 5.8 over 10, then 8), as does 9;
    without what is beyond 8 (here a triangle), 8 would be trapped as well.
    """
    graph = nx.path_graph(6)
    way_out = [(6, 7)] if figure == "5.7" else [(6, 9), (9, 7)]
    graph.add_edges_from([(6, 2), (6, 3), (6, 4), *way_out, (7, 5), (8, 0), (8, 1), (8, 7)])
    graph.add_edges_from([(7, 10), (10, 11), (11, 12), (12, 10)])
    graph.add_node(9)
    for backtrack in (True, False):
        tree = growth(neighbours(graph), range(13), order="random", backtrack=backtrack).grow(0)
        assert tree[:6] == [0, 1, 2, 3, 4, 5]
        assert (7 in tree) != backtrack
