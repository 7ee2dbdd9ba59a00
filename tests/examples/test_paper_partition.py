"""The search for trees of Rivasseau (2005): its figures, and partitions against the definitions."""

import itertools

import networkx as nx
import pytest

from examples.rivasseau_2005.paper_partition import PaperGrowth, paper_factor_trees, paper_partition
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph
from tests.reference.tree_partition import (
    is_factor_tree_partition,
    is_tree_partition,
    neighbours,
    random_scopes,
)

OPTIONS = [
    dict(zip(("order", "backtrack"), values, strict=True))
    for values in itertools.product(["priority", "random"], [True, False])
]


def name(options):
    return "-".join(str(value) for value in options.values())


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_graphs(options, simplify, rng):
    graphs = [builders.random(n, p, rng=rng) for n in (1, 3, 12, 40) for p in (0.0, 0.05, 0.2, 0.7, 1.0)]
    for graph in (*graphs, builders.grid(7, 9), as_graph(nx.petersen_graph())):
        partition = paper_partition(graph, rng, simplify=simplify, **options)
        assert is_tree_partition(graph.to_networkx(), partition)


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_factor_graphs(options, rng):
    for d in (1, 2, 5, 12, 40):
        for n_factors in (0, 1, d // 2, d, 3 * d):
            for largest in (1, 2, min(d, 5)):
                scopes = random_scopes(rng, d, n_factors, min(d, largest))
                assert is_factor_tree_partition(d, scopes, paper_factor_trees(d, scopes, rng, **options))


def test_queue_of_fig_5_6():
    # the thesis numbers from 1
    edges = "12 15 23 24 36 37 45 48 56 58 69 79 89"
    graph = nx.Graph([(int(u) - 1, int(v) - 1) for u, v in edges.split()])
    for rank in itertools.islice(itertools.permutations(range(9)), 0, None, 5000):
        growth = PaperGrowth(neighbours(graph), rank, order="priority", backtrack=True)
        assert [v + 1 for v in growth.grow(0)] == [1, 2, 4, 8, 9, 7]


@pytest.mark.parametrize("figure", ["5.7", "5.8"])
def test_backtracking_keeps_the_way_to_trapped_vertices_open(figure):
    # vertices 1 to 6 of the figure surround 7, which leads out over 8 (in fig. 5.8 over 10, then 8), as
    # does 9; without what is beyond 8 (here a triangle), 8 would be trapped as well
    graph = nx.path_graph(6)
    way_out = [(6, 7)] if figure == "5.7" else [(6, 9), (9, 7)]
    graph.add_edges_from([(6, 2), (6, 3), (6, 4), *way_out, (7, 5), (8, 0), (8, 1), (8, 7)])
    graph.add_edges_from([(7, 10), (10, 11), (11, 12), (12, 10)])
    graph.add_node(9)
    for backtrack in (True, False):
        growth = PaperGrowth(neighbours(graph), range(13), order="random", backtrack=backtrack)
        tree = growth.grow(0)
        assert tree[:6] == [0, 1, 2, 3, 4, 5]
        assert (7 in tree) != backtrack
